package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modelcheck"
)

// checkModel compares the distribution of the values with that of each draw, beside values
// simulated from the draw, by the largest difference of distribution functions. Repeated values
// are a second finding: a density has none.
func (s *Sample) checkModel(seed uint64) *modelcheck.Report {
	p, random := s.problem, stream.Rand(seed, "model check")
	report := &modelcheck.Report{Findings: []modelcheck.Finding{}}
	sorted := slices.Sorted(slices.Values(p.y))
	draws := thinned(s.draws, modelcheck.MinDraws)
	atLeast, mean := 0, 0.0
	replicate := make([]float64, len(sorted))
	for _, d := range draws {
		for i := range replicate {
			replicate[i] = d.state.draw(random)
		}
		slices.Sort(replicate)
		observed := d.state.distance(sorted)
		mean += observed / float64(len(draws))
		if d.state.distance(replicate) >= observed {
			atLeast++
		}
	}
	if share := float64(atLeast+1) / float64(len(draws)+1); share <= modelcheck.Level {
		report.Verdict = modelcheck.Questionable
		report.Findings = append(report.Findings, modelcheck.Finding{
			What:  fmt.Sprintf("distribution: the distribution function of the values is %.2f from that of the mixture", mean),
			Where: "column " + p.Options.Column, Statistic: mean, P: share,
			Advice: "more components (--max-components), or values on another scale, such as logarithms", Verdict: modelcheck.Questionable,
		})
	}
	return report
}

// draw draws a value.
func (s *state) draw(random *rand.Rand) float64 {
	u, j := random.Float64(), 0
	for u -= s.weight[0]; u > 0 && j+1 < len(s.weight); u -= s.weight[j] {
		j++
	}
	return s.mean[j] + math.Sqrt(s.variance[j])*random.NormFloat64()
}

// distance is the Kolmogorov–Smirnov distance of sorted values to the mixture.
func (s *state) distance(sorted []float64) float64 {
	largest, n := 0.0, float64(len(sorted))
	for i, y := range sorted {
		cumulated := 0.0
		for j := range s.weight {
			cumulated += s.weight[j] * 0.5 * math.Erfc((s.mean[j]-y)/math.Sqrt(2*s.variance[j]))
		}
		largest = math.Max(largest, math.Max(math.Abs(cumulated-float64(i)/n), math.Abs(cumulated-float64(i+1)/n)))
	}
	return largest
}
