package dag

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/networks"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
)

// Certificate is the verdict on a posterior over graphs, with the measurements that led to it.
type Certificate struct {
	// Verdict says how far the answer can be trusted. Reasons, the last field, holds all
	// objections.
	Verdict vti.Verdict `json:"verdict"`
	// Exact reports that the posterior is a sum over all graphs of evidences in closed form: the
	// edge probabilities then have only rounding errors.
	Exact bool `json:"exact,omitempty"`
	// KHat is the Pareto shape k̂ of the importance weights behind the evidences of families (nodes
	// with sets of parents). At least nine tenths of the drawn graphs have no family with a larger
	// k̂. It is null for particles and chains, which have no importance weights.
	KHat Number `json:"khat"`
	// WorstSE is the largest standard error of an edge probability.
	WorstSE Number `json:"worst_se"`
	// Families is the number of families (nodes with sets of parents) whose evidence was estimated.
	// It is 0 for chains. Draws is the number of draws behind the estimates.
	Families int `json:"families,omitempty"`
	Draws    int `json:"draws"`
	// NonFinite is the number of draws whose density was not finite.
	NonFinite int `json:"non_finite,omitempty"`
	// The next three fields are for evidences by particles. Every family (a node with a set of
	// parents) has a rough estimate; families that matter have an estimate from islands,
	// independent groups of particles. Islands is the number of all islands. Rough is the share of
	// graphs with a family that has only a rough estimate. Settling is the mean rise of log
	// evidences, in nats, when particles move twice as long; it is near zero if particles move long
	// enough.
	Islands  int    `json:"islands,omitempty"`
	Rough    Number `json:"rough_share,omitzero"`
	Settling Number `json:"settling,omitzero"`

	// Chains is the number of chains. RHat and ESS are the worst R-hat and the smallest number of
	// effective draws among the edges and the log density.
	Chains int    `json:"chains,omitempty"`
	RHat   Number `json:"rhat,omitzero"`
	ESS    Number `json:"ess,omitzero"`
	// Unsettled is the number of edges about which the chains disagree, if these are few: at most a
	// twentieth of the expected number of edges. RHat, ESS and WorstSE are about these edges then,
	// and the verdict is at best doubtful.
	Unsettled int `json:"unsettled_edges,omitempty"`
	// SearchedParents is the size up to which all sets of parents were evaluated before Markov
	// chains began, to find parents that matter only together. It is 0 if the constraints allow no
	// larger sets.
	SearchedParents int `json:"searched_parents,omitempty"`

	// Unclear names the columns that hold few different whole numbers and were taken as continuous,
	// although they may be categories.
	Unclear []string `json:"unclear_columns,omitempty"`

	Reasons []string `json:"reasons,omitempty"`
}

// judgeColumns lowers the verdict if it is unclear whether a column holds numbers or categories.
func judgeColumns(p *score.Problem, c *Certificate) {
	if len(p.Data.Unclear) == 0 {
		return
	}
	verdict.Lower(&c.Verdict, &c.Reasons, verdict.Doubtful, "%s: whole numbers with at most %d values, taken as continuous. Say what they are: --discrete takes columns as categories, --continuous as numbers",
		strings.Join(apply.To(p.Data.Unclear, strconv.Quote), ", "), tables.MostCodes)
	c.Unclear = p.Data.Unclear
}

func (c *Certificate) judged(v *verdict.Judgement) { c.Verdict, c.Reasons = v.Verdict, v.Reasons }

// certifyScores judges a sum over all graphs of evidences in closed form. Some evidences may come
// from importance weights.
func certifyScores(p *score.Posterior, graphs []score.Draw, edgeErrors [][]float64) *Certificate {
	c := &Certificate{Verdict: vti.Trusted, Families: len(p.Scores.Families), WorstSE: worstError(edgeErrors)}
	if p.Scores.KHat == nil {
		c.Exact, c.KHat = true, Number(math.NaN())
		return c
	}
	v := verdict.Judge(verdict.Measured{Event: "an edge", EventSE: float64(c.WorstSE), EvidenceSE: p.LogEvidenceSE})
	c.addWeights(v, p, graphs)
	return c
}

