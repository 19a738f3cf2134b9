package cosmic

import (
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
)

// stage is one invertible map of a flow, bound to a graph and to the models of a batch.
type stage interface {
	// toParams maps x [B, D] one step towards the parameters. It returns the image [B, D] and the
	// contribution of each coordinate or slot to log |det| [B, D]. The contribution of an inactive
	// coordinate is zero; a nil logSlope stands for zeros.
	toParams(x *graph.Node) (y, logSlope *graph.Node)
	toBase(y *graph.Node) (x, logSlope *graph.Node)
}

// stages lists the maps of a flow; the first is applied to z.
type stages []stage

// toParams maps z [B, D] through all stages; logDet is [B].
func (s stages) toParams(z *graph.Node) (theta, logDet *graph.Node) {
	var logSlopes []*graph.Node
	for _, stage := range s {
		var logSlope *graph.Node
		z, logSlope = stage.toParams(z)
		logSlopes = append(logSlopes, logSlope)
	}
	return z, total(logSlopes)
}

func (s stages) toBase(theta *graph.Node) (z, logDet *graph.Node) {
	var logSlopes []*graph.Node
	for _, stage := range slices.Backward(s) {
		var logSlope *graph.Node
		theta, logSlope = stage.toBase(theta)
		logSlopes = append(logSlopes, logSlope)
	}
	return theta, total(logSlopes)
}

// total returns the sum [B] of terms over coordinates, in the widest of their types. Terms are [B,
// D] each; nil terms count as zero, and at least one is not nil.
func total(terms []*graph.Node) (sum *graph.Node) {
	for _, term := range terms {
		switch {
		case sum == nil:
			sum = term
		case term != nil:
			if term.DType() != sum.DType() {
				term, sum = graph.ConvertDType(term, dtypes.Float64), graph.ConvertDType(sum, dtypes.Float64)
			}
			sum = graph.Add(sum, term)
		}
	}
	return graph.ReduceSum(sum, 1)
}

// converted is a stage that converts x to another dtype.
type converted struct{ from, to dtypes.DType }

func (c converted) toParams(x *graph.Node) (y, logSlope *graph.Node) {
	return graph.ConvertDType(x, c.to), nil
}

func (c converted) toBase(y *graph.Node) (x, logSlope *graph.Node) {
	return graph.ConvertDType(y, c.from), nil
}

// selected applies a stage where mask [B, D] is true and the identity elsewhere (eq. 8 of the VTI
// paper).
type selected struct {
	mask *graph.Node
	stage
}

func (s selected) toParams(x *graph.Node) (y, logSlope *graph.Node) {
	y, logSlope = s.stage.toParams(x)
	return graph.Where(s.mask, y, x), active(s.mask, logSlope)
}

func (s selected) toBase(y *graph.Node) (x, logSlope *graph.Node) {
	x, logSlope = s.stage.toBase(y)
	return graph.Where(s.mask, x, y), active(s.mask, logSlope)
}

// active returns x with zeros where mask is false. A product would turn an infinity into NaN.
func active(mask, x *graph.Node) *graph.Node { return graph.Where(mask, x, graph.ZerosLike(x)) }

// elementwise is a stage that maps each coordinate by a monotone function τ_ρ with the parameters
// rho.
type elementwise struct {
	tau univariate
	rho []*graph.Node
}

func (e elementwise) toParams(z *graph.Node) (theta, logSlope *graph.Node) {
	return e.tau.toParams(e.rho, z)
}

func (e elementwise) toBase(theta *graph.Node) (z, logSlope *graph.Node) {
	return e.tau.toBase(e.rho, theta)
}

// shiftAndScale is the stage shift + exp(logScale)·x of each coordinate. Both fields are [B, D].
type shiftAndScale struct{ shift, logScale *graph.Node }

func (s shiftAndScale) toParams(x *graph.Node) (y, logSlope *graph.Node) {
	return graph.Add(s.shift, graph.Mul(graph.Exp(s.logScale), x)), s.logScale
}

func (s shiftAndScale) toBase(y *graph.Node) (x, logSlope *graph.Node) {
	return graph.Mul(graph.Sub(y, s.shift), graph.Exp(graph.Neg(s.logScale))), s.logScale
}
