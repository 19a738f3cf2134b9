package hard

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/mode"
	"github.com/transdim/vti/likelihood"
)

// These are the constants of exactLinked. For a normal density, sums over nodes that are 0.9
// standard deviations apart have an error of 1e−10, and the part of the density that is more than
// 12 nats below its maximum is 1e−6. Sums over every second node have an error of 0.005.
const (
	linkedStep  = 0.9   // the first distance between nodes, in units of the width at a mode
	linkedDepth = 12.0  // densities this much, in nats, below the largest one are negligible
	linkedError = 0.02  // accepted difference of log integrals by all and by every second node
	linkedMost  = 500   // largest number of nodes of one integral
	linkedLost  = 1e3   // a log evidence this far below the largest ends the integral over sds
	linkedBelow = -12.0 // smallest log sd of groups; its prior has less than 1e−5 below
	linkedAbove = 3.0   // largest log sd of groups; a half-normal prior has no mass above
	linkedReach = 5.0   // largest effect of a group, in sds of groups, in the function moved
	linkedFlat  = 1e-4  // changes of the log integral over effects below this are negligible
)

// linked is a regression with groups, with columns standardised as in vti hbm. Given the intercept,
// the slope and the sd of groups, the effects of groups are independent, and the integral over each
// has one dimension.
type linked struct {
	y, x     []float64
	rows     [][]int // the rows of each group
	level    rowDensity
	slopeSD  float64
	unit     float64 // the scale of the prior of the sd of groups
	prior    regression.SDPrior
	row      rowDensity
	targets  []float64 // if the response has a unit: the log of the absolute value of each response
	logScale float64
	logs     [][2]float64 // the log scale and log sd of groups at which modes were found
	modes    [][]float64
	// flat, unless nil, holds the moments of intercept and slope for all log sds of groups up to
	// flatAt, which are so small that the effects of groups do not matter.
	flat   *modelMoments
	flatAt float64
}

// exactLinked returns the exact posterior for a response that is not normal. It integrates over the
// effects of groups, intercept and slope, the log sd of groups and, if the likelihood has one more
// parameter, its logarithm. It returns the error of ctx, or an error if the integration rules fail.
func (t *grouped) exactLinked(ctx context.Context, model regression.Options, kind likelihood.Kind) (*exactHbm, error) {
	if model.SDPrior == regression.HalfCauchySD {
		return nil, errors.New("the posterior of the sd of groups may have no moments")
	}
	xMean, xSD := stat.MeanStdDev(t.x, nil)
	l := &linked{y: t.y, rows: make([][]int, t.groups), slopeSD: cmp.Or(model.CoefficientScale, 1.5), unit: cmp.Or(model.SDScale, 1), prior: model.SDPrior}
	for i, g := range t.group {
		l.rows[g] = append(l.rows[g], i)
		l.x = append(l.x, (t.x[i]-xMean)/xSD)
	}
	if kind.HasUnit() {
		for _, y := range t.y {
			l.targets = append(l.targets, math.Log(math.Abs(y)))
		}
	}
	l.level = normalAround(kind.Centre(t.y, nil), cmp.Or(model.InterceptScale, calibrate.InterceptSD))
	found, err := l.integrate(ctx, kind)
	if err != nil {
		return nil, err
	}
	return &exactHbm{
		logEvidence: found.logEvidence,
		slope:       [2]float64{found.mean[1] / xSD, math.Sqrt(found.variance[1]) / xSD},
		spread:      [2]float64{found.mean[2] * l.unit, math.Sqrt(found.variance[2]) * l.unit},
	}, nil
}

func normalAround(mean, sd float64) rowDensity {
	return func(_, x float64) (value, slope, curvature float64) {
		return logNormal(x, mean, sd), (mean - x) / (sd * sd), 1 / (sd * sd)
	}
}

// integrate integrates over all parameters. It returns the evidence and the moments of the
// intercept, the slope and the sd of groups. The sd of groups is in units of the scale of its
// prior.
func (l *linked) integrate(ctx context.Context, kind likelihood.Kind) (modelMoments, error) {
	switch kind {
	case likelihood.LogisticKind:
		l.row = logisticRow
	case likelihood.PoissonKind:
		l.row = poissonRow
	case likelihood.ExponentialKind:
		l.row = weibullRow(1)
	case likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind:
		return l.overScale(ctx, func(gap float64) (rowDensity, float64) {
			l.level = levelOf(kind, gap)
			return gapRow(kind)(gap), math.Log(gap)
		})
	default:
		return l.overScale(ctx, func(scale float64) (rowDensity, float64) {
			return shapedRows(kind)(scale), logNormal(math.Log(scale), 0, logShapeSD(kind))
		})
	}
	return l.overSpread(ctx)
}