// certifyParticles judges evidences of families (nodes with sets of parents) by particles. It uses
// three numbers: the share of graphs with a family whose evidence is only a rough estimate, the
// change of evidences when particles move longer, and the resulting errors of edge probabilities.
func certifyParticles(s *networks.Scores, posterior *score.Posterior, graphs []score.Draw, edgeErrors [][]float64) *Certificate {
	c := &Certificate{KHat: Number(math.NaN()), Families: len(posterior.Scores.Families), WorstSE: worstError(edgeErrors)}
	v := verdict.Judge(verdict.Measured{Event: "an edge", EventSE: float64(c.WorstSE)})
	rough, settling := s.Judge(v, graphs, posterior.Marginals)
	c.Rough, c.Settling = Number(rough), Number(settling)
	c.Draws, c.Islands = s.Drawn()
	c.judged(v)
	return c
}

// certifyChains judges Markov chains over graphs, each with the given number of draws. names are
// the names of the nodes.
func certifyChains(chains, draws int, edges walk.Edges, names []string) *Certificate {
	worst := edges.Worst
	c := &Certificate{
		KHat: Number(math.NaN()), WorstSE: Number(worst.MCSE), Draws: chains * draws,
		Chains: chains, RHat: Number(worst.RHat), ESS: Number(worst.ESS), Unsettled: len(edges.Unsettled),
	}
	c.judged(edges.Judge(chains, draws, names))
	return c
}

// addWeights lowers the verdict for scores (log evidences) from importance sampling. It uses the
// Pareto k̂ of the weights, and the error that edge probabilities may have because the draws missed
// the largest weights.
func (c *Certificate) addWeights(v *verdict.Judgement, scores *score.Posterior, graphs []score.Draw) {
	c.KHat = Number(typicalKHat(scores, graphs))
	v.Add(verdict.Judge(verdict.Measured{Weights: &verdict.Weights{KHat: float64(c.KHat)}, ESS: math.Inf(1)}))
	if missed := worstError(scores.MissedEdges(graphs)); missed > verdict.DoubtfulMissed {
		v.Lower(verdict.Doubtful, "an edge probability may be off by %.2g because of weights larger than any drawn (Pareto k̂ %.2f)", missed, float64(c.KHat))
	}
	c.judged(v)
}

// addFound lowers the verdict for the faults of an incomplete list of families (nodes with sets of
// parents). The faults are families that may be missing, a posterior probability of the families
// found last (the argument named left) above growthLeft, and differences between the Markov chains
// over graphs. It is also a fault if, for some node, the families added to the first list have a
// posterior probability above the argument named most.
func (c *Certificate) addFound(families *foundFamilies, sums *walk.ListedGraphs, posterior *score.Posterior, left, most float64) {
	v := &verdict.Judgement{Verdict: c.Verdict, Reasons: c.Reasons}
	v.Limit(families.grown(posterior), most, math.Inf(1), "q(m) did not draw families that have %.2g of the probability of a node: other graphs may have been missed")
	v.Limit(left, growthLeft, math.Inf(1), "families that were found last still have a probability of %.2g together")
	families.judge(v)
	chains, worst := sums.Judge(v)
	c.judged(v)
	c.SearchedParents = families.searched
	if chains > 0 {
		c.Chains, c.RHat, c.ESS = chains, Number(worst.RHat), Number(worst.ESS)
		if c.Exact {
			c.Exact, c.Draws = false, chains*walk.KeptGraphs
		}
	}
}

func worstError(edgeErrors [][]float64) Number {
	return Number(slices.Max(slices.Concat(edgeErrors...)))
}

// typicalKHat returns a Pareto k̂ that at most a tenth of the graphs exceed, where the k̂ of a
// graph is the largest k̂ of the evidences of its nodes given their parents.
func typicalKHat(p *score.Posterior, draws []score.Draw) float64 {
	kHat, share := make([]float64, len(draws)), make([]float64, len(draws))
	for i, drawn := range score.Weighted(draws) {
		kHat[i], share[i] = math.Inf(-1), drawn.Probability
		for _, f := range draws[i].Families {
			kHat[i] = max(kHat[i], p.Scores.KHat[f])
		}
	}
	return models.TypicalKHat(kHat, share)
}
