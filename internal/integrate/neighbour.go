package integrate

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// refinements is the number of rounds of draws and fits that adapt a proposal to a similar density.
// It is a third of the rounds of Adapt.
const refinements = 2

// Of returns the marginal proposal of some coordinates. It suits a density of these coordinates
// that is similar to their marginal density under p.
func (p *Proposal) Of(places []int, logDensity func(x []float64) float64) *Proposal {
	moved := &Proposal{problem: Problem{LogDensity: logDensity, Noise: p.problem.Noise}}
	for _, i := range places {
		moved.problem.Centre, moved.problem.Width = append(moved.problem.Centre, p.problem.Centre[i]), append(moved.problem.Width, p.problem.Width[i])
	}
	for _, c := range p.mixture {
		moved.mixture = append(moved.mixture, c.project(places))
	}
	return moved
}

// project returns the marginal distribution of some coordinates, which is a t distribution again.
func (c *component) project(places []int) *component {
	location, scale := make([]float64, len(places)), mat.NewSymDense(len(places), nil)
	for a, i := range places {
		location[a] = c.location[i]
		for b, j := range places[:a+1] {
			sum := 0.0
			for k := range min(i, j) + 1 {
				sum += c.factor.At(i, k) * c.factor.At(j, k)
			}
			scale.SetSym(a, b, sum)
		}
	}
	marginal, ok := newComponent(c.share, c.degrees, location, scale)
	if !ok {
		panic("integrate: a scale matrix has a part that is not positive definite")
	}
	return marginal
}

// Refined returns a proposal for the density of p that adapts as [Adapt] does but without a search
// for modes. It starts from s, a sample whose draws are all from p. It returns nil if no draw has
// positive weight.
func (p *Proposal) Refined(ctx context.Context, s *Sample, random *rand.Rand) (*Proposal, error) {
	n := len(s.Points)
	all := &Sample{s.Points[:n:n], s.LogDensity[:n:n], s.LogProposal[:n:n]}
	weights := p.balanced(all, []mixture{p.mixture}, n, false)
	if weights == nil {
		return nil, nil
	}
	var parts mixture
	for _, c := range p.mixture[1:] {
		if c.degrees == narrowDegrees {
			parts = append(parts, c)
		}
	}
	parts, defence := parts.fitted(all.Points, weights, p.mixture[0])
	refined := *p
	if err := refined.adapt(ctx, all, parts, defence, refinements, n, random); err != nil {
		return nil, err
	}
	return &refined, nil
}
