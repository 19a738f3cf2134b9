package cosmic

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// Embedding replaces the first Columns features, which are indices, by rows of one learned table
// [Rows, Width]. All indices of Rows−1 or more share the last row. The zero value replaces nothing.
type Embedding struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
	Width   int `json:"width"`
}

// maxExact is 2^24: Float32 represents every integer up to it.
const maxExact = 1 << 24

func (e Embedding) validate(features int) error {
	switch {
	case e == Embedding{}:
		return nil
	case e.Columns < 1 || e.Columns > features:
		return fmt.Errorf("cosmic: Embedding.Columns must be from 1 to Features = %d, got %d", features, e.Columns)
	case e.Rows < 1 || e.Rows > maxExact:
		return fmt.Errorf("cosmic: Embedding.Rows must be in [1, %d], got %d", maxExact, e.Rows)
	case e.Width < 1:
		return fmt.Errorf("cosmic: Embedding.Width must be positive, got %d", e.Width)
	}
	return nil
}

func (e Embedding) context(features int) int { return features + e.Columns*(e.Width-1) }

// embed returns feats [B, C] with its indices replaced by the rows of the table at these indices.
func (f *Flow) embed(ctx *context.Context, feats *graph.Node) *graph.Node {
	e := f.cfg.Embedding
	if e.Columns == 0 {
		return feats
	}
	batch := feats.Shape().Dim(0)
	table := made.Variable(ctx, feats.Graph(), f.cfg.Seed, "table", feats.DType(), made.Uniform(1), e.Rows, e.Width)
	numbers := graph.ConvertDType(graph.MinScalar(graph.SliceAxis(feats, 1, graph.AxisRange(0, e.Columns)), float64(e.Rows-1)), dtypes.Int32)
	rows := graph.Reshape(graph.Gather(table, graph.Reshape(numbers, -1, 1)), batch, e.Columns*e.Width)
	if e.Columns == f.cfg.Features {
		return rows
	}
	return graph.Concatenate([]*graph.Node{rows, graph.SliceAxis(feats, 1, graph.AxisRange(e.Columns))}, 1)
}
