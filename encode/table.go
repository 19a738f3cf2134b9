package encode

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// Table encodes tables over both axes: each column by attention over its rows, then all columns by
// attention to each other. The encoding of a column moves with it.
type Table struct{ cfg Config }

// NewTable returns the encoder of cfg, whose Pool encodes the rows of a column.
func NewTable(cfg Config) (*Table, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Table{cfg.WithDefaults()}, nil
}

// Encode returns an encoding of each column [T, P, Hidden], zero where absent, and of the whole
// table [T, Hidden]. cells [T, N, P, F] are numbers of each cell, such as its value and the
// response in its row; rows [T, N] Bool and columns [T, P] Bool mark the present ones; about [T, P,
// G], nil for none, are numbers of each column known beforehand.
func (t *Table) Encode(ctx *context.Context, cells, rows, columns, about *Node) (each, whole *Node) {
	check("Table.Encode", "cells", cells, 4)
	check("Table.Encode", "rows", rows, 2)
	check("Table.Encode", "columns", columns, 2)
	c := t.cfg
	tables, n, p, width := cells.Shape().Dim(0), cells.Shape().Dim(1), cells.Shape().Dim(2), cells.Shape().Dim(3)
	ctx = ctx.Checked(false)

	// Columns are sets of cells.
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