// overScale integrates over the logarithm of the parameter that the likelihood has in addition to
// the linear predictor η. For a value of this parameter, the argument rowAt returns the density of
// a row and the log prior density of the parameter's logarithm.
func (l *linked) overScale(ctx context.Context, rowAt func(scale float64) (row rowDensity, logPrior float64)) (modelMoments, error) {
	o := line.Options{Step: 0.7, Depth: linkedDepth, Tolerance: linkedError, Most: linkedMost}
	return over(o, func(log float64) (modelMoments, error) {
		row, logPrior := rowAt(math.Exp(log))
		l.logScale, l.row, l.flat = log, row, nil
		m, err := l.overSpread(ctx)
		m.logEvidence += logPrior
		return m, err
	}, nil)
}

// overSpread integrates over the log sd of groups, from large to small values. After a value with a
// negligible evidence (linkedLost), it leaves out all smaller values. The moments of the sd, in
// units of the scale of its prior, are appended to the moments of intercept and slope.
func (l *linked) overSpread(ctx context.Context) (modelMoments, error) {
	top, lost := math.Inf(-1), math.Inf(-1)
	nothing := modelMoments{math.Inf(-1), make([]float64, 2), make([]float64, 2)}
	o := line.Options{From: -linkedAbove, To: -linkedBelow, Step: 0.5, Low: -linkedAbove, High: -linkedBelow, Depth: linkedDepth, Tolerance: linkedError, Most: linkedMost}
	beyond := false // whether the first, largest sd has the largest evidence so far
	return over(o, func(minus float64) (modelMoments, error) {
		if ctx.Err() != nil {
			return nothing, ctx.Err()
		}
		if -minus < lost {
			return nothing, nil
		}
		m, err := l.integrateEffects(-minus)
		if top = math.Max(top, m.logEvidence); m.logEvidence < top-linkedLost {
			lost = math.Max(lost, -minus)
		}
		beyond = beyond && m.logEvidence < top || minus == o.From
		if beyond && (-minus == lost || minus >= o.To) {
			return m, errors.New("the posterior of the sd of groups reaches beyond the range of the integral")
		}
		return m, err
	}, func(minus float64) float64 { return math.Exp(-minus) })
}

// integrateEffects integrates over intercept and slope given logSD, the log sd of groups in units
// of the scale of its prior.
func (l *linked) integrateEffects(logSD float64) (m modelMoments, err error) {
	spread, logPrior := l.unit*math.Exp(logSD), logRatio(l.prior, math.Exp(logSD))+logSD
	if l.flat != nil && logSD <= l.flatAt {
		m = *l.flat
		m.logEvidence += logPrior
		return m, nil
	}
	value := func(beta []float64) float64 { return l.logDensity(beta, spread, nil, nil) }
	centre, nearest := make([]float64, 2), math.Inf(1)
	for k, known := range l.logs {
		if distance := math.Hypot(known[0]-l.logScale, known[1]-logSD); distance < nearest {
			nearest = distance
			copy(centre, l.modes[k])
		}
	}
	found, curvature := mode.Find(centre, mode.Density{
		Value:  value,
		Expand: func(beta, gradient, curvature []float64) { l.logDensity(beta, spread, gradient, curvature) },
	}, mode.Options{Enough: 1e-4, Steps: 200})
	if !(found.Decrement <= 1) { // near the mode, since rounding errors of integrals can hide the mode
		return m, errors.New("no mode was found given the sd of groups")
	}
	l.logs, l.modes = append(l.logs, [2]float64{l.logScale, logSD}), append(l.modes, slices.Clone(centre))
	o := line.Options{Step: linkedStep, Depth: linkedDepth, Tolerance: linkedError, Most: linkedMost}
	if m, err = integrateAlong(value, centre, axesOf(curvature), o); err == nil && l.moved(centre, spread) < linkedFlat {
		flat := m
		l.flat, l.flatAt = &flat, logSD
	}
	m.logEvidence += logPrior
	return m, err
}

// moved returns about how much the effects of groups change the log density at beta. It
// approximates the log likelihood of a group, up to linkedReach sds from beta, by a parabola, whose
// slope and curvature contribute to the change. The derivatives at beta would not show a change if
// the log likelihood is flat only near beta.
func (l *linked) moved(beta []float64, spread float64) (sum float64) {
	for _, rows := range l.rows {
		var up, down float64
		for _, i := range rows {
			eta := beta[0] + beta[1]*l.x[i]
			here, _, _ := l.row(l.y[i], eta)
			above, _, _ := l.row(l.y[i], eta+linkedReach*spread)
			below, _, _ := l.row(l.y[i], eta-linkedReach*spread)
			up, down = up+above-here, down+below-here
		}
		slope, curvature := (up-down)/(2*linkedReach), (up+down)/(linkedReach*linkedReach)
		sum += slope*slope/2 + math.Abs(curvature)/2
	}
	return sum
}

// axesOf returns L⁻ᵀ for the Cholesky factor L of a curvature. Its columns are directions in which
// a normal density of this curvature has unit variance.
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

