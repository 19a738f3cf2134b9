package regression

import "math"

// Outliers is the density of a response about its linear predictor under the robust likelihood: two
// normal densities with the same mean.
type Outliers struct {
	LogShare, Variance [2]float64 // of inliers (index 0) and outliers (index 1)
}

// NewOutliers returns the density for the given share of outliers. The noise scale of inliers is
// exp(logScale), and the noise scale of outliers is ratio times larger.
func NewOutliers(share, ratio, logScale float64) *Outliers {
	inlier := math.Exp(2 * logScale)
	return &Outliers{[2]float64{math.Log1p(-share), math.Log(share)}, [2]float64{inlier, inlier * ratio * ratio}}
}
