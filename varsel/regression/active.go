package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Active is a model, described by the coordinates of its coefficients, each with its column.
// [Regression.WithParameters] adds the other parameters of the response.
type Active struct {
	Coordinates []int
	Columns     [][]float64 // columns of the design
	Places      []int       // numbers of the columns in the design
	Mean, SD    []float64   // prior means and standard deviations of the coefficients
	Scale       int         // coordinate of log σ; −1 if it is known, or there is none
}

// Include appends a coordinate with the column and the prior of column j of the design.
func (t *Regression) Include(a *Active, coordinate, j int) {
	a.Coordinates, a.Columns, a.Places = append(a.Coordinates, coordinate), append(a.Columns, t.Columns[j]), append(a.Places, j)
	a.Mean, a.SD = append(a.Mean, t.Mean[j]), append(a.SD, t.SD[j])
}

// WithParameters returns a copy of a with the coordinates of all parameters of the response added,
// which have no columns.
func (t *Regression) WithParameters(a Active) Active {
	a.Coordinates, a.Mean, a.SD = slices.Clip(a.Coordinates), slices.Clip(a.Mean), slices.Clip(a.SD)
	for _, j := range t.Parameters() {
		a.Coordinates, a.Mean, a.SD = append(a.Coordinates, j), append(a.Mean, t.Mean[j]), append(a.SD, t.SD[j])
	}
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
