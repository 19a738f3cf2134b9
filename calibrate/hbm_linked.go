package calibrate

import (
	"cmp"
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/logsum"
)

// The rules of exactLinked. Effects of a group are summed over steps of a share of the width at
// their mode, until the density is effectDepth below that of the mode.
const (
	effectStep   = 0.5
	effectDepth  = 30.0
	effectSteps  = 1e4
	linkedSide   = 28 // points of intercept and slope each
	linkedStep   = 0.5
	linkedDepth  = 20.0 // nats below the largest density that are negligible
	linkedLost   = 1e3  // nats below it from which smaller sds of groups do not come back
	linkedError  = 1e-4
	linkedBelow  = -12.0 // of the log sd of groups; below it lies less than 1e−5 of its prior
	linkedAbove  = 3.0   // beyond it lies nothing of a half-normal prior
	newtonLimit  = 200
	newtonEnough = 1e-10
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
				z := beta[a] / sd
				sum -= z*z/2 + math.Log(sd) + halfLog2Pi
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
		if moments, err = integrateBox(logDensity, mode, axes, linkedSide, 10*linkedError); err == nil {
			moments.logEvidence += logRatio(model.SDPrior, math.Exp(at)) + at
		}
		return moments, err
	}
	terms, spreads, list, err := overSpread(given)
	if err != nil {
		return nil, err
	}
	for k := range spreads {
		spreads[k] *= unit
	}
	out := &exactHbm{logEvidence: floats.LogSumExp(terms)}
	average(terms, func(k int, add func(to *[2]float64, mean, variance float64)) {
		add(&out.slope, list[k].mean[1], list[k].variance[1])
		add(&out.spread, spreads[k], 0)
	})
	out.slope[0], out.slope[1] = out.slope[0]/xSD, math.Sqrt(out.slope[1])/xSD
	out.spread[1] = math.Sqrt(out.spread[1])
	return out, nil
}

// overSpread finds where the density of the log sd of groups is not negligible, and halves the step
// of a trapezoidal rule there until that changes nothing. It returns log weights, sds in units of
// the scale of their prior, and what is known given each.
func overSpread(given func(at float64) (modelMoments, error)) (terms, spreads []float64, list []modelMoments, err error) {
	known := map[float64]modelMoments{}
	look := func(at float64) (modelMoments, error) {
		m, done := known[at]
		if done {
			return m, nil
		}
		m, err := given(at)
		known[at] = m
		return m, err
	}
	top := math.Inf(-1)
	for at := linkedAbove; at >= linkedBelow; at -= linkedStep {
		m, err := look(at)
		if err != nil {
			return nil, nil, nil, err
		}
		if top = math.Max(top, m.logEvidence); m.logEvidence < top-linkedLost {
			break
		}
	}
	if known[linkedAbove].logEvidence == top {
		return nil, nil, nil, errors.New("the sd of groups lies far beyond its prior")
	}
	low, high := math.Inf(1), math.Inf(-1)
	for at, m := range known {
		if m.logEvidence > top-linkedDepth {
			low, high = math.Min(low, at-linkedStep), math.Max(high, at+linkedStep)
		}
	}
	before := math.Inf(-1)
	for step := linkedStep; step > linkedStep/100; step /= 2 {
		terms, spreads, list = nil, nil, nil
		for at := high; at >= low; at -= step {
			m, err := look(at)
			if err != nil {
				return nil, nil, nil, err
			}
			terms, spreads, list = append(terms, m.logEvidence+math.Log(step)), append(spreads, math.Exp(at)), append(list, m)
		}
		total := floats.LogSumExp(terms)
		if math.Abs(total-before) < linkedError {
			return terms, spreads, list, nil
		}
		before = total
	}
	return nil, nil, nil, errors.New("too narrow a posterior of the sd of groups")
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
	var factor mat.Cholesky
	if !factor.Factorize(hessian) {
		return nil, errors.New("the curvature at the mode is not positive definite")
	}
	var upper mat.TriDense
	factor.UTo(&upper)
	axes := mat.NewDense(k, k, nil)
	for a := range k {
		axes.Set(a, a, 1)
	}
	return axes, axes.Solve(&upper, axes)
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
	z := 0.0
	value, slope, curvature := density(z)
	for range newtonLimit {
		step := slope / curvature
		if math.Abs(step*slope) < newtonEnough {
			break
		}
		for ; ; step /= 2 {
			v, s, c := density(z + step)
			if v >= value {
				z, value, slope, curvature = z+step, v, s, c
				break
			}
			if math.Abs(step) < 1e-14*(1+math.Abs(z)) {
				break
			}
		}
		if math.Abs(step) < 1e-14*(1+math.Abs(z)) {
			break
		}
	}
	width := effectStep / math.Sqrt(curvature)
	sum := value
	for _, side := range []float64{-1, 1} {
		for k := 1.0; ; k++ {
			if k > effectSteps {
				return math.NaN()
			}
			v, _, _ := density(z + side*k*width)
			if v < value-effectDepth {
				break
			}
			sum = logsum.Add(sum, v)
		}
	}
	return sum + math.Log(width)
}
