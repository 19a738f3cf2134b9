package modeldist

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/space"
)

// Constraint restricts the outcomes of a site (digit) of a code given the sites before it.
type Constraint interface {
	// Allowed returns a mask [B, K] Bool of the possible outcomes of a site, for codes [B, S]
	// int32. It depends only on the columns of codes before the site. If the outcomes before the
	// site are allowed, at least one outcome of the site must be possible.
	Allowed(codes *graph.Node, site int) *graph.Node
}

// MaxActive allows codes in which at most Limit sites have outcome 1. All sites have two outcomes.
type MaxActive struct{ Limit int }

// Allowed implements [Constraint].
func (c MaxActive) Allowed(codes *graph.Node, site int) *graph.Node {
	g := codes.Graph()
	before := make([]int32, codes.Shape().Dim(1)) // 1 for each site before the given one
	for i := range site {
		before[i] = 1
	}
	return zeroAndIf(graph.LessThan(active(graph.Mul(codes, graph.Const(g, [][]int32{before}))), graph.Const(g, int32(c.Limit))))
}

// Parents allows a site to have outcome 1 only if all of its parents have outcome 1. If Any is
// true, one parent with outcome 1 is enough. All sites have two outcomes.
type Parents struct {
	// Of lists the parents of each site. All parents are earlier sites. A site without parents is
	// not restricted.
	Of  [][]int
	Any bool
}

// Allowed implements [Constraint].
func (c Parents) Allowed(codes *graph.Node, site int) *graph.Node {
	columns := apply.To(c.Of[site], func(parent int) int32 { return int32(parent) })
	needed := len(columns)
	if needed == 0 {
		columns = []int32{0} // without parents any column will do, since its value does not matter
	} else if c.Any {
		needed = 1
	}
	return zeroAndIf(graph.GreaterOrEqual(active(space.TakeColumns(codes, columns)), graph.Const(codes.Graph(), int32(needed))))
}

// Both allows an outcome if all constraints in the list allow it. Each constraint must always allow
// outcome 0, as the constraints of this package do, so that no site is without possible outcome.
type Both []Constraint

// Allowed implements [Constraint].
func (c Both) Allowed(codes *graph.Node, site int) *graph.Node {
	allowed := c[0].Allowed(codes, site)
	for _, other := range c[1:] {
		allowed = graph.LogicalAnd(allowed, other.Allowed(codes, site))
	}
	return allowed
}

// active returns the number of outcomes other than 0 in each row: [B, N] -> [B] int32.
func active(codes *graph.Node) *graph.Node {
	return graph.ReduceSum(graph.ConvertDType(graph.NotEqual(codes, graph.ZerosLike(codes)), dtypes.Int32), 1)
}

// zeroAndIf returns a mask that allows outcome 0 always, and outcome 1 if condition [B] is true:
// [B, 2].
func zeroAndIf(condition *graph.Node) *graph.Node {
	column := graph.InsertAxes(condition, -1)
	return graph.Concatenate([]*graph.Node{graph.LogicalOr(column, graph.LogicalNot(column)), column}, 1)
}
