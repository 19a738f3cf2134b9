package regression

import (
	gocontext "context"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// anchors are the normal approximations of the models, by their index.
type anchors struct {
	dim               int
	precision, linear []float64 // [K·D·D], [K·D]
}

// anchorBudget bounds the number of entries of all precisions together, and quickModels the number
// of models whose approximations are found one by one.
const (
	anchorBudget = 1 << 22
	quickModels  = 1024
)

// Prepare finds the mode and the curvature of each model, from which the flow starts. It skips
// models with more coordinates than a flow can couple, and selections of too many models to visit:
// then the engine starts from the largest model. It must come before [Regression.Target]; a second
// call does nothing.
func (r *Regression) Prepare(ctx gocontext.Context, device *gpu.Device) error {
	dim, count := r.Dim(), len(r.space.masks)
	if r.prepared {
		return nil
	}
	r.prepared = true
	if dim > cosmic.MaxCoupledDim || count > quickModels || count*dim*dim > anchorBudget {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.fitUnits(ctx, device); err != nil {
		return err
	}
	found, err := vti.Laplace(ctx, device, Target{r}, r.codes(), r.start())
	if err != nil {
		return err
	}
	a := &anchors{dim, make([]float64, count*dim*dim), make([]float64, count*dim)}
	for index, quadratic := range found {
		precision := a.precision[index*dim*dim : (index+1)*dim*dim]
		if quadratic.Precision == nil { // no mode: the reference, which training has to move
			for j := range dim {
				precision[j*dim+j] = 1
			}
			continue
		}
		copy(precision, quadratic.Precision)
		copy(a.linear[index*dim:], quadratic.Linear)
	}
	r.anchors = a
	return nil
}

// unitShare is the unit of a standard deviation as a share of the width of its posterior. It is so
// small that the posterior ends sharply at zero, and weights are bounded there. unitRounds is the
// number of searches for widths, each in the coordinates of the previous one. narrowestUnit is the
// least unit, relative to the scale of the prior.
const (
	unitShare     = 1.0 / 3
	unitRounds    = 3
	narrowestUnit = 1e-3
)

// fitUnits sets the unit of each standard deviation from the width of its posterior in the full
// model.
func (r *Regression) fitUnits(ctx gocontext.Context, device *gpu.Device) error {
	full := make([]int32, len(r.space.cards))
	for s, card := range r.space.cards {
		full[s] = int32(card - 1)
	}
	for range unitRounds {
		found, err := vti.Laplace(ctx, device, Target{r}, [][]int32{full}, r.start())
		if err != nil || found[0].Precision == nil {
			return err // without a mode the units stay
		}
		var cholesky mat.Cholesky
		if !cholesky.Factorize(mat.NewSymDense(r.Dim(), found[0].Precision)) {
			return nil
		}
		var mode mat.VecDense
		var covariance mat.SymDense
		if cholesky.SolveVecTo(&mode, mat.NewVecDense(r.Dim(), found[0].Linear)) != nil || cholesky.InverseTo(&covariance) != nil {
			return nil
		}
		for j := range r.coordinates {
			if c := &r.coordinates[j]; c.kind == sdCoordinate {
				logRatio, logSlope := scaleRatio(mode.AtVec(j))
				width := c.unit * math.Exp(logRatio+logSlope) * math.Sqrt(covariance.At(j, j))
				c.unit = c.scale * math.Min(math.Max(unitShare*width/c.scale, narrowestUnit), 1)
			}
		}
	}
	return nil
}

// start is where the search for modes begins: noise of the size of the response, and its mean.
func (r *Regression) start() []float64 {
	start := make([]float64, r.Dim())
	for j, c := range r.Frame.Columns {
		if c.Name == formula.InterceptName {
			mean := 0.0
			for _, y := range r.y {
				mean += math.Abs(y) / float64(len(r.y))
			}
			switch r.Frame.Response.Link() {
			case likelihood.LogLink:
				start[j] = math.Log(mean)
			case likelihood.LogitLink:
				start[j] = math.Log(mean / (1 - mean))
			}
			for _, o := range r.offset {
				start[j] -= o / float64(len(r.y))
			}
		}
	}
	return start
}

// quadratic returns the precision [B, D, D] and the linear term [B, D] of the models of codes.
func (a *anchors) quadratic(s *effectSpace, codes *Node, dtype dtypes.DType) (precision, linear *Node) {
	index := InsertAxes(space.Index(s.cards, codes), -1)
	count := len(s.masks)
	of := func(values []float64, width int) *Node {
		return Gather(ConvertDType(Reshape(Const(codes.Graph(), values), count, width), dtype), index)
	}
	return Reshape(of(a.precision, a.dim*a.dim), -1, a.dim, a.dim), of(a.linear, a.dim)
}
