package space

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/graph"
)

// Lists is the space of subsets of at most k of p items (such as predictors), for k far below p.
// The code of a model is the ascending list of its members: entry t is the t-th smallest member, an
// item from 0 to p−1, or p if there are fewer members. Other codes are not models; see
// [Lists.Valid].
//
// The coordinates of parameters belong to places in the list, not to items. The fixed coordinates,
// which every model uses, come first, then k blocks of Width coordinates. Block t belongs to the
// t-th member, and a member of width w uses the first w coordinates of its block.
type Lists struct {
	cards  []int
	widths []int32 // width of each item, and 0 for outcome p (no member)
	width  int
	fixed  int
	birth  *weights
}

var (
	_ RowMasker = (*Lists)(nil)
	_ Mover     = (*Lists)(nil)
)

// NewLists returns the space of lists of at most slots items, in which item j uses widths[j] ≥ 1
// coordinates, with fixed coordinates that every model uses.
func NewLists(widths []int, slots, fixed int) (*Lists, error) {
	p := len(widths)
	switch {
	case p == 0:
		return nil, fmt.Errorf("space.NewLists: no items, so there is a single model")
	case p >= maxCard:
		return nil, fmt.Errorf("space.NewLists: %d items, want fewer than %d", p, maxCard)
	case slots < 1 || slots > p:
		return nil, fmt.Errorf("space.NewLists: %d places for %d items, want 1 to %d", slots, p, p)
	case fixed < 0:
		return nil, fmt.Errorf("space.NewLists: %d fixed coordinates, want 0 or more", fixed)
	}
	l := &Lists{cards: slices.Repeat([]int{p + 1}, slots), widths: make([]int32, p+1), width: slices.Max(widths), fixed: fixed}
	for item, width := range widths {
		if width < 1 {
			return nil, fmt.Errorf("space.NewLists: item %d uses %d coordinates, want at least 1", item, width)
		}
		l.widths[item] = int32(width)
	}
	var err error
	l.birth, err = newWeights(slices.Repeat([]float64{1}, p))
	return l, err
}

// WithWeights returns a copy of the space whose [Lists.Move] proposes new member j with a
// probability proportional to itemWeights[j] > 0. It returns an error for a weight below 1e-9 of
// the sum of all weights, since rounding would dominate.
func (l *Lists) WithWeights(itemWeights []float64) (*Lists, error) {
	if len(itemWeights) != l.Items() {
		return nil, fmt.Errorf("space.Lists.WithWeights: %d weights for %d items", len(itemWeights), l.Items())
	}
	birth, err := newWeights(itemWeights)
	if err != nil {
		return nil, fmt.Errorf("space.Lists.WithWeights: %w", err)
	}
	weighted := *l
	weighted.birth = birth
	return &weighted, nil
}

// Weights returns the weights by which [Lists.Move] proposes new members.
func (l *Lists) Weights() []float64 { return slices.Clone(l.birth.each) }

// Cards returns the number of values of each of the k entries of a code, p+1.
func (l *Lists) Cards() []int { return l.cards }

// Dim returns the number of coordinates: Fixed plus Slots times Width.
func (l *Lists) Dim() int { return l.fixed + l.Slots()*l.width }

// Items returns p, the number of items to choose from.
func (l *Lists) Items() int { return len(l.widths) - 1 }

// Slots returns k, the largest number of members.
func (l *Lists) Slots() int { return len(l.cards) }

// Fixed returns the number of coordinates that every model uses, which come first.
func (l *Lists) Fixed() int { return l.fixed }

// Width returns the number of coordinates in the block of a member, the width of the widest item.
func (l *Lists) Width() int { return l.width }

// Mask returns which coordinates each model uses: codes [B, k] int32 -> [B, D] Bool.
func (l *Lists) Mask(codes *graph.Node) *graph.Node {
	AssertCodes("space.Lists.Mask", codes, l.Slots())
	g := codes.Graph()
	// the block of each coordinate, and its place in the block; −1 for a fixed coordinate
	slots, places := make([]int32, l.Dim()), make([]int32, l.Dim())
	for j := range places {
		places[j] = -1
		if j >= l.fixed {
			slots[j], places[j] = int32((j-l.fixed)/l.width), int32((j-l.fixed)%l.width)
		}
	}
	// The widths of the members, [B, k], gathered with flat indices because of a limit of GoMLX.
	used := graph.Reshape(graph.Gather(graph.Const(g, l.widths), graph.Reshape(codes, -1, 1)), codes.Shape().Dimensions...)
	return graph.LessThan(graph.Const(g, [][]int32{places}), TakeColumns(used, slots))
}

// MaskRow returns, without a computation graph, which coordinates one model uses.
func (l *Lists) MaskRow(code []int32, dst []bool) []bool {
	dst = maskBuffer("space.Lists.MaskRow", l, code, dst)
	for j := range dst {
		dst[j] = j < l.fixed || (j-l.fixed)%l.width < int(l.widths[code[(j-l.fixed)/l.width]])
	}
	return dst
}

