package walk

import (
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/rjmcmc"
)

// ShareOf returns a function that gives the share of draws with an event, and its standard error
// for that number of independent draws.
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

// comparedGraphs bounds the number of graphs compared one by one, evenly spread over all draws,
// because equivalence classes take long.
const comparedGraphs = 3000

// Some returns the draws as a mixture of families, and families and chains of evenly spaced draws.
func (s *Graphs) Some() (posterior score.Mixture, families [][]int, chain []int32) {
	all := slices.Concat(s.Graphs...)
	posterior, families = score.FamiliesOf(all)
	every := max(1, len(all)/comparedGraphs)
	for k := 0; k < len(all); k += every {
		chain = append(chain, int32(k/len(s.Graphs[0])+1))
	}
	return posterior, score.EachOf(families, every), chain
}

// Sample returns all draws with their parameters, in order of time, the chains side by side.
func (s *Graphs) Sample() (d score.Sample) {
	for k := range KeptGraphs {
		for c := range s.Graphs {
			d.Parents, d.Thetas, d.Chain = append(d.Parents, s.Graphs[c][k]), append(d.Thetas, s.thetas[c][k]), append(d.Chain, int32(c+1))
		}
	}
	return d
}

// Edges holds the probabilities of edges and their standard errors [N][N].
type Edges struct {
	Probabilities, Errors [][]float64
	// Worst has the largest standard error, and the largest R-hat and the least effective number of
	// draws over the density and edges whose probability is not close to 0 or 1.
	Worst rjmcmc.Summary
}

// rareEdge is the distance of a probability from 0 or 1 below which diagnostics ignore the edge.
// R-hat of a few visits is noise.
const rareEdge = 0.02

// Summarise combines summaries of the log density and of every edge. An edge that hardly ever
// changed has unknown autocorrelation: its error is at least the error for the least effective
// number of draws.
func Summarise(nodes int, density rjmcmc.Summary, summarise func(e dgraph.Edge) rjmcmc.Summary) Edges {
	all := Edges{Probabilities: dgraph.Zeros(nodes), Errors: dgraph.Zeros(nodes), Worst: density}
	worst, pairs := &all.Worst, dgraph.OrderedPairs(nodes)
	worst.MCSE = 0
	var rare []dgraph.Edge
	for _, e := range pairs {
		summary := summarise(e)
		all.Probabilities[e.From][e.To], all.Errors[e.From][e.To] = summary.Mean, summary.MCSE
		if summary.SD > 0 {
			worst.MCSE = math.Max(worst.MCSE, summary.MCSE)
		}
		if summary.SD == 0 || math.Abs(summary.Mean-0.5) > 0.5-rareEdge {
			rare = append(rare, e)
			continue
		}
		worst.RHat, worst.ESS = math.Max(worst.RHat, summary.RHat), math.Min(worst.ESS, summary.ESS)
	}
	for _, e := range rare {
		se := &all.Errors[e.From][e.To]
		*se = math.Max(*se, score.ShareError(all.Probabilities[e.From][e.To], worst.ESS))
	}
	return all
}
