package regression

import "math"

// Outliers is the density of a response about its linear predictor under the robust likelihood: two
// normal densities with the same mean.
type Outliers struct {
	LogShare, Variance [2]float64 // of inliers, and of outliers
}

// NewOutliers returns the density for a share of outliers, whose noise scale is ratio times
// exp(logScale), the noise scale of other rows.
func NewOutliers(share, ratio, logScale float64) *Outliers {
	inlier := math.Exp(2 * logScale)
	return &Outliers{[2]float64{math.Log1p(-share), math.Log(share)}, [2]float64{inlier, inlier * ratio * ratio}}
}