// logDensity returns log p(y, β) given spread, the sd of groups. Unless the slice gradient is nil,
// it adds the gradient to this slice, and the lower triangle of an approximation of minus the
// Hessian to the slice curvature.
func (l *linked) logDensity(beta []float64, spread float64, gradient, curvature []float64) float64 {
	sum, slope, bend := l.level(0, beta[0])
	sum += logNormal(beta[1], 0, l.slopeSD)
	if gradient != nil {
		gradient[0] += slope
		gradient[1] -= beta[1] / (l.slopeSD * l.slopeSD)
		curvature[0] += bend
		curvature[3] += 1 / (l.slopeSD * l.slopeSD)
	}
	for _, rows := range l.rows {
		sum += l.logEffects(rows, beta, spread, gradient, curvature)
	}
	return sum
}

// logEffects returns the log of the integral of the densities of the rows of a group over its
// effect. The variable z is the effect in units of the sd of groups. The result is NaN if the
// integration fails, because rounding errors hide the mode.
func (l *linked) logEffects(rows []int, beta []float64, spread float64, gradient, curvature []float64) float64 {
	density := func(z float64) (value, slope, bend float64) {
		value, slope, bend = -z*z/2-halfLog2Pi, -z, 1
		for _, i := range rows {
			v, s, c := l.row(l.y[i], beta[0]+beta[1]*l.x[i]+spread*z)
			value, slope, bend = value+v, slope+spread*s, bend+spread*spread*c
		}
		return value, slope, bend
	}
	value := func(z float64) float64 { v, _, _ := density(z); return v }
	z := []float64{0}
	if l.targets != nil { // the log density falls exponentially below a log response, linearly above
		z[0] = math.Inf(-1)
		for _, i := range rows {
			z[0] = math.Max(z[0], (l.targets[i]-beta[0]-beta[1]*l.x[i])/spread)
		}
	}
	// If beta is far from the posterior, rounding errors hide the mode. A start of the integral
	// near the mode suffices.
	_, width := mode.Find(z, mode.Density{
		Value:  func(z []float64) float64 { return value(z[0]) },
		Expand: func(z, slope, curvature []float64) { _, slope[0], curvature[0] = density(z[0]) },
	}, mode.Options{})
	integral, err := line.Of(line.Options{From: z[0], To: z[0], Step: linkedStep / width.At(0, 0), Depth: linkedDepth, Tolerance: linkedError, Most: linkedMost}, value)
	if err != nil {
		return math.NaN()
	}
	if gradient != nil {
		l.expand(rows, beta, spread, z[0], integral, gradient, curvature)
	}
	return integral.Log
}

// expand adds the gradient of logEffects to gradient and an approximation of minus its Hessian to
// curvature. The gradient is the posterior mean, over the effect of the group, of the slopes of the
// rows. If the rows carry much information on the effect, the Hessian is computed from the
// curvatures of the rows at the mode of the effect, so that no digits cancel. If they carry little
// information, it is the mean of the curvatures minus the variance of the slopes.
func (l *linked) expand(rows []int, beta []float64, spread, mode float64, integral *line.Integral[struct{}], gradient, curvature []float64) {
	slopesAt := func(z float64) (g, gx, w, wx, wxx float64) {
		for _, i := range rows {
			_, slope, bend := l.row(l.y[i], beta[0]+beta[1]*l.x[i]+spread*z)
			g, gx, w, wx, wxx = g+slope, gx+slope*l.x[i], w+bend, wx+bend*l.x[i], wxx+bend*l.x[i]*l.x[i]
		}
		return g, gx, w, wx, wxx
	}
	var mean [2]float64
	_, _, w, wx, wxx := slopesAt(mode)
	little := spread*spread*w < 1
	// If the rows carry much information, their slopes nearly cancel in the sum. The mean of the
	// sum is therefore computed from the effect z: integration by parts gives E[Σ slope] = E[z] /
	// sd.
	middle := wx / w
	for _, node := range integral.Nodes {
		share := math.Exp(node.LogWeight - integral.Log)
		g, gx, w, wx, wxx := slopesAt(node.X)
		if !little {
			gx += middle * (node.X/spread - g)
			g = node.X / spread
		}
		mean[0], mean[1] = mean[0]+share*g, mean[1]+share*gx
		if little {
			curvature[0] += share * (w - g*g)
			curvature[2] += share * (wx - g*gx)
			curvature[3] += share * (wxx - gx*gx)
		}
	}
	gradient[0], gradient[1] = gradient[0]+mean[0], gradient[1]+mean[1]
	if little {
		curvature[0] += mean[0] * mean[0]
		curvature[2] += mean[0] * mean[1]
		curvature[3] += mean[1] * mean[1]
		return
	}
	lost := spread * spread / (1 + spread*spread*w)
	curvature[0] += w - lost*w*w
	curvature[2] += wx - lost*w*wx
	curvature[3] += wxx - lost*wx*wx
}
