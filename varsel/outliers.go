package varsel

import (
	"math"

	"github.com/transdim/vti/likelihood"
)

// outlierModel is the density of a response about its linear predictor under the robust likelihood:
// two normal densities of one mean.
type outlierModel struct {
	logShare, variance [2]float64 // of rows that are none, and of outliers
}

// newOutlierModel is that of the robust likelihood with known scales; nil for others.
func newOutlierModel(model ModelOptions, logScale float64) *outlierModel {
	if model.Likelihood != likelihood.RobustKind || model.UnknownSigma1 {
		return nil
	}
	inlier := math.Exp(2 * logScale)
	ratio := model.Sigma2 / model.Sigma1
	return &outlierModel{[2]float64{math.Log1p(-model.Outlier), math.Log(model.Outlier)}, [2]float64{inlier, inlier * ratio * ratio}}
}

// tilted are the log of the integral of the density of y times that of a normal linear predictor,
// and mean and variance of the predictor given both.
func (o outlierModel) tilted(y, mean, variance float64) (logIntegral, tiltedMean, tiltedVariance float64) {
	var logs, means, variances [2]float64
	for k, noise := range o.variance {
		total := variance + noise
		d := y - mean
		logs[k] = o.logShare[k] - halfLog2Pi - math.Log(total)/2 - d*d/total/2
		means[k] = mean + variance*d/total
		variances[k] = variance * noise / total
	}
	inlier := 1 / (1 + math.Exp(logs[1]-logs[0]))
	logIntegral = math.Max(logs[0], logs[1]) + math.Log1p(math.Exp(-math.Abs(logs[0]-logs[1])))
	apart := means[0] - means[1]
	return logIntegral, means[1] + inlier*apart, inlier*variances[0] + (1-inlier)*variances[1] + inlier*(1-inlier)*apart*apart
}
