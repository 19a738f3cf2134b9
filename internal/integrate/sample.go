package integrate

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
)

// Sample holds draws from a proposal, with the log density of each under the problem and under the
// proposal. The difference of these two is the log importance weight. The mean of the weights
// estimates the integral.
type Sample struct {
	Points                  [][]float64
	LogDensity, LogProposal []float64
}

// Draw adds n independent draws to a sample. If ctx is cancelled, it stops within a few evaluations
// of the density, with an error that wraps ctx.Err().
func (p *Proposal) Draw(ctx context.Context, s *Sample, n int, random *rand.Rand) error {
	return p.Estimate(ctx, s, n, random, func(_ int, x []float64) float64 { return p.problem.LogDensity(x) })
}

// Estimate is Draw for a density that can only be estimated. The argument logEstimate returns the
// log of the estimate at the i-th point of a sample. If the estimates are independent and their
// means are the density, the mean weight is an unbiased estimate of the integral, and weighted
// draws follow the density (Andrieu and Roberts 2009). logEstimate is called from several
// goroutines at once. The points depend on the argument random only.
func (p *Proposal) Estimate(ctx context.Context, s *Sample, n int, random *rand.Rand, logEstimate func(i int, x []float64) float64) error {
	dim := len(p.problem.Centre)
	work, terms := make([]float64, dim), make([]float64, len(p.mixture))
	for range n {
		x := p.mixture.draw(random)
		s.Points = append(s.Points, x)
		s.LogProposal = append(s.LogProposal, p.mixture.logDensity(x, work, terms))
	}
	return s.Evaluate(ctx, logEstimate)
}

// Evaluate computes the log densities of the points of a sample that have none yet, on all
// processors. If ctx is cancelled, it stops within a few evaluations, with an error that wraps
// ctx.Err().
func (s *Sample) Evaluate(ctx context.Context, logDensity func(i int, x []float64) float64) error {
	first, n := len(s.LogDensity), len(s.Points)
	s.LogDensity = append(s.LogDensity, make([]float64, n-first)...)
	err := parallel.For(ctx, n-first, func(k int) error {
		s.LogDensity[first+k] = logDensity(first+k, s.Points[first+k])
		return nil
	})
	if err != nil {
		return fmt.Errorf("integration %w", err)
	}
	return nil
}

// LogWeights returns the log importance weights.
func (s *Sample) LogWeights() []float64 {
	return apply.UpTo(len(s.Points), func(i int) float64 { return s.LogDensity[i] - s.LogProposal[i] })
}
