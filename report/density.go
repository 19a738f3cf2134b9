package report

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/picture"
	"gonum.org/v1/gonum/stat"
)

// densityPoints is the number of points at which a density is evaluated. More points could not be
// distinguished at the width of a picture.
const densityPoints = 120

// density estimates a density from equally weighted draws. Its normal kernels have the bandwidth of
// Silverman (1986, equation 3.31). It returns nil for fewer than 20 draws or equal draws.
func density(values []float64) (x, y []float64) {
	const fewest = 20
	values = finite(values)
	if len(values) < fewest {
		return nil, nil
	}
	slices.Sort(values)
	spread := (stat.Quantile(0.75, stat.Empirical, values, nil) - stat.Quantile(0.25, stat.Empirical, values, nil)) / 1.349
	if sd := stat.StdDev(values, nil); spread == 0 || sd < spread {
		spread = sd
	}
	if spread == 0 {
		return nil, nil
	}
	width := 0.9 * spread * math.Pow(float64(len(values)), -0.2)
	// the range ends near the quantiles 0.001 and 0.999, so that far draws do not widen it
	low := stat.Quantile(0.001, stat.Empirical, values, nil) - 2*width
	high := stat.Quantile(0.999, stat.Empirical, values, nil) + 2*width
	x, y = make([]float64, densityPoints), make([]float64, densityPoints)
	const reach = 5 // bandwidths, beyond which a kernel is below 4e-6 of its maximum
	centres, counts := together(values, width/16)
	for k := range x {
		x[k] = low + (high-low)*float64(k)/(densityPoints-1)
		from, _ := slices.BinarySearch(centres, x[k]-reach*width)
		for j, v := range centres[from:] {
			u := (x[k] - v) / width
			if u < -reach {
				break
			}
			y[k] += counts[from+j] * math.Exp(-u*u/2)
		}
		y[k] /= width * math.Sqrt(2*math.Pi) * float64(len(values))
	}
	return x, y
}

// together divides sorted values into groups, so that the range of each group is less than the
// argument apart. It returns the mean and the number of values of each group. If apart is a
// sixteenth of the bandwidth of a kernel estimate, each kernel changes by less than a thousandth.
func together(sorted []float64, apart float64) (means, counts []float64) {
	for from := 0; from < len(sorted); {
		to := from
		sum := 0.0
		for ; to < len(sorted) && sorted[to]-sorted[from] < apart; to++ {
			sum += sorted[to] - sorted[from]
		}
		n := float64(to - from)
		means, counts = append(means, sorted[from]+sum/n), append(counts, n)
		from = to
	}
	return means, counts
}

// densities returns the curves of the posterior and of the prior of a parameter within the visible
// range. The maximum of the posterior is drawn as high as the probability that the parameter is in
// the model. There are no curves if the draws are too few. The curves end at the argument least,
// the lower bound of the parameter.
func densities(values []float64, probability, least float64, logPrior func(x float64) float64) []picture.Curve {
	x, y := density(values)
	if len(x) == 0 {
		return nil
	}
	factor := probability / slices.Max(y)
	for k := range x {
		x[k] = math.Max(least, x[k])
		y[k] *= factor
	}
	posterior := picture.Curve{X: x, Y: y, Ink: picture.First, Filled: true}
	if logPrior == nil {
		return []picture.Curve{posterior}
	}
	prior := picture.Curve{Ink: picture.Second, Dashed: true}
	low, high := math.Min(0, x[0]), math.Max(0, x[len(x)-1])
	margin := 0.1 * (high - low)
	high += margin
	if low -= margin; low < least {
		low = least
	}
	const most = 2 // a prior whose density is unbounded is cut off at this height
	for k := range densityPoints {
		value := low + (high-low)*float64(k)/(densityPoints-1)
		prior.X, prior.Y = append(prior.X, value), append(prior.Y, math.Min(most, factor*math.Exp(logPrior(value))))
	}
	return []picture.Curve{posterior, prior}
}
