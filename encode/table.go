package encode

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// Table encodes tables along both axes. It first encodes each column as a set of cells, and then
// lets all columns attend to each other. If columns are permuted their encodings are permuted in
// the same way.
type Table struct{ cfg Config }

// NewTable returns the encoder that cfg describes. cfg.Pool encodes the cells of a column.
func NewTable(cfg Config) (*Table, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Table{cfg.WithDefaults()}, nil
}

// Encode returns an encoding of each column [T, P, Hidden], zero for absent columns, and an
// encoding of the whole table [T, Hidden]. cells [T, N, P, F] holds F numbers for each cell, such
// as its value and the response in its row. rows [T, N] Bool and columns [T, P] Bool mark the
// present rows and columns. about [T, P, G] holds G numbers for each column that are known
// beforehand. It is nil if there are none.
func (t *Table) Encode(ctx *context.Context, cells, rows, columns, about *Node) (each, whole *Node) {
	check("Table.Encode", "cells", cells, 4)
	check("Table.Encode", "rows", rows, 2)
	check("Table.Encode", "columns", columns, 2)
	c := t.cfg
	tables, n, p, width := cells.Shape().Dim(0), cells.Shape().Dim(1), cells.Shape().Dim(2), cells.Shape().Dim(3)
	ctx = ctx.Checked(false)

	// Each column is encoded as a set of cells.
	byColumn := Reshape(TransposeAllAxes(cells, 0, 2, 1, 3), tables*p, n, width)
	there := Reshape(BroadcastToDims(InsertAxes(rows, 1), tables, p, n), tables*p, n)
	x := Reshape((&Encoder{c}).Encode(ctx.In("column"), byColumn, there), tables, p, c.Hidden)
	if about != nil {
		check("Table.Encode", "about", about, 3)
		inputs := about.Shape().Dim(2)
		known := made.Linear(ctx.In("about"), c.Seed, about, c.Hidden, made.FanIn(inputs), made.Zeros)
		x = Add(x, known)
	}
	for i := range c.Layers {
		x = c.Attend(ctx.In(fmt.Sprintf("layer%d", i)), x, x, columns)
	}
	each = Where(BroadcastToShape(InsertAxes(columns, -1), x.Shape()), x, ZerosLike(x))
	whole = made.Perceptron(ctx.In("whole"), c.Seed, Concatenate([]*Node{meanOf(each, columns), count(rows, x.DType()), count(columns, x.DType())}, -1), c.Hidden)
	return each, whole
}
