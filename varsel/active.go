package varsel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
)

// active is a model by its coordinates, parameters without a column apart.
type active struct {
	coordinates []int
	columns     [][]float64 // of the design
	mean, sd    []float64   // of the coefficients
	scale       int         // coordinate of log σ; −1 where it is known, or there is none
}

// add appends a coordinate.
func (a *active) add(coordinate int, column []float64, mean, sd float64) {
	a.coordinates, a.columns = append(a.coordinates, coordinate), append(a.columns, column)
	a.mean, a.sd = append(a.mean, mean), append(a.sd, sd)
}

// models is a posterior over models that are written as bits ([Target]) or as lists of few among
// many.
type models interface {
	vti.Target
	// bits has the likelihood and the priors.
	bits() *Target
	// active is the model of a code, members lists its predictors, ascending, and code is the code
	// of a model with these.
	active(code []int32) active
	members(code []int32) []int
	code(members []int) []int32
}

var _ models = (*Target)(nil)

func (t *Target) bits() *Target { return t }

// members lists the predictors of a model.
func (t *Target) members(code []int32) []int { return bitMembers(code) }

// bitMembers lists the predictors whose bits are set.
func bitMembers(code []int32) (members []int) {
	for predictor, bit := range code {
		if bit == 1 {
			members = append(members, predictor)
		}
	}
	return members
}

// code is the code of a model with these predictors.
func (t *Target) code(members []int) []int32 {
	code := make([]int32, len(t.design.Predictors))
	for _, predictor := range members {
		code[predictor] = 1
	}
	return code
}

// active returns the model of a code.
func (t *Target) active(code []int32) active {
	a, parameters := active{scale: t.scale}, t.parameters()
	for j, on := range t.space.MaskRow(code, nil) {
		if on && !slices.Contains(parameters, j) {
			a.add(j, t.columns[j], t.mean[j], t.sd[j])
		}
	}
	return a
}

// withParameters is a with all parameters of the response.
func (t *Target) withParameters(a active) active {
	for _, j := range t.parameters() {
		a = a.with(j, t.mean[j], t.sd[j])
	}
	return a
}

// with is a with the coordinate of a parameter of the response, which has no column.
func (a active) with(scale int, mean, sd float64) active {
	a.coordinates = append(a.coordinates[:len(a.coordinates):len(a.coordinates)], scale)
	a.mean, a.sd = append(a.mean[:len(a.mean):len(a.mean)], mean), append(a.sd[:len(a.sd):len(a.sd)], sd)
	return a
}

// logJointAt is log p(y, θ | m) in float64, with eta [n] to work in.
func (t *Target) logJointAt(a active, theta, eta []float64) float64 {
	clear(eta)
	copy(eta, t.offset)
	sum := 0.0
	prior := func(value, mean, sd float64) {
		z := (value - mean) / sd
		sum -= z*z/2 + math.Log(sd) + halfLog2Pi
	}
	for k, j := range a.coordinates {
		floats.AddScaled(eta, theta[j], a.columns[k])
		prior(theta[j], a.mean[k], a.sd[k])
	}
	logScale := t.logScale
	if a.scale >= 0 {
		logScale = theta[a.scale]
		prior(logScale, t.mean[t.scale], t.sd[t.scale])
	}
	return sum + t.responses.logDensityAt(eta, math.Exp(logScale))
}
