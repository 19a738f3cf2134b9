package regression

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Active is a model, described by the coordinates of its coefficients, each with its column.
// [Regression.WithParameters] adds the other parameters of the response.
type Active struct {
	Coordinates []int
	Columns     [][]float64 // columns of the design
	Places      []int       // numbers of the columns in the design, if they come from there
	Mean, SD    []float64   // prior means and standard deviations of the coefficients
	Scale       int         // coordinate of log σ; −1 if it is known, or there is none
}

// NewActive returns a model without coefficients, with room for k of them.
func NewActive(k, scale int) Active {
	numbers, indices := make([]float64, 2*k), make([]int, 2*k)
	return Active{
		Coordinates: indices[:0:k], Columns: make([][]float64, 0, k), Places: indices[k:k],
		Mean: numbers[:0:k], SD: numbers[k:k], Scale: scale,
	}
}

// Add appends a coordinate with its column and its prior.
func (a *Active) Add(coordinate int, column []float64, mean, sd float64) {
	a.Coordinates, a.Columns = append(a.Coordinates, coordinate), append(a.Columns, column)
	a.Mean, a.SD = append(a.Mean, mean), append(a.SD, sd)
}

// Include appends a coordinate whose column is column j of the design.
func (t *Regression) Include(a *Active, coordinate, j int) {
	a.Add(coordinate, t.Columns[j], t.Mean[j], t.SD[j])
	a.Places = append(a.Places, j)
}

// WithParameters returns a copy of a with the coordinates of all parameters of the response added.
func (t *Regression) WithParameters(a Active) Active {
	for _, j := range t.Parameters() {
		a = a.with(j, t.Mean[j], t.SD[j])
	}
	return a
}

// with returns a copy of a with the coordinate of a parameter of the response, which has no column.
func (a Active) with(scale int, mean, sd float64) Active {
	a.Coordinates = append(a.Coordinates[:len(a.Coordinates):len(a.Coordinates)], scale)
	a.Mean, a.SD = append(a.Mean[:len(a.Mean):len(a.Mean)], mean), append(a.SD[:len(a.SD):len(a.SD)], sd)
	return a
}

// Predict writes to eta [n] the linear predictors for the coefficients theta of the columns, and
// adds the offset, which may be nil.
func (a Active) Predict(theta, offset, eta []float64) {
	clear(eta)
	copy(eta, offset)
	for k, column := range a.Columns {
		floats.AddScaled(eta, theta[k], column)
	}
}

// LogJointAt returns log p(y, θ | m) in float64. eta [n] is scratch.
func (t *Regression) LogJointAt(a Active, theta, eta []float64) float64 {
	clear(eta)
	copy(eta, t.Offset)
	sum := 0.0
	prior := func(value, mean, sd float64) {
		z := (value - mean) / sd
		sum -= z*z/2 + math.Log(sd) + halfLog2Pi
	}
	for k, j := range a.Coordinates {
		floats.AddScaled(eta, theta[j], a.Columns[k])
		prior(theta[j], a.Mean[k], a.SD[k])
	}
	logScale := t.LogScale
	if a.Scale >= 0 {
		logScale = theta[a.Scale]
		prior(logScale, t.Mean[t.Scale], t.SD[t.Scale])
	}
	return sum + t.Responses.LogDensityAt(eta, math.Exp(logScale))
}
