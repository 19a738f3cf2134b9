// Package line integrates densities of one parameter by the trapezoidal rule, on an equidistant
// lattice that is refined until the integral is accurate. For smooth functions that vanish at both
// ends the rule converges faster than any power of the distance of its nodes (Trefethen and
// Weideman 2014): half the distance squares the error.
package line

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/rank"
)

// Options describe where a density is and how accurate its integral should be.
type Options struct {
	// From and To are the ends of the range in which modes may be. Modes are searched for with
	// nodes a Step apart in this range: the log density must rise towards each mode from the nodes
	// next to it. If a point near the only mode is known, From and To are both this point.
	From, To float64
	// Step is the distance between neighbouring nodes of the first lattice.
	Step float64
	// Low and High are the ends of the support. Outside of the support the density is zero. If both
	// are zero they stand for ±∞. If the density is not negligible at an end, the rule converges
	// slowly.
	Low, High float64
	// Depth is the distance below the largest log density, in nats, from which on log densities are
	// negligible. Default 36, which is the size of rounding errors.
	Depth float64
	// Tolerance is the largest accepted difference between the log integral from all nodes and the
	// log integral from every second node. The error of the integral from all nodes is about the
	// square of the difference. Default 1e-6.
	Tolerance float64
	// Most is the largest number of nodes. Default 65,536.
	Most int
	// Parallel reports whether nodes are evaluated on all processors.
	Parallel bool
}

// Node is a point of the lattice.
type Node[T any] struct {
	X          float64
	LogDensity float64
	// LogWeight is the log density plus the log of the distance between nodes. The share of a node
	// in the integral is exp(LogWeight − Integral.Log).
	LogWeight float64
	// Given is the second result, at the node, of the function that computes the log density.
	Given T
}

// Integral is the log integral of a density, with the nodes that are not negligible, in order of x.
type Integral[T any] struct {
	Log float64
	// Difference is the difference between Log, the log integral from all nodes, and the log
	// integral from every second node.
	Difference float64
	Step       float64
	Nodes      []Node[T]
}

// A lattice can be too coarse even if the integrals from all nodes and from every second node
// agree, for example with two equal nodes on either side of a peak. It is too coarse if the log
// density falls by more than mostFall nats from a mode to the next node, or if there are fewer
// nodes than fewestNodes. In an accepted lattice the nodes of a normal density are at most 1.2
// standard deviations apart.
const (
	mostFall    = 1.5
	fewestNodes = 4
)

// usualNodes is the number of nodes on one side for which memory is allocated in advance.
const usualNodes = 24

// ErrMost is the error if an integral needs more than Options.Most nodes, or if log densities are
// so large that float64 cannot represent differences of Options.Depth.
var ErrMost = errors.New("the integral over a line did not converge")

// Integrate returns the integral of the exponential of a log density. The log density may be −Inf.
// If it returns an error, Integrate stops with that error. The second result of logDensity is kept
// with each node.
func Integrate[T any](o Options, logDensity func(x float64) (value float64, kept T, err error)) (*Integral[T], error) {
	l := newLattice(o, logDensity)
	if err := l.scan(); err != nil {
		return nil, err
	}
	for {
		if err := l.extend(); err != nil {
			return nil, err
		}
		if fine, coarse := l.sums(); l.resolved() && math.Abs(fine-coarse) <= l.Tolerance {
			return l.integral(fine, fine-coarse), nil
		}
		if err := l.refine(); err != nil {
			return nil, err
		}
	}
}

// Of is Integrate for a log density that returns only a value.
func Of(o Options, logDensity func(x float64) float64) (*Integral[struct{}], error) {
	return Integrate(o, func(x float64) (float64, struct{}, error) { return logDensity(x), struct{}{}, nil })
}

// lattice is a set of nodes at From + i Step for integers i. Negligible nodes may be missing.
type lattice[T any] struct {
	Options
	logDensity func(x float64) (float64, T, error)
	indices    []int // indices i of the nodes, ascending
	nodes      []Node[T]
	top        float64
	count      int // number of evaluated log densities
}

func newLattice[T any](o Options, logDensity func(x float64) (float64, T, error)) *lattice[T] {
	if !(o.Step > 0 && o.From <= o.To) {
		panic(fmt.Sprintf("line.Integrate: got a range from %g to %g in steps of %g, want an ascending one and a positive step", o.From, o.To, o.Step))
	}
	if o.Low == 0 && o.High == 0 {
		o.Low, o.High = math.Inf(-1), math.Inf(1)
	}
	o.Depth = cmp.Or(o.Depth, 36)
	o.Tolerance = cmp.Or(o.Tolerance, 1e-6)
	o.Most = cmp.Or(o.Most, 1<<16)
	return &lattice[T]{Options: o, logDensity: logDensity, top: math.Inf(-1)}
}

func (l *lattice[T]) x(i int) float64 { return l.From + float64(i)*l.Step }

func (l *lattice[T]) evaluate(indices []int, to []Node[T]) error {
	if l.count += len(indices); l.count > l.Most {
		return ErrMost
	}
	if l.Parallel && len(indices) > 1 {
		if err := parallel.Do(len(indices), func(k int) error { return l.evaluateOne(indices[k], &to[k]) }); err != nil {
			return err
		}
	} else {
		for k, i := range indices {
			if err := l.evaluateOne(i, &to[k]); err != nil {
				return err
			}
		}
	}
	for _, node := range to[:len(indices)] {
		l.top = math.Max(l.top, node.LogDensity)
	}
	return nil
}

