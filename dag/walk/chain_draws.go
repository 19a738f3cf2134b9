package walk

import (
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/rjmcmc"
)

// ShareOf returns a function that computes the probability of an event, as the fraction of draws
// whose graph satisfies it, with its standard error. independent is the effective number of draws.
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

// comparedGraphs is about the number of graphs that Some returns, for comparisons one by one. They
// are evenly spread over all draws. Their number is limited because equivalence classes take long
// to find.
const comparedGraphs = 3000

// Some returns the families (nodes with a set of parents) in all draws, with the fraction of draws
// that have each. For about comparedGraphs evenly spaced draws it also returns the index of the
// family of each node in posterior.Families, and the number of the chain, from 1.
func (s *Graphs) Some() (posterior score.Mixture, families [][]int, chain []int32) {
	all := slices.Concat(s.Graphs...)
	posterior, families = score.FamiliesOf(all)
	every := max(1, len(all)/comparedGraphs)
	for k := 0; k < len(all); k += every {
		chain = append(chain, int32(k/len(s.Graphs[0])+1))
	}
	return posterior, score.EachOf(families, every), chain
}

// Sample returns all draws with their parameters, ordered by time, and at each time by chain.
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
	// Probabilities and Errors are indexed by cause and effect.
	Probabilities, Errors [][]float64
	// Worst holds the largest standard error of an edge. Its R-hat is the largest, and its ESS the
	// smallest, among the log density and the edges whose probability is not close to 0 or 1.
	Worst rjmcmc.Summary
}

// rareEdge is the distance of the probability of an edge from 0 or 1 below which diagnostics ignore
// the edge, because the R-hat of an edge that occurs in few draws is noise.
const rareEdge = 0.02

// Summarise combines the summaries of the log density and of every edge. The autocorrelation of an
// edge that almost never changed is unknown, so that its error is at least the error for the
// smallest effective number of draws.
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
