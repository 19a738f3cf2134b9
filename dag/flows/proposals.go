package flows

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
)

// Proposals are draws from q(m), mixed with where it started, with their densities.
type Proposals struct {
	models   *LearnedGraphs
	families [][]int
	// log p(m) without the families' part of it, less log of the density that they were drawn from
	logWeight []float64
}

// Posterior is what draws of q(m) amount to with the scores of families.
func (p *Proposals) Posterior(structure dgraph.Structure, scores score.Scores) *score.Posterior {
	sum := p.sum(scores.LogEvidence)
	return score.EstimatedPosterior(structure, scores, sum, p.models.logMass, sum.weights.LogMeanSE, sum.weights.ESS)
}

// Judge lowers the verdict where few draws of q(m) carry the weight, or where weights add up to
// less than all graphs do, whose log evidence is exact. With that sum at hand the tail of the
// weights, of which there are few different ones where nodes are few, is not asked.
func (p *Proposals) Judge(v *verdict.Judgement, scores score.Scores, exact float64) {
	sum := p.sum(scores.LogEvidence)
	v.Add(verdict.Judge(verdict.Measured{ESS: sum.weights.ESS, Draws: len(p.families), EvidenceSE: sum.weights.LogMeanSE}))
	off := math.Abs(math.Expm1(sum.logTotal - p.models.logMass - exact))
	if noise := notableErrors * sum.weights.LogMeanSE; off > noise {
		v.Limit(off, verdict.DoubtfulMissed+noise, failedOff+noise, "the weights of draws of q(m) and the sum over all graphs differ by a share of %.2g")
	}
}

// Limits of the difference between weights and sum: in standard errors below which it may be
// chance, and the share above which the answer is not to be used.
const (
	notableErrors = 4
	failedOff     = 0.1
)

// sum weights the draws by scores.
func (p *Proposals) sum(scores []float64) *weightedGraphs {
	logWeights := make([]float64, len(p.families))
	for i, families := range p.families {
		logWeights[i] = p.logWeight[i]
		for _, f := range families {
			logWeights[i] += scores[f] + p.models.prior[f]
		}
	}
	w := &weightedGraphs{families: p.families, weights: psis.Smooth(logWeights)}
	w.logTotal = w.weights.LogMean
	w.shares = logsum.Shares(w.weights.LogWeights)
	w.table = pick.NewTable(w.shares)
	return w
}

// Proposals draws from q(m) as it is in the variables that trained has.
func (m *LearnedGraphs) Proposals(ctx gocontext.Context, trained *vti.Posterior, random *rand.Rand) (*Proposals, error) {
	read := func(name string, size int) ([]float64, error) {
		value, err := trained.ModelVariable(name)
		if err != nil {
			return nil, err
		}
		flat, err := tensors.CopyFlatData[float64](value)
		if err == nil && len(flat) != size {
			err = fmt.Errorf("q(m): got %d values of %s, want %d", len(flat), name, size)
		}
		return flat, err
	}
	family, err := read(familyVariable, len(m.families))
	if err != nil {
		return nil, err
	}
	next, err := read(nextVariable, m.sets()*m.structure.Nodes)
	if err != nil {
		return nil, err
	}
	pilot, err := read(pilotVariable, len(m.families))
	if err != nil {
		return nil, err
	}
	return m.propose(ctx, newGraphTables(m, family, next), newGraphTables(m, m.pilotWeights(pilot), nil), random)
}

// propose draws from what was learned and from its start.
func (m *LearnedGraphs) propose(ctx gocontext.Context, learned, start *graphTables, random *rand.Rand) (*Proposals, error) {
	p := &Proposals{models: m}
	orders := map[string]float64{}
	for range graphDrawsOfModels {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped while drawing graphs: %w", err)
		}
		families, before := make([]int, m.structure.Nodes), make([]int, m.structure.Nodes)
		from := learned
		if random.Float64() < pilotShare {
			from = start
		}
		from.draw(random, families, before)
		logQ := logsum.Add(math.Log(1-pilotShare)+learned.logProb(families, before), math.Log(pilotShare)+start.logProb(families, before))
		weight := -logQ
		if !m.structure.Orders {
			key := fmt.Sprint(families)
			count, known := orders[key]
			if !known {
				count = math.Log(m.graphOf(families).Orders())
				orders[key] = count
			}
			weight -= count
		}
		p.families, p.logWeight = append(p.families, families), append(p.logWeight, weight)
	}
	return p, nil
}

// graphDrawsOfModels is how many graphs are drawn from q(m) to be weighted, and pilotShare the
// share of them that comes from where q(m) started, over which training has no power: what it has
// lost is seen there. Chosen by hand.
const (
	graphDrawsOfModels = 1 << 18
	pilotShare         = 0.25
)

// weightedGraphs are draws of q(m) weighted to the posterior that scores give: a sum over graphs
// that is an estimate.
type weightedGraphs struct {
	families [][]int
	shares   []float64 // of draws in the sum
	table    pick.Table
	logTotal float64
	weights  psis.Result
}

func (w *weightedGraphs) LogTotal() float64 { return w.logTotal }

func (w *weightedGraphs) Draw(random *rand.Rand, families []int) {
	copy(families, w.families[w.table.Index(random.Float64())])
}

func (w *weightedGraphs) Marginals(families int, on func(done, total int) bool) []float64 {
	shares := make([]float64, families)
	if !on(0, 1) {
		return shares
	}
	for i, own := range w.families {
		for _, f := range own {
			shares[f] += w.shares[i]
		}
	}
	return shares
}

// graphOf is the graph of families, by node.
func (m *LearnedGraphs) graphOf(families []int) *dgraph.Graph {
	parents := make([]dgraph.Set, len(families))
	for j, f := range families {
		parents[j] = m.families[f].Parents
	}
	return dgraph.FromParents(parents)
}
