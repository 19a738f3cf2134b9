package varsel

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/space"
)

// modelAnchors holds a separate approximation of every model of a [Target]; amortized networks
// start from them. The approximation of the largest model, restricted to the coordinates of another
// model, is hopeless where the largest explains a few rows almost without noise, or counts of
// millions. [SlotTarget] has its approximations by other means.
type modelAnchors struct {
	cards             []int
	dim               int
	precision, linear []float64 // [K·D·D] and [K·D], by the index of the code
	logEvidence       []float64 // approximate log p(y | m) where no scale is inferred [K]
}

// Bounds of the work on anchors. Chosen by hand, not tuned: a second or two on two cores.
const (
	anchoredModels = 1 << 12
	anchorNumbers  = 1 << 22 // in the precisions of all models
	anchorWork     = 4e8     // models times rows times squared coordinates
)

// anchorable reports whether an approximation of each of count models is affordable.
func anchorable(count, rows, dim int, outliers bool) bool {
	work := float64(count) * float64(rows*dim*dim)
	if outliers {
		work *= 10 // more rounds, each with exponentials of every row
	}
	return count <= anchoredModels && count*dim*dim <= anchorNumbers && work <= anchorWork && dim <= cosmic.MaxCoupledDim
}

// newModelAnchors finds the approximations of all models, on all cores; nil if there are too many.
func newModelAnchors(t *Target) *modelAnchors {
	cards, dim := t.space.Cards(), t.space.Dim()
	rows, _ := t.X.Dims()
	count, ok := space.Count(t.space)
	if !ok || !anchorable(count, rows, dim, t.Outliers != nil) {
		return nil
	}
	a := &modelAnchors{cards, dim, make([]float64, count*dim*dim), make([]float64, count*dim), make([]float64, count)}
	codes := make([][]int32, 0, count)
	for _, code := range space.All(cards) {
		codes = append(codes, append([]int32(nil), code...))
	}
	parallel.Run(count, func(i int) {
		own := t.approximate(t.active(codes[i]))
		own.store(a.precision[i*dim*dim:(i+1)*dim*dim], a.linear[i*dim:(i+1)*dim])
		a.logEvidence[i] = own.logEvidence
	})
	return a
}

// Quadratic looks up the approximations of models.
func (a *modelAnchors) Quadratic(codes, _ *Node, dtype dtypes.DType) (precision, linear *Node) {
	index := InsertAxes(space.Index(a.cards, codes), -1)
	count := len(a.linear) / a.dim
	of := func(values []float64, width int) *Node {
		return Gather(ConvertDType(Reshape(Const(codes.Graph(), values), count, width), dtype), index)
	}
	return Reshape(of(a.precision, a.dim*a.dim), -1, a.dim, a.dim), of(a.linear, a.dim)
}
