package walk

import (
	gocontext "context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/parallel"
)

// These limit the search for sets of parents. A search may take the cube of the number of nodes
// times searchTime nanoseconds, and per row searchTimeForRow nanoseconds more, a twentieth of the
// time of chains. It reaches five parents of 30 nodes with two levels and four of 100.
const (
	searchTime       = 5000
	searchTimeForRow = 5
	mostTogether     = 8       // parents in a set
	mostKept         = 1 << 24 // sets of one size with stored evidences
)

// together holds sets of parents of a node, added to a base, that have an effect only together:
// their weight, p(pa) p(x_j | x_pa), is more than the weight of all their subsets. Steps of single
// edges hardly ever find them.
type together struct {
	// largest gain in nats of a set with each other node over its subsets; 0 for none
	gains []float64
	// the set with the largest gain
	highest float64
	most    dgraph.Set
}

func (t *together) add(parents dgraph.Set, gain float64) {
	if gain > t.highest || gain == t.highest && parents.Compare(t.most) < 0 {
		t.highest, t.most = gain, parents
	}
	for i := range parents.Nodes() {
		t.gains[i] = math.Max(t.gains[i], gain)
	}
}

// setSearch looks for sets of parents of some nodes with the same counted rows. It goes through all
// sets of columns, items, by size. L of the joint distribution of a set and of its subsets gives
// the weight of the set less a node as parents of that node, and of all its subsets.
type setSearch struct {
	problem *score.Problem
	base    dgraph.Set
	items   []int // the last items are the nodes
	nodes   int
	sizes   int                     // of the largest sets
	ranks   [][mostTogether + 3]int // binomial coefficients: place over k
	values  [][]float64             // L by size and colexicographic rank; not stored for the largest sets
}

// searchItems returns the columns of a search: columns that are parents only, then its nodes.
func searchItems(p *score.Problem, nodes []int, base dgraph.Set) []int {
	possible := dgraph.Set{}
	for _, j := range nodes {
		possible = possible.Or(p.Structure.Allowed[j])
	}
	return append(possible.Minus(base).Minus(dgraph.SetOf(nodes...)).List(), nodes...)
}

// searchSize returns the largest number of parents beside a base for which there is time to search
// all sets: at least pairs.
func searchSize(p *score.Problem, nodes []int, base dgraph.Set) (size int) {
	items, n := len(searchItems(p, nodes, base)), float64(p.Data.Nodes())
	most := min(mostTogether, items-1)
	if p.Structure.MaxParents >= 0 {
		most = min(most, p.Structure.MaxParents-base.Len())
	}
	left := n * n * float64(len(nodes)) * (searchTime + searchTimeForRow*float64(p.Data.RowsOf(nodes[0])))
	for ; size < most; size++ {
		kept := choose(items, size+1)
		largest := choose(items, size+2) - choose(items-len(nodes), size+2)
		left -= kept * p.JointCost(nodes[0], size+1, base)
		if size >= 2 && (kept > mostKept || left < largest*p.JointCost(nodes[0], size+2, base)) {
			break
		}
	}
	return size
}