func (l *lattice[T]) evaluateOne(i int, node *Node[T]) (err error) {
	node.X = l.x(i)
	node.LogDensity, node.Given, err = l.logDensity(node.X)
	if err == nil && !(node.LogDensity <= math.MaxFloat64) {
		err = fmt.Errorf("the log density at %g is %g", node.X, node.LogDensity)
	}
	return err
}

func (l *lattice[T]) scan() error {
	count := 1 + max(int((l.To-l.From)/l.Step), 0)
	l.indices, l.nodes = rank.UpTo(count), make([]Node[T], count)
	return l.evaluate(l.indices, l.nodes)
}

// extend adds nodes at both ends until they are negligible or the support ends.
func (l *lattice[T]) extend() error {
	first, last := l.indices[0], l.indices[len(l.indices)-1]
	below, above := make([]Node[T], 0, usualNodes), make([]Node[T], 0, usualNodes)
	low, high := &l.nodes[0], &l.nodes[len(l.nodes)-1]
	next, nodes := make([]int, 0, 2), make([]Node[T], 2)
	for {
		down, up := l.matters(*low) && l.x(first-1) >= l.Low, l.matters(*high) && l.x(last+1) <= l.High
		added := next
		if down {
			first--
			added = append(added, first)
		}
		if up {
			last++
			added = append(added, last)
		}
		if len(added) == 0 {
			break
		}
		if err := l.evaluate(added, nodes); err != nil {
			return err
		}
		if down {
			below = append(below, nodes[0])
			low = &below[len(below)-1]
		}
		if up {
			above = append(above, nodes[len(added)-1])
			high = &above[len(above)-1]
		}
	}
	if math.IsInf(l.top, -1) {
		return fmt.Errorf("the density is zero from %g to %g", l.x(first), l.x(last))
	}
	if len(below)+len(above) == 0 {
		return nil
	}
	indices := make([]int, 0, len(below)+len(l.indices)+len(above))
	for i := first; i < l.indices[0]; i++ {
		indices = append(indices, i)
	}
	indices = append(indices, l.indices...)
	for i := indices[len(indices)-1] + 1; i <= last; i++ {
		indices = append(indices, i)
	}
	slices.Reverse(below)
	l.indices, l.nodes = indices, slices.Concat(below, l.nodes, above)
	return nil
}

func (l *lattice[T]) matters(node Node[T]) bool { return node.LogDensity > l.top-l.Depth }

// hides reports whether a node is a mode beside which more mass may lie than the nodes show. This
// is possible if no neighbouring node is higher, and the log density falls by more than mostFall to
// a neighbour: between the two nodes, a concave log density can first rise by as much as it then
// falls.
func (l *lattice[T]) hides(k int) bool {
	logDensity, most := l.nodes[k].LogDensity, 0.0
	for _, beside := range []int{max(k-1, 0), min(k+1, len(l.nodes)-1)} {
		fall := logDensity - l.nodes[beside].LogDensity
		if fall < 0 {
			return false
		}
		if !math.IsInf(fall, 1) { // the support ends between the two nodes
			most = math.Max(most, fall)
		}
	}
	return most > mostFall && logDensity+most > l.top-l.Depth
}

// resolved reports whether the lattice is fine enough to be compared with every second node.
func (l *lattice[T]) resolved() bool {
	for k := range l.nodes {
		if l.hides(k) {
			return false
		}
	}
	return len(l.nodes) >= fewestNodes
}

// sums returns the log integral from all nodes, and from the nodes with an even index.
func (l *lattice[T]) sums() (fine, coarse float64) {
	var parts [2]float64
	for k, node := range l.nodes {
		parts[l.indices[k]&1] += math.Exp(node.LogDensity - l.top)
	}
	return l.top + math.Log((parts[0]+parts[1])*l.Step), l.top + math.Log(parts[0]*2*l.Step)
}

// refine halves the step. New nodes are placed next to the nodes that are not negligible, or that
// may hide a mode.
func (l *lattice[T]) refine() error {
	l.Step /= 2
	var between []int
	for k := range l.indices {
		l.indices[k] *= 2
	}
	for k, i := range l.indices {
		if !l.matters(l.nodes[k]) && !l.hides(k) {
			continue
		}
		if len(between) == 0 || between[len(between)-1] != i-1 {
			between = append(between, i-1)
		}
		between = append(between, i+1)
	}
	between = slices.DeleteFunc(between, func(i int) bool { return l.x(i) < l.Low || l.x(i) > l.High })
	if len(between) == 0 { // a difference of Depth is below the rounding error of the log density
		return ErrMost
	}
	fresh := make([]Node[T], len(between))
	if err := l.evaluate(between, fresh); err != nil {
		return err
	}
	indices, nodes := make([]int, 0, len(l.indices)+len(between)), make([]Node[T], 0, len(l.indices)+len(between))
	for k, i := range l.indices {
		for len(between) > 0 && between[0] < i {
			indices, nodes = append(indices, between[0]), append(nodes, fresh[0])
			between, fresh = between[1:], fresh[1:]
		}
		indices, nodes = append(indices, i), append(nodes, l.nodes[k])
	}
	l.indices, l.nodes = append(indices, between...), append(nodes, fresh...)
	return nil
}

func (l *lattice[T]) integral(log, difference float64) *Integral[T] {
	out := &Integral[T]{Log: log, Difference: math.Abs(difference), Step: l.Step, Nodes: make([]Node[T], 0, len(l.nodes))}
	for _, node := range l.nodes {
		if l.matters(node) {
			node.LogWeight = node.LogDensity + math.Log(l.Step)
			out.Nodes = append(out.Nodes, node)
		}
	}
	return out
}
