package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/likelihood"
)

// Expand returns the log joint density of a model at theta, for a likelihood with heavy tails.
// Unless slope is nil, it writes the gradient to slope and minus the second derivatives to
// curvature. The density of a row is f((y − η)/σ)/σ, so that its derivatives in log σ follow from
// its derivatives in η. Let s be the slope of the row's log density in η, c minus its second
// derivative, and e = y − η. Then the slope in log σ is e s − 1, minus the second derivative is e²
// c + e s, and minus the mixed derivative is e c + s.
func (t *Regression) Expand(heavy likelihood.HeavyTailed, a Active, theta, slope, curvature []float64) (logJoint float64) {
	eta := make([]float64, len(t.Responses.Y))
	logJoint = t.LogJointAt(a, theta, eta)
	if slope == nil {
		return logJoint
	}
	k, at, logScale := len(slope), -1, t.LogScale // at is the position of log σ among the coordinates
	clear(curvature)
	place := make([]int, len(a.Coordinates))
	if a.Scale >= 0 {
		at, _ = slices.BinarySearch(a.Coordinates, a.Scale)
		logScale = theta[a.Scale]
		slope[at], curvature[at*k+at] = normalSlope(logScale, t.Mean[t.Scale], t.SD[t.Scale])
	}
	for j, c := range a.Coordinates {
		place[j] = j
		if a.Scale >= 0 && j >= at {
			place[j]++
		}
		slope[place[j]], curvature[place[j]*k+place[j]] = normalSlope(theta[c], a.Mean[j], a.SD[j])
	}
	sigma, x, mixed := math.Exp(logScale), make([]float64, k), make([]float64, k)
	for i, y := range t.Responses.Y {
		s, c := heavy.CurvatureAt(y, eta[i], sigma)
		times := 1.0
		if t.Responses.Times != nil {
			times = t.Responses.Times[i]
		}
		s, c = times*s, times*c
		for j, column := range a.Columns {
			x[place[j]] = column[i]
		}
		floats.AddScaled(slope, s, x)
		for j, v := range x {
			floats.AddScaled(curvature[j*k:j*k+j+1], c*v, x[:j+1])
		}
		if a.Scale >= 0 {
			e := y - eta[i]
			floats.AddScaled(mixed, e*c+s, x)
			slope[at] += e*s - times
			curvature[at*k+at] += e * (e*c + s)
		}
	}
	for j := range k {
		for l := range j {
			if j == at {
				curvature[j*k+l] = mixed[l]
			} else if l == at {
				curvature[j*k+l] = mixed[j]
			}
			curvature[l*k+j] = curvature[j*k+l]
		}
	}
	return logJoint
}

// normalSlope returns the slope of the log density of a normal distribution, and minus its second
// derivative.
func normalSlope(value, mean, sd float64) (slope, curvature float64) {
	return (mean - value) / sd / sd, 1 / sd / sd
}
