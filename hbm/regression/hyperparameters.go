package regression

import (
	"math"
)

// scaleRatio returns log r(τ) of scaleMap, and the logarithm of d log r / dτ, computed on the host.
func scaleRatio(tau float64) (logRatio, logSlope float64) {
	up, down := math.Max(softplusAt(tau), leastSoftplus), softplusAt(-tau)
	return math.Log(up) - down*down/2, math.Log(math.Exp(-down)/up + down*math.Exp(-softplusAt(tau)))
}

func softplusAt(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// partialAt returns arctanh ρ of partialMap on the host, and the logarithm of its derivative in z.
func partialAt(z, b float64) (w, logSlope float64) {
	root := math.Sqrt(1 + z*z/(8*b))
	return z * root / math.Sqrt(2*b), math.Log((1+z*z/(4*b))/root) - math.Log(2*b)/2
}

// logPriorOfSD returns the log density of a standard deviation in units of its scale.
func logPriorOfSD(prior SDPrior, ratio float64) float64 {
	switch prior {
	case HalfNormalSD:
		return math.Ln2 - halfLog2Pi - ratio*ratio/2
	case HalfCauchySD:
		return math.Log(2/math.Pi) - math.Log1p(ratio*ratio)
	}
	return -ratio
}

// sdsAt returns a function that computes standard deviations from their coordinates in θ.
func (r *Regression) sdsAt(theta []float64) func(j int) float64 {
	return func(j int) float64 {
		logRatio, _ := scaleRatio(theta[j])
		return math.Exp(logRatio) * r.coordinates[j].unit
	}
}

// factorAt returns Λ of a grouping, the Cholesky factor of the covariance of the effects of a
// level, row by row. The function sd returns standard deviations by their coordinates, and θ has
// the partial correlations. Columns that the model lacks are zero.
func (r *Regression) factorAt(g *varyingGroup, mask []bool, theta []float64, sd func(j int) float64) [][]float64 {
	rows := make([][]float64, len(g.Columns))
	for a := range rows {
		rows[a] = make([]float64, len(g.Columns))
		if !mask[g.sd[a]] {
			continue
		}
		rest := sd(g.sd[a])
		for b := range a {
			if at := g.partial[a][b]; at >= 0 && mask[at] {
				w, _ := partialAt(theta[at], r.coordinates[at].beta)
				rho := math.Tanh(w)
				rows[a][b] = rest * rho
				rest *= math.Sqrt(1 - rho*rho)
			}
		}
		rows[a][a] = rest
	}
	return rows
}

// noiseAt returns the noise σ at θ, in units of the standardised response.
func (r *Regression) noiseAt(theta []float64) float64 {
	if r.noise < 0 {
		return 1
	}
	return math.Exp(theta[r.noise])
}

// hyperparameters lists the coordinates in a model that have no closed integral even if the
// response is gaussian: standard deviations, correlations, noise, cut points and shares of steps.
func (r *Regression) hyperparameters(mask []bool) (list []int) {
	for j, c := range r.coordinates {
		switch c.kind {
		case sdCoordinate, partialCoordinate, noiseCoordinate, cutCoordinate, stickCoordinate:
			if mask[j] {
				list = append(list, j)
			}
		}
	}
	return list
}

func (r *Regression) logPriorOfHyperparameters(mask []bool, theta []float64) (sum float64) {
	for _, j := range r.hyperparameters(mask) {
		switch c := r.coordinates[j]; c.kind {
		case sdCoordinate:
			logRatio, logSlope := scaleRatio(theta[j])
			relative := c.unit / c.scale
			sum += logPriorOfSD(c.prior, relative*math.Exp(logRatio)) + math.Log(relative) + logRatio + logSlope
		case partialCoordinate:
			w, logSlope := partialAt(theta[j], c.beta)
			logOne := 2 * (math.Ln2 - math.Abs(w) - math.Log1p(math.Exp(-2*math.Abs(w))))
			b := c.betaOf(mask)
			sum += b*logOne + logSlope - logSymmetricBeta(b)
		default:
			x := (theta[j] - c.mean) / c.sd
			sum -= x*x/2 + math.Log(c.sd) + halfLog2Pi
		}
	}
	return sum
}
