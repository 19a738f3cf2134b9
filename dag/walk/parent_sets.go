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

// These constants limit the search for sets of parents. For N nodes and n rows the search may take
// N³ (searchTime + n searchTimeForRow) nanoseconds, a twentieth of the time of the chains, and at
// most mostSearchTime. This time suffices for all sets of up to five parents for 30 nodes with two
// levels, and of up to four parents for 100 nodes.
const (
	searchTime       = 5000
	searchTimeForRow = 5
	mostSearchTime   = 30e9
	mostTogether     = 8       // largest number of parents in a set
	mostKept         = 1 << 24 // largest number of sets of one size whose evidences are stored
)

// together describes the sets of parents of a node that, added to a base set, have an effect only
// together: the weight of a set, p(pa) p(x_j | x_pa), exceeds the weights of all its subsets. Steps
// of single edges almost never find such sets.
type together struct {
	// gains is, for each other node, the largest gain in nats of a set with this node over all
	// subsets of the set; 0 if there is no such set.
	gains []float64
	// highest is the largest gain of a set, and the field most is the set with this gain.
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

// setSearch searches for sets of parents of some nodes for which the same rows count. It goes
// through all sets of columns by size. For a set S of columns it computes L(S), the log evidence of
// the columns jointly (see [score.Joint]). The log evidence of a node j of S with the rest of S as
// parents is L(S) − L(S − j), and follows in the same way for all subsets of these parents. An item
// is a column of the search, and a place the index of an item.
type setSearch struct {
	problem *score.Problem
	base    dgraph.Set
	items   []int // columns of the search; the nodes come last
	nodes   int
	sizes   int                     // size of the largest sets
	ranks   [][mostTogether + 3]int // binomial coefficients [place][k]: place over k
	values  [][]float64             // L by size and colexicographic rank of the set; not stored for the largest sets
}

// searchItems returns the columns of a search: first the columns that are only parents, then the
// nodes whose parents are searched.
func searchItems(p *score.Problem, nodes []int, base dgraph.Set) []int {
	possible := dgraph.Set{}
	for _, j := range nodes {
		possible = possible.Or(p.Structure.Allowed[j])
	}
	return append(possible.Minus(base).Minus(dgraph.SetOf(nodes...)).List(), nodes...)
}

// searchSize returns the largest number of parents, in addition to a base, for which there is time
// to search all sets. For up to [dgraph.ManyNodes] nodes it is at least two unless constraints
// allow fewer.
func searchSize(p *score.Problem, nodes []int, base dgraph.Set) (size int) {
	items, n := len(searchItems(p, nodes, base)), float64(p.Data.Nodes())
	most := min(mostTogether, items-1)
	if p.Structure.MaxParents >= 0 {
		most = min(most, p.Structure.MaxParents-base.Len())
	}
	left := float64(len(nodes)) / n * min(mostSearchTime, n*n*n*(searchTime+searchTimeForRow*float64(p.Data.RowsOf(nodes[0]))))
	for ; size < most; size++ {
		kept := choose(items, size+1)
		largest := choose(items, size+2) - choose(items-len(nodes), size+2)
		left -= kept * p.JointCost(nodes[0], size+1, base)
		if (size >= 2 || p.Data.Nodes() > dgraph.ManyNodes) && (kept > mostKept || left < largest*p.JointCost(nodes[0], size+2, base)) {
			break
		}
	}
	return size
}

// findTogether searches for sets of parents of nodes that have an effect only together if they are
// added to the parents base. It returns the sets found by node. It stops when ctx is cancelled.
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

// noPlace, instead of an index, says that no column is left out of a set.
const noPlace = -1

// without returns the colexicographic rank of a set of places. The set consists of the ascending
// places, except the places at the indices first and second, and of further places (their number is
// the argument more) that are the least possible: 0, 1 and so on.
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

// with returns the log evidences L of the sets that consist of a lower place and the given places,
// except places[first] and places[second]. Element k belongs to the lower place k.
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
	places [mostTogether + 1]int // the last entries are the set, ascending
	buffer []float64
	found  map[int]*together
}

// searchFrom goes through the sets that consist of the last entries of s.places (their number is
// the argument size), the lower place given by place, and further places that are lower still
// (their number is the argument more).
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

// look compares the sets S that consist of places and one lower place, given their L. The joint
// gain of j and i in addition to the rest of S is L(S) + L(S − i − j) − L(S − i) − L(S − j). Only
// if this gain exceeds the cost of an additional parent in the prior, for a j and all other columns
// i of S, is S compared with all its subsets. The least joint gain of j, minus this cost, bounds
// the gain of the parents S − j over their subsets, so that S is left out for j where every parent
// has a larger known gain. In dense graphs, nearly all sets are left out in this way. out holds
// L(S) by the lower place.
func (s *searcher) look(places []int, out []float64) {
	count := len(places)
	whole := s.values[count][s.without(places, noPlace, noPlace, 0)]
	var less [mostTogether]float64 // L without one column
	var with [mostTogether][]float64
	var pairs [mostTogether][mostTogether][]float64 // L without two columns
	for k := range places {
		less[k], with[k] = s.values[count-1][s.without(places, k, noPlace, 0)], s.with(places, k, noPlace)[:len(out)]
		for l := range k {
			pairs[k][l] = s.with(places, k, l)[:len(out)]
		}
	}
	price, first := s.price(count), len(s.items)-s.nodes
	nodes := uint(0) // bit 0 stands for the lower place, the other bits for places
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
			least := math.Inf(1)
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
				least = math.Min(least, gain)
			}
			if left&(1<<j) != 0 && s.surpassed(a, places, j, least-price+negligibleGain) {
				left &^= 1 << j
			}
		}
		if left != 0 {
			s.compareSubsets(append([]int{a}, places...), left, value)
		}
	}
}

// negligibleGain, in nats, exceeds the rounding errors of joint gains.
const negligibleGain = 1e-6

// surpassed reports whether sets with larger gains than the argument gain are known for all columns
// of the set S that consists of a lower place and the given places, except for its column j.
func (s *searcher) surpassed(lower int, places []int, j int, gain float64) bool {
	node := lower
	if j > 0 {
		node = places[j-1]
	}
	known := s.found[s.items[node]].gains
	if j != 0 && known[s.items[lower]] <= gain {
		return false
	}
	for k, place := range places {
		if k != j-1 && known[s.items[place]] <= gain {
			return false
		}
	}
	return true
}

// price returns the least cost, in nats of the prior, of the last parent in a set of the given
// number of parents.
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

// compareSubsets compares, for each column j of a set S that has a bit in the argument members, the
// weight of the parents S − j of j with the weights of all their subsets. value is L(S).
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

// SearchedParents returns the size up to which all sets of parents were searched for effects that
// they have only together, or 0 if all sets that the constraints allow were searched.
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

// sameRows groups nodes without required parents by the rows that count for them, in which they
// were not set from outside. Each node with required parents is a group of its own.
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