// Valid reports whether code is the code of a model: its members ascend, and no member follows the
// first entry p, which stands for no member.
func (l *Lists) Valid(code []int32) bool {
	must("space.Lists.Valid", checkCode(l.cards, code))
	for t := 1; t < len(code); t++ {
		if code[t] <= code[t-1] && int(code[t-1]) < l.Items() || code[t] < code[t-1] {
			return false
		}
	}
	return true
}

// Size returns the number of members of a valid code.
func (l *Lists) Size(code []int32) int {
	size, _ := slices.BinarySearch(code, int32(l.Items()))
	return size
}

// Set returns the members of a valid code in ascending order, as a subslice of code.
func (l *Lists) Set(code []int32) []int32 { return code[:l.Size(code)] }

// Code writes the code of a set of different items, in any order, to dst (length k) and returns it.
// If dst is nil it is allocated. It panics when the set is too large or an item does not exist.
func (l *Lists) Code(set []int32, dst []int32) []int32 {
	if dst == nil {
		dst = make([]int32, l.Slots())
	}
	if len(set) > l.Slots() || len(dst) != l.Slots() {
		panic(fmt.Sprintf("space.Lists.Code: %d members and a buffer of %d for %d places", len(set), len(dst), l.Slots()))
	}
	copy(dst, set)
	slices.Sort(dst[:len(set)])
	for t := len(set); t < len(dst); t++ {
		dst[t] = int32(l.Items())
	}
	must("space.Lists.Code", checkCode(l.cards, dst))
	return dst
}

// CountModels returns Σ_{j ≤ k} C(p, j), the number of valid codes; ok is false beyond 2^62.
func (l *Lists) CountModels() (n int, ok bool) {
	binomial := uint64(1)
	for j := range l.Slots() + 1 {
		if j > 0 {
			high, low := bits.Mul64(binomial, uint64(l.Items()-j+1))
			if high >= uint64(j) {
				return 0, false
			}
			binomial, _ = bits.Div64(high, low, uint64(j))
		}
		if binomial > maxCount-uint64(n) {
			return 0, false
		}
		n += int(binomial)
	}
	return n, true
}

// Models enumerates the valid codes in lexicographic order. Every step yields the same slice,
// overwritten: copy it to keep it.
func (l *Lists) Models() iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		items, code := int32(l.Items()), make([]int32, l.Slots())
		var from func(slot int, least int32) bool
		from = func(slot int, least int32) bool {
			if slot == len(code) {
				return yield(code)
			}
			for item := least; item < items; item++ {
				code[slot] = item
				if !from(slot+1, item+1) {
					return false
				}
			}
			for t := slot; t < len(code); t++ {
				code[t] = items
			}
			return yield(code)
		}
		from(0, 0)
	}
}

// weights holds a positive weight for each item, for drawing items in proportion to their weights.
type weights struct {
	each []float64
	upTo []float64 // upTo[j] = Σ_{i<j} each[i]; one longer than each
}

// leastShare is the smallest weight of an item as a share of the sum of all weights. Differences
// between this sum and the weights of a set must not be dominated by rounding.
const leastShare = 1e-9

func newWeights(each []float64) (*weights, error) {
	w := &weights{each: slices.Clone(each), upTo: make([]float64, len(each)+1)}
	for j, weight := range each {
		if !(weight > 0) || math.IsInf(weight, 1) {
			return nil, fmt.Errorf("weight of item %d is %v, want a positive number", j, weight)
		}
		w.upTo[j+1] = w.upTo[j] + weight
	}
	sum := w.upTo[len(each)]
	if least := slices.Min(each); !(least >= leastShare*sum) || math.IsInf(sum, 1) {
		return nil, fmt.Errorf("weights from %v to a sum of %v, want each to be at least %v of the sum", least, sum, leastShare)
	}
	return w, nil
}

// outside returns the sum of the weights of the items that are not in set.
func (w *weights) outside(set []int32) float64 {
	total := w.upTo[len(w.each)]
	for _, item := range set {
		total -= w.each[item]
	}
	return total
}

// draw returns a random item that is not in set, in proportion to its weight. The set is ascending
// and not all items. u is uniform in [0, 1).
func (w *weights) draw(set []int32, u float64) int32 {
	position := u * w.outside(set)
	for _, item := range set { // skip the weights of members of set
		if position < w.upTo[item] {
			break
		}
		position += w.each[item]
	}
	j, _ := slices.BinarySearch(w.upTo, math.Nextafter(position, math.Inf(1)))
	item := min(max(int32(j)-1, 0), int32(len(w.each)-1))
	for slices.Contains(set, item) { // rounding may lead to a member of set
		item = (item + 1) % int32(len(w.each))
	}
	return item
}
