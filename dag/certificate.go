package dag

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/rjmcmc"
)

// Certificate says how far the posterior over graphs can be believed, given how well the scores of
// its families are known.
type Certificate struct {
	Verdict string `json:"verdict"` // trusted, doubtful or failed
	// KHat is the Pareto shape that the worst family of a graph does not exceed, but for graphs
	// that together hold a tenth of the probability. Null where nothing was weighed: for evidences
	// by particles, and for chains.
	KHat Number `json:"khat"`
	// WorstSE is the largest standard error of an edge probability.
	WorstSE Number `json:"worst_se"`
	// Families is the number of families whose evidence was estimated: all that the constraints
	// leave. Draws counts the draws behind them. Of an undivided flow and of chains there are none.
	Families  int `json:"families,omitempty"`
	Draws     int `json:"draws"`
	NonFinite int `json:"non_finite,omitempty"`
	// Of evidences by particles: the fine islands, the share of graphs with a family that has none,
	// and by how much log evidences rise on average when particles move twice as long.
	Islands  int    `json:"islands,omitempty"`
	Rough    Number `json:"rough_share,omitzero"`
	Settling Number `json:"settling,omitzero"`

	// Of chains: how many they are, and of all edges and the log density the worst R-hat and the
	// least effective number of draws. An undivided flow has an R-hat where its weights did not do
	// and tempered chains judged it.
	Chains int    `json:"chains,omitempty"`
	RHat   Number `json:"rhat,omitzero"`
	ESS    Number `json:"ess,omitzero"`

	Reasons []string `json:"reasons,omitempty"`
}

// Limits of the verdict, those of vti.Certificate.
const (
	hopelessKHat   = 1.0
	badGraphMass   = 0.1
	wantedEdgeSE   = 0.02
	hopelessEdgeSE = 0.1
	nonFiniteShare = 0.01
	// Of chains (Vehtari et al. 2021).
	trustedRHat = 1.01
	failedRHat  = 1.1
	trustedESS  = 400
)

// trusted tells whether nothing speaks against the answer.
func (c *Certificate) trusted() bool { return c.Verdict == vti.Trusted.String() }

// certify judges a posterior by its draws and the standard errors of its edges.
func (p *Posterior) certify(draws []Draw, edgeErrors [][]float64, count, nonFinite int) *Certificate {
	c := &Certificate{
		Families: len(p.Scores.Families), Draws: count, NonFinite: nonFinite, KHat: Number(p.typicalKHat(draws)), WorstSE: worstError(edgeErrors),
	}
	v := newVerdict(c)
	if float64(c.KHat) > hopelessKHat || math.IsNaN(float64(c.KHat)) {
		v.lower(vti.Failed, "Pareto k̂ is %.2f, above %.1f: the means of the weights may not exist", float64(c.KHat), hopelessKHat)
	} else if float64(c.KHat) > psis.Reliable {
		v.lower(vti.Doubtful, "Pareto k̂ is %.2f, above %.1f", float64(c.KHat), psis.Reliable)
	}
	v.limit(float64(c.WorstSE), wantedEdgeSE, hopelessEdgeSE, worstErrorReason)
	if share := float64(nonFinite) / float64(max(count, 1)); share > nonFiniteShare {
		v.lower(vti.Failed, "%.1f%% of the draws have a log density that is not finite", 100*share)
	}
	return c
}

// certifyChains judges chains with so many draws each by the worst of what they were asked for.
func certifyChains(chains, draws int, worst rjmcmc.Summary) *Certificate {
	c := &Certificate{
		KHat: Number(math.NaN()), WorstSE: Number(worst.MCSE), Draws: chains * draws,
		Chains: chains, RHat: Number(worst.RHat), ESS: Number(worst.ESS),
	}
	v := newVerdict(c)
	v.limit(worst.RHat, trustedRHat, failedRHat, "the chains do not agree: R-hat is %.3f")
	if !(worst.ESS >= trustedESS) {
		v.lower(vti.Doubtful, "the effective number of draws is %.0f, less than %d", worst.ESS, trustedESS)
	}
	v.limit(worst.MCSE, wantedEdgeSE, hopelessEdgeSE, worstErrorReason)
	return c
}

// worstErrorReason is why the largest standard error of an edge speaks against an answer.
const worstErrorReason = "the standard error of an edge probability is %.2g"

// worstError is the largest of all edges.
func worstError(edgeErrors [][]float64) (worst Number) {
	for _, row := range edgeErrors {
		for _, se := range row {
			worst = max(worst, Number(se))
		}
	}
	return worst
}

// verdict lowers the verdict of a certificate for every reason against it.
type verdict struct {
	certificate *Certificate
	level       vti.Verdict
}

func newVerdict(c *Certificate) *verdict {
	c.Verdict = vti.Trusted.String()
	return &verdict{c, vti.Trusted}
}

func (v *verdict) lower(to vti.Verdict, format string, args ...any) {
	v.level = min(v.level, to)
	v.certificate.Verdict = v.level.String()
	v.certificate.Reasons = append(v.certificate.Reasons, fmt.Sprintf(format, args...))
}

// limit makes the verdict doubtful when a value is above one bound, and failed when it is above
// another or no number.
func (v *verdict) limit(value, doubtful, failed float64, format string) {
	switch {
	case !(value <= failed):
		v.lower(vti.Failed, format, value)
	case value > doubtful:
		v.lower(vti.Doubtful, format, value)
	}
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
