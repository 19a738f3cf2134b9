package walk

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/rjmcmc"
)

// ShareOf is the share of draws for which an event holds, with the standard error that so many
// independent draws have.
func ShareOf(draws []score.Draw, independent float64) func(event func(*dgraph.Graph) bool) (probability, se float64) {
	return func(event func(*dgraph.Graph) bool) (probability, se float64) {
		for _, d := range draws {
			if event(d.Graph) {
				probability += d.Probability
			}
		}
		return probability, score.ShareError(probability, independent)
	}
}

// comparedGraphs bounds the graphs that are described one by one, evenly spread over all draws:
// equivalence classes take long.
const comparedGraphs = 3000

// Some are some of the draws with the families that all have and their shares.
func (s *Graphs) Some() (posterior score.Mixture, families [][]int, chain []int32) {
	var all [][]dgraph.Set
	for _, draws := range s.Graphs {
		all = append(all, draws...)
	}
	posterior, families = score.FamiliesOf(all)
	every := max(1, len(all)/comparedGraphs)
	for k := 0; k < len(all); k += every {
		chain = append(chain, int32(k/len(s.Graphs[0])+1))
	}
	return posterior, score.EachOf(families, every), chain
}

// Sample is all draws with the parameters that came with them, in order of time, the chains side by
// side.
func (s *Graphs) Sample() (d score.Sample) {
	for k := range KeptGraphs {
		for c := range s.Graphs {
			d.Parents, d.Thetas, d.Chain = append(d.Parents, s.Graphs[c][k]), append(d.Thetas, s.thetas[c][k]), append(d.Chain, int32(c+1))
		}
	}
	return d
}

// Edges are the probabilities of edges and their standard errors [N][N].
type Edges struct {
	Probabilities, Errors [][]float64
	// Worst has the largest standard error, and of edges whose probability is not close to 0 or 1
	// and of the density the largest R-hat and the least effective number of draws.
	Worst rjmcmc.Summary
}

// rareEdge is the probability from which on an edge has a say in the diagnostics; chosen by hand.
const rareEdge = 0.02

// Summarise takes what chains say of the log density and of every edge. An edge that hardly ever
// changed says nothing of its autocorrelation: it has the error that the least effective number of
// draws gives it.
func Summarise(nodes int, density rjmcmc.Summary, of func(e dgraph.Edge) rjmcmc.Summary) Edges {
	all := Edges{Probabilities: dgraph.Zeros(nodes), Errors: dgraph.Zeros(nodes), Worst: density}
	worst, pairs := &all.Worst, dgraph.OrderedPairs(nodes)
	worst.MCSE = 0
	var rare []dgraph.Edge
	for _, e := range pairs {
		own := of(e)
		all.Probabilities[e.From][e.To], all.Errors[e.From][e.To] = own.Mean, own.MCSE
		if own.SD > 0 {
			worst.MCSE = math.Max(worst.MCSE, own.MCSE)
		}
		if own.SD == 0 || math.Abs(own.Mean-0.5) > 0.5-rareEdge {
			rare = append(rare, e)
			continue
		}
		worst.RHat, worst.ESS = math.Max(worst.RHat, own.RHat), math.Min(worst.ESS, own.ESS)
	}
	for _, e := range rare {
		se := &all.Errors[e.From][e.To]
		*se = math.Max(*se, score.ShareError(all.Probabilities[e.From][e.To], worst.ESS))
	}
	return all
}
