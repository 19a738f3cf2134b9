package calibrate

import (
	"cmp"
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/mode"
)

// The rules of exactLinked.
const (
	effectStep  = 0.5  // the first distance of nodes of an effect, in widths at its mode
	effectDepth = 30.0 // nats below the largest density that are negligible, of effects
	linkedDepth = 20.0 // as effectDepth, of the sd of groups
	linkedLost  = 1e3  // nats below it from which smaller sds of groups do not come back
	linkedError = 1e-4
	linkedBelow = -12.0 // of the log sd of groups; below it lies less than 1e−5 of its prior
	linkedAbove = 3.0   // beyond it lies nothing of a half-normal prior
)

// exactLinked integrates regressions whose response has no noise scale: given intercept, slope and
// the sd of groups the effect of each group is a question of its own, of one dimension. An error is
// that of ctx, or says why these rules do not serve.
func (t *hbmTable) exactLinked(ctx context.Context, model regression.Options, row rowDensity) (*exactHbm, error) {
	if model.SDPrior == regression.HalfCauchySD {
		return nil, errors.New("the posterior of the sd of groups may have no moments")
	}
	xMean, xSD := stat.MeanStdDev(t.x, nil)
	rows := make([][]int, len(t.levels))
	x := make([]float64, len(t.x))
	for i, g := range t.group {
		rows[g] = append(rows[g], i)
		x[i] = (t.x[i] - xMean) / xSD
	}
	priorSD := []float64{cmp.Or(model.InterceptScale, interceptSD), cmp.Or(model.CoefficientScale, 1.5)}
	unit := cmp.Or(model.SDScale, 1)
	mode := make([]float64, 2)
	given := func(at float64) (moments modelMoments, err error) {
		if ctx.Err() != nil {
			return moments, ctx.Err()
		}
		spread := unit * math.Exp(at)
		logDensity := func(beta []float64) (sum float64) {
			for a, sd := range priorSD {
				sum += logNormal(beta[a], 0, sd)
			}
			for _, of := range rows {
				sum += logEffects(row, t.y, x, of, beta, spread)
			}
			return sum
		}
		axes, err := climbTo(logDensity, mode)
		if err != nil {
			return moments, err
		}
		if moments, err = integrateAlong(logDensity, mode, axes, 10*linkedError); err == nil {
			moments.logEvidence += logRatio(model.SDPrior, math.Exp(at)) + at
		}
		return moments, err
	}
	found, err := overSpread(given)
	if err != nil {
		return nil, err
	}
	return &exactHbm{
		logEvidence: found.logEvidence,
		slope:       [2]float64{found.mean[1] / xSD, math.Sqrt(found.variance[1]) / xSD},
		spread:      [2]float64{found.mean[2] * unit, math.Sqrt(found.variance[2]) * unit},
	}, nil
}

// overSpread integrates over the log sd of groups, from large ones down: of smaller ones than are
// lost nothing is asked. Last come the moments of the sd in units of the scale of its prior.
func overSpread(given func(at float64) (modelMoments, error)) (modelMoments, error) {
	top, lost := math.Inf(-1), math.Inf(-1)
	nothing := modelMoments{math.Inf(-1), make([]float64, 2), make([]float64, 2)}
	o := line.Options{From: -linkedAbove, To: -linkedBelow, Step: 0.5, Low: -linkedAbove, High: -linkedBelow, Depth: linkedDepth, Tolerance: linkedError}
	beyond := false // the first is the largest
	return over(o, func(minus float64) (modelMoments, error) {
		if -minus < lost {
			return nothing, nil
		}
		m, err := given(-minus)
		if top = math.Max(top, m.logEvidence); m.logEvidence < top-linkedLost {
			lost = math.Max(lost, -minus)
		}
		beyond = beyond && m.logEvidence < top || minus == o.From
		if beyond && (-minus == lost || minus >= o.To) {
			return m, errors.New("the sd of groups lies far beyond its prior")
		}
		return m, err
	}, func(minus float64) float64 { return math.Exp(-minus) })
}

// climbTo moves a point to the mode of a concave log density, and returns the axes of its curvature
// there as columns.
func climbTo(logDensity func([]float64) float64, mode []float64) (*mat.Dense, error) {
	minus := func(x []float64) float64 { return -logDensity(x) }
	found, err := optimize.Minimize(optimize.Problem{Func: minus}, mode, &optimize.Settings{FuncEvaluations: 2000}, &optimize.NelderMead{})
	if found == nil {
		return nil, err
	}
	if math.IsNaN(found.F) {
		return nil, errors.New("the log density is not a number")
	}
	copy(mode, found.X)
	k := len(mode)
	hessian := mat.NewSymDense(k, nil)
	fd.Hessian(hessian, minus, mode, &fd.Settings{Step: 1e-3})
	factor, ok := dense.Factorize(mat.DenseCopyOf(hessian).RawMatrix().Data, k, 0)
	if !ok {
		return nil, errors.New("the curvature at the mode is not positive definite")
	}
	return axesOf(factor), nil
}

// axesOf are columns in units of the widths of a density of this curvature: L⁻ᵀ.
func axesOf(curvature dense.Factor) *mat.Dense {
	k := curvature.Order()
	axes, column := mat.NewDense(k, k, nil), make([]float64, k)
	for a := range k {
		clear(column)
		column[a] = 1
		curvature.SolveUpper(column)
		axes.SetCol(a, column)
	}
	return axes
}

// logEffects is the log integral over the effect of a group, z in units of the sd of groups, of the
// densities of its rows; not a number where rounding hides the mode.
func logEffects(row rowDensity, y, x []float64, rows []int, beta []float64, spread float64) float64 {
	density := func(z float64) (value, slope, curvature float64) {
		value, slope, curvature = -z*z/2-halfLog2Pi, -z, 1
		for _, i := range rows {
			v, s, c := row(y[i], beta[0]+beta[1]*x[i]+spread*z)
			value, slope, curvature = value+v, slope+spread*s, curvature+spread*spread*c
		}
		return value, slope, curvature
	}
	value := func(z float64) float64 { v, _, _ := density(z); return v }
	z := []float64{0}
	// Far from the posterior rounding hides the mode: what is integrated starts near it.
	_, curvature := mode.Find(z, mode.Density{
		Value:  func(z []float64) float64 { return value(z[0]) },
		Expand: func(z, slope, curvature []float64) { _, slope[0], curvature[0] = density(z[0]) },
	}, mode.Options{})
	integral, err := line.Of(line.Options{From: z[0], To: z[0], Step: effectStep / curvature.At(0, 0), Depth: effectDepth, Tolerance: 1e-7}, value)
	if err != nil {
		return math.NaN()
	}
	return integral.Log
}
