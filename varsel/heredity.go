package varsel

import (
	"math"
	"math/bits"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/space"
)

// Heredity is the rule for which parents an interaction needs in a model. The parents are the
// predictors that the interaction multiplies.
type Heredity int

const (
	// StrongHeredity: an interaction needs both of its parents.
	StrongHeredity Heredity = iota
	// WeakHeredity: an interaction needs at least one of its parents.
	WeakHeredity
	// NoHeredity: an interaction needs no parent.
	NoHeredity
)

var heredities = enum.New[Heredity]("heredity", "strong", "weak", "none")

// String returns the name.
func (h Heredity) String() string { return heredities.String(h) }

// MarshalText writes the text of String.
func (h Heredity) MarshalText() ([]byte, error) { return heredities.Marshal(h) }

// UnmarshalText reads the text that MarshalText writes.
func (h *Heredity) UnmarshalText(text []byte) error { return heredities.Unmarshal(text, h) }

// heredity is the set of models that a rule of heredity allows. Predictor g may be in a model only
// if all of parents[g] are in it or, if the field any is set, at least one of them. Parents have
// smaller numbers than their children, and have no parents themselves. A nil heredity allows all
// models.
type heredity struct {
	parents [][]int
	any     bool
	// logMass is the log of the total probability of the allowed models under the prior of model
	// sizes. The prior over the allowed models is divided by it. It is 0, and known is false, if
	// there are too many parents to sum over their subsets.
	logMass float64
	known   bool
}

// mostParents is the largest number of parents for which a sum over all their subsets is computed:
// more than 2^25 subsets would take seconds.
const mostParents = 25

// newHeredity returns the models that the rule kind allows, or nil if every model is allowed.
func newHeredity(design *Design, kind Heredity, prior Prior) *heredity {
	h := &heredity{parents: make([][]int, len(design.Predictors)), any: kind == WeakHeredity}
	needed := false
	for g, p := range design.Predictors {
		if kind == NoHeredity || kind == WeakHeredity && p.AlwaysParent {
			continue
		}
		h.parents[g] = p.Parents
		needed = needed || len(p.Parents) > 0
	}
	if !needed {
		return nil
	}
	h.logMass, h.known = h.mass(prior)
	return h
}

// allowed reports whether predictor g may join a model. The function in reports whether the model
// has the given parent of g.
func (h *heredity) allowed(g int, in func(parent int) bool) bool {
	if h == nil || len(h.parents[g]) == 0 {
		return true
	}
	count := 0
	for _, parent := range h.parents[g] {
		if in(parent) {
			count++
		}
	}
	return count == len(h.parents[g]) || h.any && count > 0
}

func (h *heredity) allows(code []int32) bool {
	for g, in := range code {
		if in == 1 && !h.allowed(g, func(parent int) bool { return code[parent] == 1 }) {
			return false
		}
	}
	return true
}

// violations returns, for each of the codes [B, G], the number of predictors whose parents the
// model lacks ([B] int32).
func (h *heredity) violations(codes *Node) *Node {
	g := codes.Graph()
	n := len(h.parents)
	incidence, needed := make([][]int32, n), make([]int32, n) // incidence[parent][child]
	for i := range incidence {
		incidence[i] = make([]int32, n)
	}
	for child, parents := range h.parents {
		for _, parent := range parents {
			incidence[parent][child] = 1
		}
		needed[child] = int32(len(parents))
		if h.any {
			needed[child] = min(needed[child], 1)
		}
	}
	present := ConvertDType(MatMul(ConvertDType(codes, dtypes.Float32), ConvertDType(Const(g, incidence), dtypes.Float32)), dtypes.Int32)
	missing := LessThan(present, Const(g, [][]int32{needed}))
	return ReduceSum(Mul(codes, ConvertDType(missing, dtypes.Int32)), -1)
}

// mass returns the log of the total prior probability of the allowed models. Let A be the set of
// parents in a model. Then f further predictors are free to be in the model or not: the children
// that A allows, and the predictors that are neither parent nor child. C(f, j) models have |A| + j
// predictors. It is enough to count the sets A by their size and their number of allowed children.
func (h *heredity) mass(prior Prior) (logMass float64, known bool) {
	total := len(h.parents)
	bit := map[int]int{} // the bit of each parent in a set of parents
	for _, parents := range h.parents {
		for _, parent := range parents {
			if _, seen := bit[parent]; !seen {
				bit[parent] = len(bit)
			}
		}
	}
	m := len(bit)
	if m > mostParents {
		return 0, false
	}
	children := make([]uint32, 0, total) // for each child, the set of its parents
	for _, parents := range h.parents {
		var set uint32
		for _, parent := range parents {
			set |= 1 << bit[parent]
		}
		if set != 0 {
			children = append(children, set)
		}
	}
	free := total - m - len(children)
	childrenOf := make([][]int, m)
	for c, set := range children {
		for v := range m {
			if set>>v&1 == 1 {
				childrenOf[v] = append(childrenOf[v], c)
			}
		}
	}
	// counts sets of parents, by their size and the number of children that they allow
	counts := make([]float64, (m+1)*(len(children)+1))
	satisfied := func(c int, set uint32) bool {
		present := children[c] & set
		return present == children[c] || h.any && present != 0
	}
	var set uint32
	allowed := 0
	for step := uint32(0); ; { // in the order of a Gray code, in which one parent changes at a time
		counts[bits.OnesCount32(set)*(len(children)+1)+allowed]++
		if step++; step == 1<<m {
			break
		}
		v := bits.TrailingZeros32(step)
		for _, c := range childrenOf[v] {
			if satisfied(c, set) {
				allowed--
			}
		}
		set ^= 1 << v
		for _, c := range childrenOf[v] {
			if satisfied(c, set) {
				allowed++
			}
		}
	}
	sizes := prior.LogProbs(total)
	var terms []float64
	for a := range m + 1 {
		for e := range len(children) + 1 {
			count := counts[a*(len(children)+1)+e]
			if count == 0 {
				continue
			}
			for j := range free + e + 1 {
				if a+j <= total && !math.IsInf(sizes[a+j], -1) {
					terms = append(terms, math.Log(count)+space.LogBinomial(free+e, j)+sizes[a+j])
				}
			}
		}
	}
	return floats.LogSumExp(terms), true
}
