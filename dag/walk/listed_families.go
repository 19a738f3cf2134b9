package walk

import (
	"cmp"
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
)

// listedFamilies holds, for each node, the sets of parents that are on a list, by descending log
// weight. A node with a set of parents is called a family. Chains run over the graphs made of these
// families.
type listedFamilies struct {
	structure dgraph.Structure
	byNode    [][]listedFamily // [N]
}

// listedFamily is a family with its log weight. share is its weight divided by the largest weight
// of the families of the node, and place its index in [score.Scores].
type listedFamily struct {
	parents          dgraph.Set
	logWeight, share float64
	place            int
}

// newListedFamilies returns the families of scores with the weights p(pa) exp(β ℓ(pa)), where p(pa)
// is the prior weight of the set of parents pa, ℓ(pa) the log evidence and β an inverse
// temperature.
func newListedFamilies(s dgraph.Structure, scores score.Scores, beta float64) *listedFamilies {
	l := &listedFamilies{s, make([][]listedFamily, s.Nodes)}
	for i, f := range scores.Families {
		l.byNode[f.Node] = append(l.byNode[f.Node], listedFamily{parents: f.Parents, logWeight: s.Prior.LogWeight(f.Node, f.Parents) + beta*scores.LogEvidence[i], place: i})
	}
	for _, list := range l.byNode {
		slices.SortFunc(list, func(a, b listedFamily) int {
			return cmp.Or(cmp.Compare(b.logWeight, a.logWeight), cmp.Compare(a.place, b.place))
		})
		for k := range list {
			list[k].share = math.Exp(list[k].logWeight - list[0].logWeight)
		}
	}
	return l
}

// leastOfList is the largest share of a sum of weights of families that the terms left out may
// have. The errors of the log evidences change the sum by much more.
const leastOfList = 1e-6

// sum returns the log of the sum of the weights of the families of node j whose parents are all in
// a set, or −Inf if there are none. visit, if not nil, is called with each family that is not
// negligible and its weight up to a common factor.
func (l *listedFamilies) sum(j int, from dgraph.Set, visit func(f *listedFamily, weight float64)) float64 {
	list, largest, total := l.byNode[j], 0.0, 0.0
	far := false // whether shares have lost their digits
	for k := range list {
		f := &list[k]
		if !f.parents.Within(from) {
			continue
		}
		if total == 0 {
			largest = list[0].logWeight
			if far = largest-f.logWeight > farBelow; far {
				largest = f.logWeight
			}
		}
		weight := f.share
		if far {
			weight = math.Exp(f.logWeight - largest)
		}
		total += weight
		if visit != nil {
			visit(f, weight)
		}
		if weight*float64(len(list)-k) < leastOfList*total {
			break
		}
	}
	if total == 0 {
		return math.Inf(-1)
	}
	return largest + math.Log(total)
}

// pick returns the family of node j at which the cumulative probability reaches u, among the
// families whose parents are all in a set. logTotal is the log of the sum of the weights of these
// families.
func (l *listedFamilies) pick(j int, from dgraph.Set, logTotal, u float64) (chosen *listedFamily) {
	list := l.byNode[j]
	for k := range list {
		if f := &list[k]; f.parents.Within(from) {
			chosen = f
			if u -= math.Exp(f.logWeight - logTotal); u <= 0 {
				break
			}
		}
	}
	return chosen
}

// listedWalk is a Markov chain over the graphs whose families are all on a list. In a large step,
// as in [walk], a node moves in an order and the families of the nodes in between are drawn anew. A
// small step draws the family of a node given the families of all other nodes.
type listedWalk struct {
	orderedGraph
	families *listedFamilies
	graph    []*listedFamily // family of each node
	old      []*listedFamily // scratch memory of step
	sums     []float64       // scratch memory of step
}

// use replaces the list of families. The new list must contain the families of the current graph.
func (w *listedWalk) use(families *listedFamilies) {
	w.families = families
	for j, parents := range w.parents {
		list := families.byNode[j]
		w.graph[j] = &list[slices.IndexFunc(list, func(f listedFamily) bool { return f.parents == parents })]
	}
}

func (w *listedWalk) set(j int, f *listedFamily) {
	w.graph[j] = f
	w.setParents(j, f.parents)
}

func (w *listedWalk) score() (sum float64) {
	for _, f := range w.graph {
		sum += f.logWeight
	}
	return sum
}

// sweep makes a number of steps that is proportional to the number of nodes.
func (w *listedWalk) sweep() {
	nodes := len(w.parents)
	reaches := [...]int{1, 1, 4, 16, nodes - 1}
	for range nodes {
		w.step(min(reaches[w.random.IntN(len(reaches))], nodes-1))
		j := w.random.IntN(nodes)
		from := w.possible(j)
		w.set(j, w.families.pick(j, from, w.families.sum(j, from, nil), w.random.Float64()))
	}
}

// possible returns the nodes that may be parents of node j given the families of all other nodes:
// with the prior over orders the nodes before j, and otherwise all nodes except its descendants.
func (w *listedWalk) possible(j int) dgraph.Set {
	if w.families.structure.Orders {
		return dgraph.SetOf(w.order[:w.position[j]]...)
	}
	return dgraph.Below(len(w.parents)).Minus(dgraph.Reach(dgraph.SetOf(j), w.children))
}

// step moves a node by up to reach places, as a large step of [walk] does.
func (w *listedWalk) step(reach int) {
	orders := w.families.structure.Orders
	logRatio := 0.0
	if !orders {
		logRatio -= w.sort()
	}
	from, to, inside := w.move(reach)
	if !inside {
		return
	}
	first, last := min(from, to), max(from, to)
	logRatio -= w.sumBetween(first, last)
	w.shift(from, to)
	logRatio += w.sumBetween(first, last)
	limit := math.Log(w.random.Float64())
	if math.IsInf(logRatio, -1) || orders && logRatio < limit {
		w.shift(to, from)
		return
	}
	w.old = append(w.old[:0], w.graph...)
	before := dgraph.SetOf(w.order[:first]...)
	for k, j := range w.order[first : last+1] {
		w.set(j, w.families.pick(j, before, w.sums[k], w.random.Float64()))
		before = before.With(j)
	}
	if orders {
		return
	}
	if w.resort(first, last); logRatio+w.logSort() < limit {
		for j, f := range w.old {
			w.set(j, f)
		}
	}
}

// sumBetween returns the log of the product, over the nodes at the places first to last of the
// order, of the sums of the weights of their families. It leaves the logs of these sums in w.sums.
func (w *listedWalk) sumBetween(first, last int) (product float64) {
	before := dgraph.SetOf(w.order[:first]...)
	w.sums = w.sums[:0]
	for _, j := range w.order[first : last+1] {
		sum := w.families.sum(j, before, nil)
		w.sums, product = append(w.sums, sum), product+sum
		before = before.With(j)
	}
	return product
}
