package regression

import (
	gocontext "context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/likelihood"
)

// Prepare sets the unit of each standard deviation, in which its coordinate is measured, from an
// approximation of the posterior. It leaves the units as they are if there are more coordinates
// than a flow can couple (cosmic.MaxCoupledDim), or more than quickModels models. It must be called
// before [Regression.Target]; a second call does nothing.
func (r *Regression) Prepare(ctx gocontext.Context, device *gpu.Device) error {
	if r.prepared || r.Dim() > cosmic.MaxCoupledDim || len(r.space.masks) > quickModels {
		return nil
	}
	r.prepared = true
	return r.fitUnits(ctx, device)
}

// quickModels is the largest number of models of a selection for which Prepare sets the units of
// standard deviations.
const quickModels = 1024

// unitShare is the unit of a standard deviation divided by the width of its posterior. It is small,
// so that importance weights are bounded where the posterior ends at zero. unitRounds is the number
// of searches for widths, each in the units that the previous search found. narrowestUnit is the
// smallest unit, relative to the scale of the prior of the standard deviation.
const (
	unitShare     = 1.0 / 3
	unitRounds    = 3
	narrowestUnit = 1e-3
)

// fitUnits sets the unit of each standard deviation from the width of its posterior in the model
// with all terms. If no mode of this posterior is found, the units stay as they are.
func (r *Regression) fitUnits(ctx gocontext.Context, device *gpu.Device) error {
	full := apply.To(r.space.cards, func(card int) int32 { return int32(card - 1) })
	for range unitRounds {
		found, err := vti.Laplace(ctx, device, Target{r}, [][]int32{full}, r.start())
		if err != nil || found[0].Precision == nil {
			return err // without a mode the units stay as they are
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

// start returns the coordinates at which the search for modes begins. All are zero (the noise then
// has the standard deviation of the response), except an intercept on the log or logit scale, which
// begins at the mean of the response on this scale.
func (r *Regression) start() []float64 {
	start := make([]float64, r.Dim())
	for j, c := range r.Frame.Columns {
		if c.Name == formula.InterceptName {
			n := float64(len(r.y))
			mean := floats.Norm(r.y, 1) / n
			switch r.Frame.Response.Link() {
			case likelihood.LogLink:
				start[j] = math.Log(mean)
			case likelihood.LogitLink:
				start[j] = math.Log(mean / (1 - mean))
			}
			start[j] -= floats.Sum(r.offset) / n
		}
	}
	return start
}
