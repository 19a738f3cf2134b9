package regression

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/space"
)

// ScaleOrbits holds, for each draw, moments along a curve through it, on which the noise scale and
// the distances of the coefficients from a centre grow together. With u = e^t, a point on the curve
// of a draw is
//
//	σ → u σ,   β → c + u (β − c),
//
// for a centre c of each model. With few rows the posterior has a funnel along these curves. Few
// draws reach its wide end, where σ and distances are so large that they make up most of the
// standard deviations. Given the curve of a draw, its position t has the density p(σ(t), β(t))
// e^(dt), with d the number of coefficients (the curves are orbits of a group with the invariant
// measure dt), and one quadrature integrates over it. For moments of these expectations the draws
// need to represent the curves only, not the positions on them (Rao–Blackwell).
type ScaleOrbits struct {
	Centre         []int     // for each draw, the number of the draw that is its centre c
	Mean, Variance []float64 // mean and variance of u on the curve of each draw
}

// Moments are integrated along orbits if there are at most mostOrbitRows rows, and if rows times
// draws are at most mostOrbitWork, which takes about a second. With more rows σ has no heavy tail.
const (
	mostOrbitRows = 64
	mostOrbitWork = 1 << 21
)

// ScaleOrbits integrates along the curves (orbits) through draws of θ [N, D] in models of the given
// codes. It returns nil unless the likelihood has heavy tails and an unknown scale, and rows and
// draws are few. The centre of a model is its most probable draw.
func (t *Regression) ScaleOrbits(ctx context.Context, codes [][]int32, active func(code []int32) Active, theta *mat.Dense) (*ScaleOrbits, error) {
	draws, rows := len(codes), len(t.Responses.Y)
	if !t.Kind.HeavyTails() || t.Scale < 0 || rows > mostOrbitRows || rows*draws > mostOrbitWork {
		return nil, nil
	}
	type model struct {
		Active
		centre   int
		logJoint float64
	}
	models, ofDraw := map[string]*model{}, make([]*model, draws)
	eta := make([]float64, rows)
	for i, code := range codes {
		key := space.Key(code)
		m := models[key]
		if m == nil {
			m = &model{Active: active(code), logJoint: math.Inf(-1)}
			models[key] = m
		}
		ofDraw[i] = m
		if l := t.LogJointAt(m.Active, theta.RawRowView(i), eta); l > m.logJoint {
			m.logJoint, m.centre = l, i
		}
	}
	o := &ScaleOrbits{make([]int, draws), make([]float64, draws), make([]float64, draws)}
	return o, parallel.Each(ctx, draws, func(int) func(i int) error {
		w := orbitWalk{target: t, atCentre: make([]float64, rows), apart: make([]float64, rows), eta: make([]float64, rows)}
		return func(i int) error {
			o.Centre[i] = ofDraw[i].centre
			o.Mean[i], o.Variance[i] = w.moments(ofDraw[i].Active, theta.RawRowView(ofDraw[i].centre), theta.RawRowView(i))
			return nil
		}
	})
}

// orbitWalk is scratch memory for one orbit.
type orbitWalk struct {
	target               *Regression
	atCentre, apart, eta []float64 // linear predictors: at the centre, of θ minus the centre, and at a point of the orbit
	logs, logScales      []float64
}

// moments returns the mean and the variance of u = e^t on the orbit of theta about a centre.
func (w *orbitWalk) moments(a Active, centre, theta []float64) (mean, variance float64) {
	clear(w.atCentre)
	clear(w.apart)
	copy(w.atCentre, w.target.Offset)
	for k, j := range a.Coordinates {
		floats.AddScaled(w.atCentre, centre[j], a.Columns[k])
		floats.AddScaled(w.apart, theta[j]-centre[j], a.Columns[k])
	}
	// The density of t has a standard deviation of about 1/√(2n), and this step of the trapezoidal
	// rule is exact to 1e-9. Terms below e^−drop times the largest term, of the sums for the
	// density and for the second moment, are left out.
	step := 0.7 / math.Sqrt(float64(len(w.eta)))
	const drop, farthest = 20, 40
	w.logs, w.logScales = w.logs[:0], w.logScales[:0]
	top, topSecond := math.Inf(-1), math.Inf(-1)
	for _, by := range []float64{step, -step} {
		t := 0.0
		if by < 0 {
			t = by
		}
		for ; math.Abs(t) < farthest; t += by {
			l := w.logDensity(a, centre, theta, t)
			w.logs, w.logScales = append(w.logs, l), append(w.logScales, t)
			top, topSecond = math.Max(top, l), math.Max(topSecond, l+2*t)
			if l < top-drop && l+2*t < topSecond-drop {
				break
			}
		}
	}
	var mass, first, second float64
	for k, l := range w.logs {
		share, u := math.Exp(l-top), math.Exp(w.logScales[k])
		mass += share
		first += share * u
		second += share * u * u
	}
	mean = first / mass
	return mean, math.Max(0, second/mass-mean*mean)
}

// logDensity returns the log density of t on an orbit, up to a constant.
func (w *orbitWalk) logDensity(a Active, centre, theta []float64, t float64) float64 {
	u := math.Exp(t)
	floats.AddScaledTo(w.eta, w.atCentre, u, w.apart)
	logScale := theta[a.Scale] + t
	z := (logScale - w.target.Mean[a.Scale]) / w.target.SD[a.Scale]
	sum := float64(len(a.Coordinates))*t - z*z/2
	for k, j := range a.Coordinates {
		z := (centre[j] + u*(theta[j]-centre[j]) - a.Mean[k]) / a.SD[k]
		sum -= z * z / 2
	}
	return sum + w.target.Responses.LogKernels(w.eta, math.Exp(logScale))
}
