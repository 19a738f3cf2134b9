package likelihood

import "math"

// Columns is a Row that sums log densities for many vectors of linear predictors at once, which are
// the columns of a matrix. The density of y depends on η and σ through z = (a η + b)/σ.
type Columns interface {
	Row
	// Line returns a and b of a response.
	Line(y float64) (a, b float64)
	// SumColumns adds Σ_i (LogKernel of row i + log σ) to sums [m], where z [n, m] has a row for
	// each element of y [n]. For a likelihood without a scale, log σ is 0. z is overwritten.
	SumColumns(y, z, sums []float64)
}

var _ = []Columns{gaussian{}, robust{}, student{}, logistic{}, poisson{}}

// Line makes z = (a η + b)/σ the negative residual in units of σ.
func (gaussian) Line(y float64) (a, b float64) { return 1, -y }

// SumColumns adds −z²/2.
func (gaussian) SumColumns(_, z, sums []float64) {
	vectors.Mul(z, z, z)
	addColumns(sums, z, -0.5)
}

// Line makes z = (a η + b)/σ the negative residual in units of σ.
func (robust) Line(y float64) (a, b float64) { return 1, -y }

// SumColumns adds the log density of an inlier and log(1 + r), where r is the odds that the row is
// an outlier.
func (l robust) SumColumns(y, z, sums []float64) {
	vectors.Mul(z, z, z)
	addColumns(sums, z, -0.5)
	vectors.MulScalar(z, z, (1-l.wide())/2)
	vectors.AddScalar(z, z, l.logOutlier-l.logInlier)
	vectors.SoftplusColumns(sums, z)
	vectors.AddScalar(sums, sums, float64(len(y))*l.logInlier)
}

// Line makes z = (a η + b)/σ the negative residual in units of σ.
func (student) Line(y float64) (a, b float64) { return 1, -y }

// SumColumns adds −(ν + 1)/2 log(1 + z²/ν). It takes one logarithm of a product over eight rows,
// unless the product could overflow.
func (l student) SumColumns(_, z, sums []float64) {
	vectors.Mul(z, z, z)
	vectors.MulScalar(z, z, 1/l.degrees)
	vectors.AddScalar(z, z, 1)
	if vectors.MaxOf(z) < mostFactor {
		for range 3 {
			rows := len(z) / len(sums)
			first, second := z[:(rows+1)/2*len(sums)], z[(rows+1)/2*len(sums):]
			vectors.Mul(first[:len(second)], first[:len(second)], second)
			z = first
		}
	}
	vectors.Log(z, z)
	addColumns(sums, z, -(l.degrees+1)/2)
}

// mostFactor is a number whose eighth power is finite.
const mostFactor = 1e38

// Line makes z equal to −η where y is 1, and to η where y is 0.
func (logistic) Line(y float64) (a, b float64) { return 1 - 2*y, 0 }

// SumColumns subtracts log(1 + exp z).
func (logistic) SumColumns(_, z, sums []float64) {
	vectors.Neg(sums, sums)
	vectors.SoftplusColumns(sums, z)
	vectors.Neg(sums, sums)
}

// Line makes z equal to η.
func (poisson) Line(float64) (a, b float64) { return 1, 0 }

// SumColumns adds y (z − log y + 1) − exp z, or kernels computed row by row where this formula
// would lose digits.
func (l poisson) SumColumns(y, z, sums []float64) {
	small := vectors.MaxOf(z) <= mostLogRatio
	for i, v := range y {
		row := z[i*len(sums):][:len(sums)]
		for j, x := range row {
			if small && v <= smallCount {
				sums[j] += v * (x - logCounts[int(v)] + 1)
			} else {
				sums[j] += l.LogKernelAt(v, x, 1)
				row[j] = math.Inf(-1)
			}
		}
	}
	vectors.Exp(z, z)
	addColumns(sums, z, -1)
}

// addColumns adds a factor times the sum of each column of z [n, m] to sums [m].
func addColumns(sums, z []float64, factor float64) {
	vectors.MulScalar(sums, sums, 1/factor)
	vectors.SumColumns(sums, z)
	vectors.MulScalar(sums, sums, factor)
}
