package score

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
)

// Joint is the joint distribution of columns with the parameters integrated out. With L(S) the log
// evidence of a set S of columns, up to a constant, log p(x_j | x_pa) = L(pa ∪ j) − L(pa) for a
// node j with the parents pa. One value L(S) serves for every node j in S. Joint is exact for the
// BDeu and BGe scores. Linear mechanisms with independent weights, splines and mixed tables have no
// such distribution. To guide a search, the BGe score of standardised columns, with contrasts for
// the levels of categories, is used for them.
type Joint interface {
	// Stack returns a stack that holds the columns of the nodes in base, and the log evidence L of
	// these columns. items lists the nodes whose columns may be pushed. The methods of the stack
	// identify a node by its index in items, its place.
	Stack(base dgraph.Set, items []int) (stack JointStack, evidence float64)
}

// JointStack is a set of columns to which Push adds the columns of a node and from which Pop
// removes the last ones. A place is an index of the items given to [Joint.Stack]. Each pushed place
// must be lower than the place pushed before it.
type JointStack interface {
	Push(place int)
	Pop()
	// Evidences sets out[k] to the log evidence L of the columns in the stack together with the
	// columns of place k, for each k below len(out), which must be lower than all pushed places.
	Evidences(out []float64)
}

// NewJoint returns the joint distribution of columns in the rows without an intervention on node.
func (p *Problem) NewJoint(node int) Joint {
	switch p.Model.Mechanism {
	case sem.Categorical:
		return jointCounts{NewBDeuForm(p.Data, node, p.Model.ImaginarySampleSize)}
	case sem.BGe:
		return &jointNormal{bgeFormOf(p.Data.RowsFor(node), node), nil}
	case sem.Mixed:
		columns := newMixedColumns(p)
		return &jointNormal{bgeFormOf(standardized(columns.rowsFor(node)), 0), columns.Of}
	}
	return &jointNormal{bgeFormOf(standardized(p.Data.RowsFor(node)), node), nil}
}

// standardized returns a copy of rows whose columns have mean 0 and standard deviation 1. Constant
// columns become 0.
func standardized(rows [][]float64) [][]float64 {
	x := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		x.SetRow(i, row)
	}
	out := make([][]float64, len(rows))
	for j := range rows[0] {
		column := mat.Col(nil, j, x)
		mean, sd := stat.PopMeanStdDev(column, nil)
		for i, value := range column {
			if value -= mean; sd > 0 {
				value /= sd
			}
			x.Set(i, j, value)
		}
	}
	for i := range out {
		out[i] = x.RawRowView(i)
	}
	return out
}

// JointCost returns a rough time in nanoseconds for computing the log evidence of the columns of
// the nodes in base together with further columns, whose number is the argument size. The result
// only limits how far a search goes.
func (p *Problem) JointCost(node, size int, base dgraph.Set) float64 {
	if p.Model.Mechanism != sem.Categorical {
		return 25 + 2*float64(size+base.Len())
	}
	rows, levels, combinations := float64(p.Data.RowsOf(node)), 0.0, 1.0
	for j := range p.Data.Levels {
		nodeLevels := float64(len(p.Data.Levels[j]))
		levels += nodeLevels / float64(p.Data.Nodes())
		if base.Has(j) {
			combinations *= nodeLevels
		}
	}
	cells := combinations * math.Pow(levels, float64(size))
	byRow := rows + math.Min(cells, rows*levels)
	if size < 3 {
		return byRow
	}
	words := rows/64 + math.Min(rows, combinations*levels*levels)
	return math.Min(byRow, cells+math.Pow(levels, float64(size-3))*(levels-1)*words)
}
