package dag

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/psis"
)

// Certificate says how far the posterior over graphs can be believed, given how well the scores of its families are known.
type Certificate struct {
	Verdict string `json:"verdict"` // trusted, doubtful or failed
	// KHat is the Pareto shape that the worst family of a graph does not exceed, but for graphs that together hold a tenth of the probability.
	KHat Number `json:"khat"`
	// WorstSE is the largest standard error of an edge probability.
	WorstSE Number `json:"worst_se"`
	// Families is the number of families whose evidence was estimated: all that the constraints leave. Draws counts the draws behind them.
	Families  int      `json:"families"`
	Draws     int      `json:"draws"`
	NonFinite int      `json:"non_finite,omitempty"`
	Reasons   []string `json:"reasons,omitempty"`
}

// Limits of the verdict, those of vti.Certificate.
const (
	hopelessKHat   = 1.0
	badGraphMass   = 0.1
	wantedEdgeSE   = 0.02
	hopelessEdgeSE = 0.1
	nonFiniteShare = 0.01
)

// certify judges a posterior by its draws and the standard errors of its edges.
func (p *Posterior) certify(draws []Draw, edgeErrors [][]float64, count, nonFinite int) *Certificate {
	c := &Certificate{Families: len(p.Scores.Families), Draws: count, NonFinite: nonFinite, KHat: Number(p.typicalKHat(draws))}
	for _, row := range edgeErrors {
		for _, se := range row {
			c.WorstSE = max(c.WorstSE, Number(se))
		}
	}
	verdict := vti.Trusted
	lower := func(to vti.Verdict, format string, args ...any) {
		verdict = min(verdict, to)
		c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
	}
	switch {
	case !(c.KHat <= hopelessKHat):
		lower(vti.Failed, "Pareto k̂ is %.2f, above %.1f: the means of the weights may not exist", float64(c.KHat), hopelessKHat)
	case c.KHat > psis.Reliable:
		lower(vti.Doubtful, "Pareto k̂ is %.2f, above %.1f", float64(c.KHat), psis.Reliable)
	}
	switch {
	case !(c.WorstSE <= hopelessEdgeSE):
		lower(vti.Failed, "the standard error of an edge probability is %.2g", float64(c.WorstSE))
	case c.WorstSE > wantedEdgeSE:
		lower(vti.Doubtful, "the standard error of an edge probability is %.2g", float64(c.WorstSE))
	}
	if share := float64(nonFinite) / float64(max(count, 1)); share > nonFiniteShare {
		lower(vti.Failed, "%.1f%% of the draws have a log density that is not finite", 100*share)
	}
	c.Verdict = verdict.String()
	return c
}

// typicalKHat is the k̂ of the worst family of a graph, exceeded by a tenth of the graphs at most.
func (p *Posterior) typicalKHat(draws []Draw) float64 {
	type graphKHat struct {
		worst float64
		count int
	}
	var list []graphKHat
	total := 0
	for _, d := range draws {
		worst := math.Inf(-1)
		for _, f := range d.Families {
			worst = max(worst, p.Scores.KHat[f])
		}
		list = append(list, graphKHat{worst, d.Count})
		total += d.Count
	}
	slices.SortFunc(list, func(a, b graphKHat) int { return cmp.Compare(b.worst, a.worst) })
	exceeding := 0
	for _, entry := range list {
		if exceeding += entry.count; float64(exceeding) > badGraphMass*float64(total) {
			return entry.worst
		}
	}
	return math.Inf(1)
}
