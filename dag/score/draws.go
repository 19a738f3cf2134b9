package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
)

// Sample holds draws of graphs with the parameters of all nodes.
type Sample struct {
	Parents [][]dgraph.Set // [draw][node]
	Thetas  [][][]float64  // parameters [draw][node], for the scaled columns; 0 if not used
	Chain   []int32        // number of the chain of each draw, from 1; nil for independent draws
}

// Count returns the different graphs with their numbers of draws, the most frequent first.
func (d Sample) Count() []Draw {
	m, families := FamiliesOf(d.Parents)
	return CountDraws(m, families)
}

// Thin keeps draws of Markov chains, evenly spread. Their number is about the argument named most.
// Draws are ordered by time, and at each time by chain.
func (d Sample) Thin(most int) (kept Sample) {
	every := max(1, len(d.Parents)/most)
	for chains := int(slices.Max(d.Chain)); divisor(every, chains) > 1; {
		every++ // with a common divisor of interval and number of chains, some chains would have no draws
	}
	for k := 0; k < len(d.Parents); k += every {
		kept.Parents, kept.Thetas, kept.Chain = append(kept.Parents, d.Parents[k]), append(kept.Thetas, d.Thetas[k]), append(kept.Chain, d.Chain[k])
	}
	return kept
}

// Each keeps the draws with the indices 0, every, 2·every and so on.
func (d Sample) Each(every int) Sample {
	return Sample{Parents: EachOf(d.Parents, every), Thetas: EachOf(d.Thetas, every), Chain: EachOf(d.Chain, every)}
}

// Split returns the families (nodes with sets of parents) in the drawn graphs, with the fraction of
// draws that have each, and sources that pick at random among a family's drawn parameters.
func (d Sample) Split() (Mixture, ParameterSources) {
	m, families := FamiliesOf(d.Parents)
	thetas := make([][][]float64, len(m.Families))
	for k, graphFamilies := range families {
		for j, f := range graphFamilies {
			thetas[f] = append(thetas[f], d.Thetas[k][j])
		}
	}
	return m, func(random *rand.Rand) ParameterSource {
		return func(family int) ([]float64, int) { return thetas[family][random.IntN(len(thetas[family]))], 0 }
	}
}

// FamiliesOf returns the families (nodes with sets of parents) that occur in graphs, with the
// fraction of graphs that have each. byGraph holds, by graph and node, an index of m.Families.
func FamiliesOf(graphs [][]dgraph.Set) (m Mixture, byGraph [][]int) {
	place := map[dgraph.Family]int{}
	for _, parents := range graphs {
		places := make([]int, len(parents))
		for j, set := range parents {
			f := dgraph.Family{Node: j, Parents: set}
			at, seen := place[f]
			if !seen {
				at = len(m.Families)
				place[f] = at
				m.Families, m.Shares = append(m.Families, f), append(m.Shares, 0)
			}
			m.Shares[at] += 1 / float64(len(graphs))
			places[j] = at
		}
		byGraph = append(byGraph, places)
	}
	return m, byGraph
}

// divisor returns the greatest common divisor.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// SampleFrom draws the parameters of graphs. A graph has, for each node, an index of the list
// families (nodes with sets of parents).
func SampleFrom(graphs [][]int, families []dgraph.Family, source ParameterSource) (d Sample) {
	for _, graphFamilies := range graphs {
		parents, thetas := make([]dgraph.Set, len(graphFamilies)), make([][]float64, len(graphFamilies))
		for j, f := range graphFamilies {
			parents[j] = families[f].Parents
			thetas[j], _ = source(f)
		}
		d.Parents, d.Thetas = append(d.Parents, parents), append(d.Thetas, thetas)
	}
	return d
}

// CountDraws returns the different graphs with their numbers of draws, the most frequent first. The
// argument graphs has, for each graph and node, an index of m.Families.
func CountDraws(m Mixture, graphs [][]int) []Draw {
	place := map[string]int{}
	var draws []Draw
	for _, graphFamilies := range graphs {
		key := fmt.Sprint(graphFamilies)
		at, seen := place[key]
		if !seen {
			at = len(draws)
			place[key] = at
			graph := dgraph.FromParents(apply.To(graphFamilies, func(f int) dgraph.Set { return m.Families[f].Parents }))
			// SE stays NaN: for chains only edges have standard errors
			draws = append(draws, Draw{Graph: graph, Families: graphFamilies, SE: math.NaN()})
		}
		draws[at].Count++
	}
	for k := range draws {
		draws[k].Probability = float64(draws[k].Count) / float64(len(graphs))
	}
	slices.SortStableFunc(draws, func(a, b Draw) int { return b.Count - a.Count })
	return draws
}

// EachOf keeps the elements with the indices 0, every, 2·every and so on.
func EachOf[T any](list []T, every int) (kept []T) {
	for k := 0; k < len(list); k += every {
		kept = append(kept, list[k])
	}
	return kept
}

// Descendants reports, for each node, whether it is the node whose index is from, or a descendant
// of this node. order is a topological order of the graph; without it (for parents that form a
// cycle) only from is reported.
func Descendants(from int, parents []dgraph.Set, order []int) []bool {
	below := make([]bool, len(parents))
	below[from] = true
	for _, j := range order {
		for i := range parents[j].Nodes() {
			below[j] = below[j] || below[i]
		}
	}
	return below
}
