package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/varsel/exact"
)

// ElementalSets returns starting points of a search for modes under likelihoods with heavy tails,
// and their log joint densities. Each starting point fits the k coefficients of a model to k rows.
// If a few rows contradict each other, the posterior has a mode for many of these sets of rows (the
// elemental sets of robust regression, Rousseeuw 1984). If there are more sets than the argument
// most, it fits this number of sets, drawn from the random stream with the given name. It returns
// nil for other likelihoods.
func (t *Regression) ElementalSets(a Active, dim, most int, name string) (theta [][]float64, logJoint []float64) {
	n, k := len(t.Responses.Y), len(a.Coordinates)
	if !t.Kind.HeavyTails() || n < 2 || k == 0 {
		return nil, nil
	}
	size := min(k, n-1)
	var sets [][]int
	if combin.GeneralizedBinomial(float64(n), float64(size)) <= float64(most) {
		sets = combin.Combinations(n, size)
	} else {
		random := stream.Rand(0, name)
		for range most {
			sets = append(sets, random.Perm(n)[:size])
		}
	}
	eta := make([]float64, n)
	for _, rows := range sets {
		point := make([]float64, dim)
		if !t.fit(a, rows, point) {
			continue
		}
		if density := t.LogJointAt(a, point, eta); !math.IsNaN(density) && !math.IsInf(density, 0) {
			theta, logJoint = append(theta, point), append(logJoint, density)
		}
	}
	return theta, logJoint
}

// fit writes to theta the mode of the coefficients given only the listed rows. If the noise scale
// is unknown, the coefficients are the mode for hardly any noise, and the noise scale is the median
// absolute residual of all rows.
func (t *Regression) fit(a Active, rows []int, theta []float64) bool {
	columns := apply.To(a.Columns, func(column []float64) []float64 { return distinct.At(column, rows) })
	m, err := exact.NewModel(distinct.At(t.Responses.Y, rows), columns, a.Mean, a.SD, 0, 0)
	if err != nil {
		return false
	}
	logSigma, lowest := t.LogScale, 0.0
	if a.Scale >= 0 {
		const far = 3
		lowest = t.Mean[t.Scale] - far*t.SD[t.Scale]
		logSigma = lowest
	}
	mode := make([]float64, len(a.Columns))
	m.Mode(logSigma, mode)
	residuals := slices.Clone(t.Responses.Y)
	for j, c := range a.Coordinates {
		theta[c] = mode[j]
		floats.AddScaled(residuals, -theta[c], a.Columns[j])
	}
	if a.Scale >= 0 {
		for i, r := range residuals {
			residuals[i] = math.Abs(r)
		}
		slices.Sort(residuals)
		theta[a.Scale] = math.Max(math.Log(residuals[len(residuals)/2]), lowest)
	}
	return true
}
