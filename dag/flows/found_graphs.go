package flows

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
)

// FoundGraphs sums over the graphs whose families are on a list, as far as sums are possible: over
// all of them up to mostLayered nodes, and with the prior over orders up to 20; up to 20 nodes
// otherwise over draws from the sum over orders, weighted by the number of orders of each graph;
// and beyond over the graphs that q(m) drew, weighted by its density.
type FoundGraphs struct {
	structure dgraph.Structure
	logMass   float64
	seed      uint64
	orders    map[string]float64 // of graphs [key of their families]
	drawn     []DrawnGraph
	last      *weightedGraphs // of the last sum; nil if it was over all
}

// mostLayered is the largest number of nodes whose graphs are summed in each round. Chosen by hand:
// it takes a second or less.
const mostLayered = 10

// mostOrdered is the largest number of nodes whose orders are summed.
const mostOrdered = 20

// weightedDraws are the draws of the sum over orders.
const weightedDraws = 1 << 13

// NewFoundGraphs are the found graphs of a structure; drawn are draws of q(m).
func NewFoundGraphs(s dgraph.Structure, seed uint64, drawn []DrawnGraph) *FoundGraphs {
	return &FoundGraphs{structure: s, logMass: s.LogMass(), seed: seed, orders: map[string]float64{}, drawn: drawn}
}

// Normalised reports whether the prior over graphs is normalised, so that evidences are.
func (f *FoundGraphs) Normalised() bool { return !math.IsNaN(f.logMass) }

// Posterior is the posterior over the graphs whose families have scores: a score.SumOfScores.
func (f *FoundGraphs) Posterior(ctx gocontext.Context, s dgraph.Structure, scores score.Scores, _ func(string)) (*score.Posterior, error) {
	mass := f.logMass
	if math.IsNaN(mass) {
		mass = 0
	}
	on := func(int, int) bool { return ctx.Err() == nil }
	var sum dgraph.Sum
	switch {
	case s.Nodes <= mostLayered || s.Orders && s.Nodes <= mostOrdered:
		sum = s.Sum(scores.Families, scores.LogEvidence, on)
	case s.Nodes <= mostOrdered:
		ordered := s
		ordered.Orders = true
		if sum = ordered.Sum(scores.Families, scores.LogEvidence, on); ctx.Err() == nil {
			sum = f.reweighted(sum, scores)
		}
	default:
		sum = f.ofDraws(scores)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("stopped while summing over graphs: %w", err)
	}
	own, estimated := sum.(*weightedGraphs)
	if f.last = own; !estimated {
		return score.EstimatedPosterior(s, scores, sum, mass, 0, 0), nil
	}
	return score.EstimatedPosterior(s, scores, sum, mass, own.weights.LogMeanSE, own.weights.ESS), nil
}

// Judge lowers the verdict where few draws carry the weight of the last sum.
func (f *FoundGraphs) Judge(v *verdict.Judgement) {
	if f.last == nil {
		return
	}
	weights := f.last.weights
	measured := verdict.Measured{ESS: weights.ESS, Draws: len(f.last.families), EvidenceSE: weights.LogMeanSE}
	if f.structure.Nodes > mostOrdered {
		measured.Weights = &verdict.Weights{KHat: weights.K}
	}
	v.Add(verdict.Judge(measured))
}

// reweighted are draws of a sum over orders, in which a graph counts as often as it has orders,
// weighted to count once.
func (f *FoundGraphs) reweighted(sum dgraph.Sum, scores score.Scores) *weightedGraphs {
	random := stream.Rand(f.seed, "graphs along orders")
	families, logWeights := make([][]int, weightedDraws), make([]float64, weightedDraws)
	for k := range families {
		families[k] = make([]int, f.structure.Nodes)
		sum.Draw(random, families[k])
		key := fmt.Sprint(families[k])
		count, known := f.orders[key]
		if !known {
			parents := make([]dgraph.Set, f.structure.Nodes)
			for j, family := range families[k] {
				parents[j] = scores.Families[family].Parents
			}
			count = math.Log(dgraph.FromParents(parents).Orders())
			f.orders[key] = count
		}
		logWeights[k] = sum.LogTotal() - count
	}
	return newWeightedGraphs(families, logWeights)
}

// ofDraws are the draws of q(m), weighted by scores.
func (f *FoundGraphs) ofDraws(scores score.Scores) *weightedGraphs {
	place := map[dgraph.Family]int{}
	for i, family := range scores.Families {
		place[family] = i
	}
	families, logWeights := make([][]int, len(f.drawn)), make([]float64, len(f.drawn))
	for k, drawn := range f.drawn {
		logWeights[k] = -drawn.LogQ
		for j, parents := range drawn.Parents {
			i := place[dgraph.Family{Node: j, Parents: parents}]
			families[k] = append(families[k], i)
			logWeights[k] += scores.LogEvidence[i] + f.structure.Prior.LogWeight(j, parents)
		}
		if !f.structure.Orders {
			logWeights[k] += drawn.LogSorted
		}
	}
	return newWeightedGraphs(families, logWeights)
}

// weightedGraphs are draws of graphs, given by their families, weighted to a posterior: a sum over
// graphs that is an estimate.
type weightedGraphs struct {
	families [][]int
	shares   []float64 // of draws in the sum
	table    pick.Table
	weights  psis.Result
}

func newWeightedGraphs(families [][]int, logWeights []float64) *weightedGraphs {
	w := &weightedGraphs{families: families, weights: psis.Smooth(logWeights)}
	w.shares = logsum.Shares(w.weights.LogWeights)
	w.table = pick.NewTable(w.shares)
	return w
}

// LogTotal implements dgraph.Sum.
func (w *weightedGraphs) LogTotal() float64 { return w.weights.LogMean }

// Draw implements dgraph.Sum.
func (w *weightedGraphs) Draw(random *rand.Rand, families []int) {
	copy(families, w.families[w.table.Index(random.Float64())])
}

// Marginals implements dgraph.Sum.
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

// DrawnGraph is a draw of q(m): the parents of the nodes, and the log densities of the graph with
// its order under q(m), and of the order among those of the graph.
type DrawnGraph struct {
	Parents         []dgraph.Set
	LogQ, LogSorted float64
}
