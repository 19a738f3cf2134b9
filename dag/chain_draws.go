package dag

import (
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/rjmcmc"
)

// shareOf is the share of draws for which an event holds, with the standard error that so many
// independent draws have.
func shareOf(draws []Draw, independent float64) func(event func(*dgraph.Graph) bool) (probability, se float64) {
	return func(event func(*dgraph.Graph) bool) (probability, se float64) {
		for _, d := range draws {
			if event(d.Graph) {
				probability += d.Probability
			}
		}
		return probability, shareError(probability, independent)
	}
}

// comparedGraphs bounds the graphs that are described one by one, evenly spread over all draws:
// equivalence classes take long.
const comparedGraphs = 3000

// gather lists the families of all draws with their shares, and some of the draws.
func (s *sampledGraphs) gather() (posterior mixture, kept someGraphs) {
	place := map[dgraph.Family]int{}
	total := float64(len(s.graphs) * len(s.graphs[0]))
	every := max(1, int(total)/comparedGraphs)
	for c, chain := range s.graphs {
		for k, parents := range chain {
			own := make([]int, len(parents))
			for j, set := range parents {
				f := dgraph.Family{Node: j, Parents: set}
				at, seen := place[f]
				if !seen {
					at = len(posterior.families)
					place[f] = at
					posterior.families, posterior.shares = append(posterior.families, f), append(posterior.shares, 0)
				}
				posterior.shares[at] += 1 / total
				own[j] = at
			}
			if (c*len(chain)+k)%every == 0 {
				kept.graphs, kept.families, kept.chain = append(kept.graphs, dgraph.FromParents(parents)), append(kept.families, own), append(kept.chain, int32(c+1))
			}
		}
	}
	return posterior, kept
}

// sample is all draws with the parameters that came with them, in order of time, the chains side by
// side.
func (s *sampledGraphs) sample() (d drawn) {
	for k := range keptGraphs {
		for c := range s.graphs {
			d.parents, d.thetas, d.chain = append(d.parents, s.graphs[c][k]), append(d.thetas, s.thetas[c][k]), append(d.chain, int32(c+1))
		}
	}
	return d
}

// someGraphs are some of the draws of chains, evenly spread over them.
type someGraphs struct {
	graphs   []*dgraph.Graph
	families [][]int // by node
	chain    []int32 // from 1
}

// count lists the different graphs, the most frequent first.
func (k someGraphs) count() []Draw { return countDraws(k.graphs, k.families) }

// matricesOf are the probabilities of edges and their standard errors [N][N].
func matricesOf(edges [][]rjmcmc.Summary) (probabilities, errors [][]float64) {
	probabilities, errors = zeros(len(edges)), zeros(len(edges))
	for _, e := range dgraph.OrderedPairs(len(edges)) {
		probabilities[e.From][e.To], errors[e.From][e.To] = edges[e.From][e.To].Mean, edges[e.From][e.To].MCSE
	}
	return probabilities, errors
}
