package report

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/picture"
	"gonum.org/v1/gonum/stat"
)

// densityPoints is the number of places at which a density is evaluated: more cannot be seen at the
// width of a picture.
const densityPoints = 120

// density is a kernel estimate from equally weighted draws, with normal kernels of the width of
// Silverman (1986, equation 3.31). It is empty for fewer than 20 draws, or equal ones.
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
	// tails of a thousandth are not informative in a picture
	low := stat.Quantile(0.001, stat.Empirical, values, nil) - 2*width
	high := stat.Quantile(0.999, stat.Empirical, values, nil) + 2*width
	x, y = make([]float64, densityPoints), make([]float64, densityPoints)
	const reach = 5 // kernels are zero beyond, to 1e-6
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

// together joins sorted values that differ by less than apart: their means and numbers. A kernel of
// sixteen times that width changes by less than a thousandth.
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

// densities are the curves of a posterior, as high as its parameter is probable, and of its prior,
// within the visible range; none where draws are too few. The posterior is nothing below least.
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
	const most = 2 // a prior without bound leaves the picture there
	for k := range densityPoints {
		value := low + (high-low)*float64(k)/(densityPoints-1)
		prior.X, prior.Y = append(prior.X, value), append(prior.Y, math.Min(most, factor*math.Exp(logPrior(value))))
	}
	return []picture.Curve{posterior, prior}
}
