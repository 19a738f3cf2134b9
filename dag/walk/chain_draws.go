package walk

import (
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

// Gather lists the families of all draws with their shares, and some of the draws.
func (s *Graphs) Gather() (posterior score.Mixture, kept someGraphs) {
	place := map[dgraph.Family]int{}
	total := float64(len(s.Graphs) * len(s.Graphs[0]))
	every := max(1, int(total)/comparedGraphs)
	for c, chain := range s.Graphs {
		for k, parents := range chain {
			own := make([]int, len(parents))
			for j, set := range parents {
				f := dgraph.Family{Node: j, Parents: set}
				at, seen := place[f]
				if !seen {
					at = len(posterior.Families)
					place[f] = at
					posterior.Families, posterior.Shares = append(posterior.Families, f), append(posterior.Shares, 0)
				}
				posterior.Shares[at] += 1 / total
				own[j] = at
			}
			if (c*len(chain)+k)%every == 0 {
				kept.graphs, kept.Families, kept.Chain = append(kept.graphs, dgraph.FromParents(parents)), append(kept.Families, own), append(kept.Chain, int32(c+1))
			}
		}
	}
	return posterior, kept
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

// someGraphs are some of the draws of chains, evenly spread over them.
type someGraphs struct {
	graphs   []*dgraph.Graph
	Families [][]int // by node
	Chain    []int32 // from 1
}

// Count lists the different graphs, the most frequent first.
func (k someGraphs) Count() []score.Draw { return score.CountDraws(k.graphs, k.Families) }

// EdgeMatrices are the probabilities of edges and their standard errors [N][N].
func EdgeMatrices(edges [][]rjmcmc.Summary) (probabilities, errors [][]float64) {
	probabilities, errors = score.Zeros(len(edges)), score.Zeros(len(edges))
	for _, e := range dgraph.OrderedPairs(len(edges)) {
		probabilities[e.From][e.To], errors[e.From][e.To] = edges[e.From][e.To].Mean, edges[e.From][e.To].MCSE
	}
	return probabilities, errors
}
