package space

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/graph"
)

// Table is a list of K models. A code has one entry, the number k of the model, which uses the
// coordinates that row k of masks marks.
type Table struct {
	cards []int
	masks [][]bool
}

var _ RowMasker = (*Table)(nil)

// NewTable returns the space whose model k uses the coordinates d for which masks[k][d] is true.
// The rows must have the same length, and each coordinate must be used by some model. Two models
// may use the same coordinates. The rows are copied.
func NewTable(masks [][]bool) (*Table, error) {
	if len(masks) == 0 || len(masks[0]) == 0 {
		return nil, fmt.Errorf("space.NewTable: want at least one model and one coordinate")
	}
	used := make([]bool, len(masks[0]))
	rows := make([][]bool, len(masks))
	for k, row := range masks {
		if len(row) != len(used) {
			return nil, fmt.Errorf("space.NewTable: model %d has %d coordinates, model 0 has %d", k, len(row), len(used))
		}
		for d, on := range row {
			used[d] = used[d] || on
		}
		rows[k] = slices.Clone(row)
	}
	if unused := slices.Index(used, false); unused >= 0 {
		return nil, fmt.Errorf("space.NewTable: coordinate %d is used by no model", unused)
	}
	return &Table{cards: []int{len(rows)}, masks: rows}, nil
}

// Cards returns the number of models, the number of values of the only entry of a code.
func (t *Table) Cards() []int { return t.cards }

// Dim returns the number of coordinates.
func (t *Table) Dim() int { return len(t.masks[0]) }

// Mask returns which coordinates each model uses: codes [B, 1] int32 -> [B, D] Bool.
func (t *Table) Mask(codes *graph.Node) *graph.Node {
	AssertCodes("space.Table.Mask", codes, 1)
	return graph.Gather(graph.Const(codes.Graph(), t.masks), codes)
}

// MaskRow returns, without a computation graph, which coordinates one model uses.
func (t *Table) MaskRow(code []int32, dst []bool) []bool {
	dst = maskBuffer("space.Table.MaskRow", t, code, dst)
	copy(dst, t.masks[code[0]])
	return dst
}
