package varsel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/interp"
)

// sigmaPosterior describes the posterior of σ from its mass at each point of the grid over log σ;
// total is their sum. σ is reported in the given unit.
//
// The moments are sums over the grid, as exact as everything else. Quantiles need the density
// between its points, where its logarithm, which is close to a parabola, is interpolated by a cubic
// spline: they are right to about 1e-4 standard deviations.
func sigmaPosterior(logSigma, masses []float64, total, unit float64) MarginalSummary {
	var mean, variance float64
	for t, mass := range masses {
		mean += mass / total * math.Exp(logSigma[t])
	}
	for t, mass := range masses {
		deviation := math.Exp(logSigma[t]) - mean
		variance += mass / total * deviation * deviation
	}
	if len(masses) < 2 {
		return MarginalSummary{Mean: unit * mean, Q025: unit * mean, Q975: unit * mean}
	}

	// of the total; masses below were cut off to zero, which has no logarithm
	const negligible = 1e-18
	logDensity := make([]float64, len(masses))
	for t, mass := range masses {
		logDensity[t] = math.Log(max(mass/total, negligible))
	}
	var spline interp.NaturalCubic
	if err := spline.Fit(logSigma, logDensity); err != nil {
		// a diagonally dominant system has a solution
		panic("varsel: sigmaPosterior: " + err.Error())
	}
	const fine = 64 // points within each interval of the grid
	var points, cumulative []float64
	var area, before float64
	for t, from := range logSigma[:len(logSigma)-1] {
		step := (logSigma[t+1] - from) / fine
		for k := range fine {
			x := from + float64(k)*step
			density := math.Exp(spline.Predict(x))
			if len(points) > 0 {
				area += (density + before) / 2 * step
			}
			points, cumulative, before = append(points, x), append(cumulative, area), density
		}
	}
	quantile := func(level float64) float64 {
		i, _ := slices.BinarySearch(cumulative, level*area)
		i = min(max(i, 1), len(points)-1)
		share := (level*area - cumulative[i-1]) / (cumulative[i] - cumulative[i-1])
		return unit * math.Exp(points[i-1]+share*(points[i]-points[i-1]))
	}
	return MarginalSummary{Mean: unit * mean, SD: unit * math.Sqrt(variance), Q025: quantile(0.025), Q975: quantile(0.975)}
}