// findTogether looks for sets of parents of nodes, added to a base. It stops when ctx is cancelled.
func findTogether(ctx gocontext.Context, p *score.Problem, joint score.Joint, nodes []int, base dgraph.Set) (map[int]*together, error) {
	s := &setSearch{problem: p, base: base, items: searchItems(p, nodes, base), nodes: len(nodes), sizes: searchSize(p, nodes, base) + 1}
	s.ranks = make([][mostTogether + 3]int, len(s.items))
	for place := range s.ranks {
		for k := range s.ranks[place] {
			s.ranks[place][k] = int(choose(place, k))
		}
	}
	workers := parallel.Workers(len(s.items))
	found := make([]map[int]*together, workers)
	searchers := make([]*searcher, workers)
	var none float64
	for w := range found {
		found[w] = map[int]*together{}
		for _, j := range nodes {
			found[w][j] = &together{gains: make([]float64, p.Data.Nodes())}
		}
		searchers[w] = &searcher{setSearch: s, found: found[w], buffer: make([]float64, len(s.items))}
		searchers[w].stack, none = joint.Stack(base, s.items)
	}
	s.values = [][]float64{{none}}
	for size := 1; size <= s.sizes; size++ {
		if size < s.sizes || size == 1 {
			s.values = append(s.values, make([]float64, int(choose(len(s.items), size))))
		}
		if size == 1 {
			searchers[0].stack.Evidences(s.values[1])
			continue
		}
		first := size - 1
		if size == s.sizes {
			first = max(first, len(s.items)-s.nodes)
		}
		if err := parallel.Each(ctx, len(s.items)-first, func(w int) func(k int) error {
			return func(k int) error {
				searchers[w].searchFrom(0, first+k, size-1)
				return nil
			}
		}); err != nil {
			return nil, fmt.Errorf("the search for parents that matter only together was %w", err)
		}
	}
	for _, other := range found[1:] {
		for j, t := range other {
			into := found[0][j]
			if t.highest > 0 {
				into.add(t.most, t.highest)
			}
			for i, gain := range t.gains {
				into.gains[i] = math.Max(into.gains[i], gain)
			}
		}
	}
	return found[0], nil
}

// noPlace means that no member is left out of a set.
const noPlace = -1

// without returns the colexicographic rank of a set of ascending places, less two of them, with
// more additional places that are the least: 0, 1 and so on.
func (s *setSearch) without(places []int, first, second, more int) (rank int) {
	for t, place := range places {
		if t == first || t == second {
			more--
			continue
		}
		rank += s.ranks[place][t+1+more]
	}
	return rank
}

// with returns L of a set of places, less two of them, with each other place below all.
func (s *setSearch) with(places []int, first, second int) []float64 {
	size := len(places) + 1
	for _, out := range [...]int{first, second} {
		if out != noPlace {
			size--
		}
	}
	return s.values[size][s.without(places, first, second, 1):]
}

func choose(n, k int) float64 {
	product := 1.0
	for i := range k {
		product = product * float64(n-i) / float64(i+1)
	}
	return math.Round(product)
}

// searcher is a worker of a search.
type searcher struct {
	*setSearch
	stack  score.JointStack
	places [mostTogether + 1]int // the last ones are the set, ascending
	buffer []float64
	found  map[int]*together
}

// searchFrom goes through the sets with the last places, a lower one, and more that are lower
// still.
func (s *searcher) searchFrom(size, place, more int) {
	s.stack.Push(place)
	defer s.stack.Pop()
	places := s.places[len(s.places)-size-1:]
	places[0] = place
	if more > 1 {
		for lower := more - 1; lower < place; lower++ {
			s.searchFrom(size+1, lower, more-1)
		}
		return
	}
	out := s.buffer[:place]
	if len(places)+1 < len(s.values) {
		out = s.with(places, noPlace, noPlace)[:place]
	}
	s.stack.Evidences(out)
	if len(places) >= 2 && places[len(places)-1] >= len(s.items)-s.nodes {
		s.look(places, out)
	}
}

