package regression

import (
	"math"
)

// Outliers is the density of a response about its linear predictor under the robust likelihood: two
// normal densities with the same mean.
type Outliers struct {
	LogShare, Variance [2]float64 // of inliers, and of outliers
}

// NewOutliers has a share of outliers, whose noise scale is ratio times the scale of others.
func NewOutliers(share, ratio, logScale float64) *Outliers {
	inlier := math.Exp(2 * logScale)
	return &Outliers{[2]float64{math.Log1p(-share), math.Log(share)}, [2]float64{inlier, inlier * ratio * ratio}}
}

// Tilted are the log integral of the density of y times the density of a normal linear predictor,
// and the mean and the variance of the predictor given both.
func (o Outliers) Tilted(y, mean, variance float64) (logIntegral, tiltedMean, tiltedVariance float64) {
	var logs, means, variances [2]float64
	for k, noise := range o.Variance {
		total := variance + noise
		d := y - mean
		logs[k] = o.LogShare[k] - halfLog2Pi - math.Log(total)/2 - d*d/total/2
		means[k] = mean + variance*d/total
		variances[k] = variance * noise / total
	}
	inlier := 1 / (1 + math.Exp(logs[1]-logs[0]))
	logIntegral = math.Max(logs[0], logs[1]) + math.Log1p(math.Exp(-math.Abs(logs[0]-logs[1])))
	apart := means[0] - means[1]
	return logIntegral, means[1] + inlier*apart, inlier*variances[0] + (1-inlier)*variances[1] + inlier*(1-inlier)*apart*apart
}
