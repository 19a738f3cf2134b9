package modeldist

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/space"
)

// Constraint restricts the outcomes of a site given the outcomes of the sites before it.
type Constraint interface {
	// Allowed returns, for codes [B, S] int32, a mask [B, K] Bool of the possible outcomes of a
	// site. It depends on the columns of codes before the site only. If the outcomes before the
	// site are allowed, at least one outcome of the site must be possible.
	Allowed(codes *graph.Node, site int) *graph.Node
}

// MaxActive allows at most Limit sites with an outcome other than 0. All sites have two outcomes.
type MaxActive struct{ Limit int }

// Allowed implements [Constraint].
func (c MaxActive) Allowed(codes *graph.Node, site int) *graph.Node {
	g := codes.Graph()
	before := make([]int32, codes.Shape().Dim(1)) // 1 for the sites that count
	for i := range site {
		before[i] = 1
	}
	return zeroAndIf(graph.LessThan(active(graph.Mul(codes, graph.Const(g, [][]int32{before}))), graph.Const(g, int32(c.Limit))))
}

// Parents allows a site to have an outcome other than 0 only if its parents have: all of them, or
// with Any at least one. All sites have two outcomes.
type Parents struct {
	// Of lists the parents of each site, all of them earlier sites; none: the site is free.
	Of  [][]int
	Any bool
}

// Allowed implements [Constraint].
func (c Parents) Allowed(codes *graph.Node, site int) *graph.Node {
	columns := make([]int32, len(c.Of[site]))
	for i, parent := range c.Of[site] {
		columns[i] = int32(parent)
	}
	needed := len(columns)
	if needed == 0 {
		columns = []int32{0} // any column will do: zero parents are needed
	} else if c.Any {
		needed = 1
	}
	return zeroAndIf(graph.GreaterOrEqual(active(space.TakeColumns(codes, columns)), graph.Const(codes.Graph(), int32(needed))))
}

// Both allows the outcomes that all of several constraints allow. Each constraint must always allow
// outcome 0, as the constraints of this package do; otherwise no outcome may be left.
type Both []Constraint

// Allowed implements [Constraint].
func (c Both) Allowed(codes *graph.Node, site int) *graph.Node {
	allowed := c[0].Allowed(codes, site)
	for _, other := range c[1:] {
		allowed = graph.LogicalAnd(allowed, other.Allowed(codes, site))
	}
	return allowed
}

// active counts the outcomes other than 0 in each row: [B, N] -> [B] int32.
func active(codes *graph.Node) *graph.Node {
	return graph.ReduceSum(graph.ConvertDType(graph.NotEqual(codes, graph.ZerosLike(codes)), dtypes.Int32), 1)
}

// zeroAndIf allows outcome 0, and outcome 1 where condition [B] holds: [B, 2].
func zeroAndIf(condition *graph.Node) *graph.Node {
	column := graph.InsertAxes(condition, -1)
	return graph.Concatenate([]*graph.Node{graph.LogicalOr(column, graph.LogicalNot(column)), column}, 1)
}