// look compares sets of places with one more below all, given their L. The joint gain of j and i
// beside the rest, L(S) + L(S − i − j) − L(S − i) − L(S − j), must exceed the prior's price of an
// additional parent, for all i, before all subsets are compared.
func (s *searcher) look(places []int, out []float64) {
	count := len(places)
	whole := s.values[count][s.without(places, noPlace, noPlace, 0)]
	var less [mostTogether]float64 // without one
	var with [mostTogether][]float64
	var pairs [mostTogether][mostTogether][]float64 // without two
	for k := range places {
		less[k], with[k] = s.values[count-1][s.without(places, k, noPlace, 0)], s.with(places, k, noPlace)[:len(out)]
		for l := range k {
			pairs[k][l] = s.with(places, k, l)[:len(out)]
		}
	}
	price, first := s.price(count), len(s.items)-s.nodes
	nodes := uint(0) // bits: 0 the additional place, then the places
	for k, place := range places {
		if place >= first {
			nodes |= 2 << k
		}
	}
	for a, value := range out {
		left := nodes
		if a >= first {
			left |= 1
		}
		for set := left; set != 0; set &= set - 1 {
			j := bits.TrailingZeros(set)
			for i := range count + 1 {
				if i == j {
					continue
				}
				low, high := min(i, j)-1, max(i, j)-1
				gain := value - with[high][a]
				if low < 0 {
					gain += less[high] - whole
				} else {
					gain += pairs[high][low][a] - with[low][a]
				}
				if !(gain > price) {
					left &^= 1<<i | 1<<j
					set &^= 1 << i
					break
				}
			}
		}
		if left != 0 {
			s.compareSubsets(append([]int{a}, places...), left, value)
		}
	}
}

// price returns the least cost in the prior of the last of a number of parents.
func (s *searcher) price(parents int) (price float64) {
	prior := s.problem.Structure.Prior
	if prior.BySize != nil {
		parents += s.base.Len()
		price = prior.BySize[parents-1] - prior.BySize[parents]
	}
	if prior.ByEdge != nil {
		most := math.Inf(-1)
		for _, row := range prior.ByEdge {
			most = math.Max(most, slices.Max(row))
		}
		price -= most
	}
	return price
}

// compareSubsets compares the weight of a set less a member, as parents of the member, with all its
// subsets.
func (s *searcher) compareSubsets(places []int, members uint, value float64) {
	values, sets := make([]float64, 1<<len(places)), make([]dgraph.Set, 1<<len(places))
	all := len(values) - 1
	for mask := range values {
		rank, size := 0, 0
		for k := range dgraph.Members(uint64(mask)) {
			size++
			rank += s.ranks[places[k]][size]
			sets[mask] = sets[mask].With(s.items[places[k]])
		}
		if mask < all {
			values[mask] = s.values[size][rank]
		}
	}
	values[all] = value
	structure := s.problem.Structure
	for k := range dgraph.Members(uint64(members)) {
		j, bit := s.items[places[k]], 1<<k
		weight := func(mask int) float64 {
			parents := sets[mask].Or(s.base)
			if !structure.Allows(j, parents) {
				return math.Inf(-1)
			}
			return values[mask|bit] - values[mask] + structure.Prior.LogWeight(j, parents)
		}
		whole, top := weight(all&^bit), math.Inf(-1)
		for mask := range all {
			if mask&bit == 0 && mask != all&^bit {
				top = math.Max(top, weight(mask))
			}
		}
		if gain := whole - top; gain > 0 {
			s.found[j].add(sets[all&^bit], gain)
		}
	}
}

// SearchedParents returns the number of parents up to which all sets were searched for effects only
// together; 0 where constraints allow no larger ones.
func SearchedParents(p *score.Problem) (least int) {
	for _, group := range sameRows(p) {
		base := p.Structure.Required[group[0]]
		size := searchSize(p, group, base) + base.Len()
		larger := size != p.Structure.MaxParents && slices.ContainsFunc(group, func(j int) bool { return p.Structure.Allowed[j].Len() > size })
		if larger && (least == 0 || size < least) {
			least = size
		}
	}
	return least
}

// sameRows groups nodes without required parents by their counted rows; other nodes are alone.
func sameRows(p *score.Problem) (groups [][]int) {
	place := map[string]int{}
	for j, required := range p.Structure.Required {
		key := ""
		if p.Data.Counted != nil {
			key = fmt.Sprint(p.Data.CountedRows(j))
		}
		if k, ok := place[key]; ok && required.Empty() {
			groups[k] = append(groups[k], j)
			continue
		}
		if required.Empty() {
			place[key] = len(groups)
		}
		groups = append(groups, []int{j})
	}
	return groups
}
