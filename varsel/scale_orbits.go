package varsel

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/regression"
)

// scaleOrbits are what a posterior expects of draws along the curves on which the noise scale and
// the distances of the coefficients from a centre grow together: with u = e^t,
//
//	σ → u σ,   β → c + u (β − c),
//
// for a centre c of each model. With few rows the posterior has a funnel along these curves, in
// which the squares of σ and of distances lie that make most of the standard deviations, where few
// draws are. Given its curve the position of a draw has the density p(σ(t), β(t)) e^(dt) of t, with
// d the number of coefficients (the orbits of a group, on which its invariant measure is dt), and
// one quadrature integrates over it. Moments by expectations over curves need of draws only that
// they show all curves (Rao–Blackwell).
type scaleOrbits struct {
	centre         []int     // number of the draw at the centre, by draw
	mean, variance []float64 // of u, by draw
}

// Moments are integrated along orbits up to mostOrbitRows rows, and mostOrbitWork rows times draws.
// Chosen by hand: of more rows σ has no heavy tail, and the work takes about a second.
const (
	mostOrbitRows = 64
	mostOrbitWork = 1 << 21
)

// orbitsOf integrates along the orbits of independent draws; nil where the response has no unknown
// scale, or the rows determine it well.
func (p *Problem) orbitsOf(s vti.WeightedSample) (*scaleOrbits, error) {
	t := p.Target
	rows := len(t.Responses.Y)
	if s.Group != nil || p.Slots != nil || !t.Kind.HeavyTails() || t.Scale < 0 || rows > mostOrbitRows || rows*len(s.Codes) > mostOrbitWork {
		return nil, nil
	}
	draws, theta := len(s.Codes), s.Theta.RawRowView
	o := &scaleOrbits{make([]int, draws), make([]float64, draws), make([]float64, draws)}
	models := map[string]*orbitCentre{}
	of := make([]*orbitCentre, draws)
	eta := make([]float64, rows)
	for i, code := range s.Codes {
		key := space.Key(code)
		c := models[key]
		if c == nil {
			c = &orbitCentre{active: t.active(code), logJoint: math.Inf(-1)}
			models[key] = c
		}
		of[i] = c
		if l := t.LogJointAt(c.active, theta(i), eta); l > c.logJoint {
			c.logJoint, c.draw = l, i
		}
	}
	const chunk = 64
	return o, parallel.Do((draws+chunk-1)/chunk, func(k int) error {
		w := newOrbitWalk(t)
		for i := k * chunk; i < min((k+1)*chunk, draws); i++ {
			o.centre[i] = of[i].draw
			o.mean[i], o.variance[i] = w.moments(of[i].active, theta(of[i].draw), theta(i))
		}
		return nil
	})
}

// orbitCentre is the most probable draw of a model.
type orbitCentre struct {
	active   regression.Active
	draw     int
	logJoint float64
}

// orbitWalk is room for one orbit.
type orbitWalk struct {
	target           *Target
	from, apart, eta []float64 // linear predictors at the centre, of the distance from it, at a point
	logs, at         []float64
}

func newOrbitWalk(t *Target) *orbitWalk {
	rows := len(t.Responses.Y)
	return &orbitWalk{target: t, from: make([]float64, rows), apart: make([]float64, rows), eta: make([]float64, rows)}
}

// moments are the mean and variance of u = e^t given the orbit of theta about a centre.
func (w *orbitWalk) moments(a regression.Active, centre, theta []float64) (mean, variance float64) {
	copy(w.from, w.target.Offset)
	clear(w.from[len(w.target.Offset):])
	clear(w.apart)
	for k, j := range a.Coordinates {
		floats.AddScaled(w.from, centre[j], a.Columns[k])
		floats.AddScaled(w.apart, theta[j]-centre[j], a.Columns[k])
	}
	// The density of t has a width of about 1/√(2n): the rule is exact to 1e-9 at this step. What
	// is less than e^−drop of the largest term, of a second moment too, is left out.
	step := 0.7 / math.Sqrt(float64(len(w.eta)))
	const drop, farthest = 20, 40
	w.logs, w.at = w.logs[:0], w.at[:0]
	top, topSecond := math.Inf(-1), math.Inf(-1)
	for _, by := range []float64{step, -step} {
		t := 0.0
		if by < 0 {
			t = by
		}
		for ; math.Abs(t) < farthest; t += by {
			l := w.logDensity(a, centre, theta, t)
			w.logs, w.at = append(w.logs, l), append(w.at, t)
			top, topSecond = math.Max(top, l), math.Max(topSecond, l+2*t)
			if l < top-drop && l+2*t < topSecond-drop {
				break
			}
		}
	}
	var mass, first, second float64
	for k, l := range w.logs {
		share, u := math.Exp(l-top), math.Exp(w.at[k])
		mass += share
		first += share * u
		second += share * u * u
	}
	mean = first / mass
	return mean, math.Max(0, second/mass-mean*mean)
}

// logDensity is the log density of t on an orbit, up to a constant.
func (w *orbitWalk) logDensity(a regression.Active, centre, theta []float64, t float64) float64 {
	u := math.Exp(t)
	floats.AddScaledTo(w.eta, w.from, u, w.apart)
	logScale := theta[a.Scale] + t
	z := (logScale - w.target.Mean[a.Scale]) / w.target.SD[a.Scale]
	sum := float64(len(a.Coordinates))*t - z*z/2
	for k, j := range a.Coordinates {
		z := (centre[j] + u*(theta[j]-centre[j]) - a.Mean[k]) / a.SD[k]
		sum -= z * z / 2
	}
	return sum + w.target.Responses.LogKernels(w.eta, math.Exp(logScale))
}
