package dag

import (
	"math"
	"math/rand/v2"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
)

// drawn are draws of graphs with the parameters of all nodes.
type drawn struct {
	parents [][]dgraph.Set // [draw][node]
	thetas  [][][]float64  // [draw][node], on the working scale, zero where not in use
	chain   []int32        // of each draw, from 1; nil for independent draws
}

// count lists the different graphs, the most frequent first.
func (d drawn) count() []Draw {
	var graphs []*dgraph.Graph
	for _, parents := range d.parents {
		graphs = append(graphs, dgraph.FromParents(parents))
	}
	return countDraws(graphs, nil)
}

// thin keeps about so many draws of chains, evenly spread: they are in order of time, the chains
// side by side.
func (d drawn) thin(most int) (kept drawn) {
	every := max(1, len(d.parents)/most)
	for chains := int(slices.Max(d.chain)); divisor(every, chains) > 1; {
		every++ // else they would be those of a few chains
	}
	for k := 0; k < len(d.parents); k += every {
		kept.parents, kept.thetas, kept.chain = append(kept.parents, d.parents[k]), append(kept.thetas, d.thetas[k]), append(kept.chain, d.chain[k])
	}
	return kept
}

// each keeps every k-th draw.
func (d drawn) each(every int) drawn {
	return drawn{parents: eachOf(d.parents, every), thetas: eachOf(d.thetas, every), chain: eachOf(d.chain, every)}
}

// split is the draws by node: the families that they have, with their shares, and a source of the
// parameters drawn with each.
func (d drawn) split(random *rand.Rand) (mixture, parameterSource) {
	place := map[dgraph.Family]int{}
	var m mixture
	var thetas [][][]float64
	for k, parents := range d.parents {
		for j, set := range parents {
			f := dgraph.Family{Node: j, Parents: set}
			at, seen := place[f]
			if !seen {
				at = len(m.families)
				place[f] = at
				m.families, m.shares, thetas = append(m.families, f), append(m.shares, 0), append(thetas, nil)
			}
			m.shares[at] += 1 / float64(len(d.parents))
			thetas[at] = append(thetas[at], d.thetas[k][j])
		}
	}
	return m, func(family int) []float64 { return thetas[family][random.IntN(len(thetas[family]))] }
}

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// drawnFrom draws the parameters of graphs that are given by their families, node by node.
func drawnFrom(graphs [][]int, families []dgraph.Family, source parameterSource) (d drawn) {
	for _, own := range graphs {
		parents, thetas := make([]dgraph.Set, len(own)), make([][]float64, len(own))
		for j, f := range own {
			parents[j], thetas[j] = families[f].Parents, source(f)
		}
		d.parents, d.thetas = append(d.parents, parents), append(d.thetas, thetas)
	}
	return d
}

// countDraws lists the different ones of some graphs, the most frequent first. families may be nil.
func countDraws(graphs []*dgraph.Graph, families [][]int) []Draw {
	place := map[string]int{}
	var draws []Draw
	for k, g := range graphs {
		key := g.Key()
		at, seen := place[key]
		if !seen {
			at = len(draws)
			place[key] = at
			// the chains give errors for edges
			draws = append(draws, Draw{Graph: g, SE: math.NaN()})
			if families != nil {
				draws[at].Families = families[k]
			}
		}
		draws[at].Count++
	}
	order := make([]int, len(draws))
	for i := range order {
		order[i] = i
	}
	sortBy(order, func(i int) float64 { return -float64(draws[i].Count) })
	sorted := make([]Draw, len(draws))
	for i, from := range order {
		sorted[i] = draws[from]
		sorted[i].Probability = float64(sorted[i].Count) / float64(len(graphs))
	}
	return sorted
}

// eachOf keeps every k-th element.
func eachOf[T any](list []T, every int) (kept []T) {
	for k := 0; k < len(list); k += every {
		kept = append(kept, list[k])
	}
	return kept
}

// descendants are those of a node, itself among them.
func descendants(from int, parents []dgraph.Set, order []int) dgraph.Set {
	below := dgraph.SetOf(from)
	for _, j := range order {
		if !parents[j].And(below).Empty() {
			below = below.With(j)
		}
	}
	return below
}
