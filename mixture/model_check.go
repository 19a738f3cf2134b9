package mixture

import (
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modelcheck"
)

// checkModel compares the values of each column with the mixture of each draw, by the largest
// difference of distribution functions. The reference distribution is the largest difference for
// values simulated from the draw.
func (s *Sample) checkModel(seed uint64) *modelcheck.Report {
	p, random := s.problem, stream.Rand(seed, "model check")
	report := &modelcheck.Report{Findings: []modelcheck.Finding{}}
	draws := thinned(s.draws, modelcheck.MinDraws)
	atLeast, mean := make([]int, len(p.columns)), make([]float64, len(p.columns))
	replicate := make([][]float64, len(p.columns))
	sorted := make([][]float64, len(p.columns))
	for c, column := range p.columns {
		sorted[c], replicate[c] = slices.Sorted(slices.Values(column.y)), make([]float64, p.Rows())
	}
	row := make([]float64, len(p.columns))
	for _, d := range draws {
		for i := range p.Rows() {
			from := pick.Func(d.state.size(), random.Float64(), func(j int) float64 { return d.state.components[j].weight })
			p.family.simulate(d.state.components[from], row, random)
			for c := range row {
				replicate[c][i] = row[c]
			}
		}
		for c := range row {
			slices.Sort(replicate[c])
			observed := p.distance(c, sorted[c], &d.state)
			mean[c] += observed / float64(len(draws))
			if p.distance(c, replicate[c], &d.state) >= observed {
				atLeast[c]++
			}
		}
	}
	for c, column := range p.columns {
		share := float64(atLeast[c]+1) / float64(len(draws)+1)
		if share*float64(len(p.columns)) > modelcheck.Level { // Bonferroni
			continue
		}
		report.Verdict = modelcheck.Questionable
		report.Findings = append(report.Findings, modelcheck.Finding{
			What:  fmt.Sprintf("distribution: the distribution function of the values is %.2f from that of the mixture", mean[c]),
			Where: "column " + column.name, Statistic: Number(mean[c]), P: Number(share),
			Advice: "more components (--max-components), another --family, or values on another scale, such as logarithms", Verdict: modelcheck.Questionable,
		})
	}
	return report
}

// distance returns the Kolmogorov–Smirnov distance between the mixture and the sorted values of a
// column. Equal values, as in counts, are compared once.
func (p *Problem) distance(column int, sorted []float64, s *state) float64 {
	largest, n, below := 0.0, float64(len(sorted)), 0.0
	for i, y := range sorted {
		if i+1 < len(sorted) && sorted[i+1] == y {
			continue
		}
		_, cumulated := p.mixed(column, y, s)
		upTo := float64(i+1) / n
		largest = math.Max(largest, math.Abs(cumulated-upTo))
		if p.Options.Family != Poisson {
			largest = math.Max(largest, math.Abs(cumulated-below))
		}
		below = upTo
	}
	return largest
}
