package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Sample are draws of graphs with the parameters of all nodes.
type Sample struct {
	Parents [][]dgraph.Set // [draw][node]
	Thetas  [][][]float64  // [draw][node], on the working scale, zero where not in use
	Chain   []int32        // of each draw, from 1; nil for independent draws
}

// Count lists the different graphs, the most frequent first.
func (d Sample) Count() []Draw {
	m, families := FamiliesOf(d.Parents)
	return CountDraws(m, families)
}

// Thin keeps about most draws of chains, evenly spread: they are in order of time, the chains side
// by side.
func (d Sample) Thin(most int) (kept Sample) {
	every := max(1, len(d.Parents)/most)
	for chains := int(slices.Max(d.Chain)); divisor(every, chains) > 1; {
		every++ // otherwise only few chains would be kept
	}
	for k := 0; k < len(d.Parents); k += every {
		kept.Parents, kept.Thetas, kept.Chain = append(kept.Parents, d.Parents[k]), append(kept.Thetas, d.Thetas[k]), append(kept.Chain, d.Chain[k])
	}
	return kept
}

// Each keeps every k-th draw.
func (d Sample) Each(every int) Sample {
	return Sample{Parents: EachOf(d.Parents, every), Thetas: EachOf(d.Thetas, every), Chain: EachOf(d.Chain, every)}
}

// Split divides the draws by node: the families in them, with their shares, and a source of the
// parameters drawn with each.
func (d Sample) Split(random *rand.Rand) (Mixture, ParameterSource) {
	m, families := FamiliesOf(d.Parents)
	thetas := make([][][]float64, len(m.Families))
	for k, graphFamilies := range families {
		for j, f := range graphFamilies {
			thetas[f] = append(thetas[f], d.Thetas[k][j])
		}
	}
	return m, func(family int) []float64 { return thetas[family][random.IntN(len(thetas[family]))] }
}

// FamiliesOf are the families of graphs with their shares, and the places among them of each graph
// by node.
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

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// SampleFrom draws the parameters of graphs that are lists of families, node by node.
func SampleFrom(graphs [][]int, families []dgraph.Family, source ParameterSource) (d Sample) {
	for _, graphFamilies := range graphs {
		parents, thetas := make([]dgraph.Set, len(graphFamilies)), make([][]float64, len(graphFamilies))
		for j, f := range graphFamilies {
			parents[j], thetas[j] = families[f].Parents, source(f)
		}
		d.Parents, d.Thetas = append(d.Parents, parents), append(d.Thetas, thetas)
	}
	return d
}

// CountDraws lists the different graphs, the most frequent first, each a list of families of m.
func CountDraws(m Mixture, graphs [][]int) []Draw {
	place := map[string]int{}
	var draws []Draw
	for _, graphFamilies := range graphs {
		key := fmt.Sprint(graphFamilies)
		at, seen := place[key]
		if !seen {
			at = len(draws)
			place[key] = at
			// the chains give errors for edges
			draws = append(draws, Draw{Graph: m.Graph(graphFamilies), Families: graphFamilies, SE: math.NaN()})
		}
		draws[at].Count++
	}
	for k := range draws {
		draws[k].Probability = float64(draws[k].Count) / float64(len(graphs))
	}
	slices.SortStableFunc(draws, func(a, b Draw) int { return b.Count - a.Count })
	return draws
}

// EachOf keeps every k-th element.
func EachOf[T any](list []T, every int) (kept []T) {
	for k := 0; k < len(list); k += every {
		kept = append(kept, list[k])
	}
	return kept
}

// Descendants are the descendants of a node, itself among them.
func Descendants(from int, parents []dgraph.Set, order []int) dgraph.Set {
	below := dgraph.SetOf(from)
	for _, j := range order {
		if !parents[j].And(below).Empty() {
			below = below.With(j)
		}
	}
	return below
}
