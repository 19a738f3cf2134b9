package varsel

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/exact"
)

// modeStarts are the coefficients that fit as many rows as there are coefficients, under
// likelihoods that let other rows be far off: few rows that contradict each other have a mode for
// many of these sets (the elemental sets of robust regression, Rousseeuw 1984). None for other
// likelihoods.
func (h heavyTailed) modeStarts(code []int32, most int) (theta [][]float64, logJoint []float64) {
	return h.bits().elementalSets(h.active(code), h.Space().Dim(), most, fmt.Sprint("modes/", code))
}

// elementalSets fits sets of rows, all of them or as many as are wanted, drawn from a stream.
func (t *Target) elementalSets(a active, dim, most int, name string) (theta [][]float64, logJoint []float64) {
	n, k := len(t.responses.y), len(a.coordinates)
	if t.kind != likelihood.StudentKind && t.kind != likelihood.RobustKind || n < 2 || k == 0 {
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
	eta, ridge := make([]float64, n), newRidge(size, k)
	for _, rows := range sets {
		at := make([]float64, dim)
		if !t.fitGiven(a, rows, at, ridge) && !t.fit(a, rows, at) {
			continue
		}
		if density := t.logJointAt(a, at, eta); !math.IsNaN(density) && !math.IsInf(density, 0) {
			theta, logJoint = append(theta, at), append(logJoint, density)
		}
	}
	return theta, logJoint
}

// leastVariance is that of noise, in units of the largest square of a column, at which normal
// equations keep six digits: no pivot is less than it.
const leastVariance = 1e-10

// ridge is room for the normal equations of few rows.
type ridge struct{ design, precision, slope []float64 }

func newRidge(rows, k int) *ridge {
	return &ridge{make([]float64, rows*k), make([]float64, k*k), make([]float64, k)}
}

// fitGiven writes to θ the mode of the coefficients given some rows alone, where the scale of their
// noise is known. It reports whether the normal equations could be solved: where digits do not
// suffice fit takes singular values.
func (t *Target) fitGiven(a active, rows []int, theta []float64, r *ridge) bool {
	if a.scale >= 0 {
		return false
	}
	k := len(a.columns)
	clear(r.precision)
	clear(r.slope)
	variance := math.Exp(2 * t.logScale)
	for i := range k {
		r.precision[i*k+i] = variance
	}
	for at, row := range rows {
		x := r.design[at*k : (at+1)*k]
		left := t.responses.y[row]
		for j, column := range a.columns {
			left -= a.mean[j] * column[row]
			x[j] = a.sd[j] * column[row]
		}
		for j, v := range x {
			r.slope[j] += v * left
			floats.AddScaled(r.precision[j*k:j*k+j+1], v, x[:j+1])
		}
	}
	largest := 0.0
	for i := range k {
		largest = math.Max(largest, r.precision[i*k+i])
	}
	if variance < leastVariance*largest || !cholesky(r.precision, k) {
		return false
	}
	for j := range k {
		r.slope[j] = (r.slope[j] - floats.Dot(r.precision[j*k:j*k+j], r.slope[:j])) / r.precision[j*k+j]
	}
	backSolve(r.precision, r.slope)
	for j, c := range a.coordinates {
		theta[c] = a.mean[j] + a.sd[j]*r.slope[j]
	}
	return true
}

// fit writes to θ the mode of the coefficients given some rows alone, with hardly any noise where
// its scale is unknown, and then the median of all residuals as the scale.
func (t *Target) fit(a active, rows []int, theta []float64) bool {
	pick := func(values []float64) []float64 {
		few := make([]float64, len(rows))
		for i, row := range rows {
			few[i] = values[row]
		}
		return few
	}
	columns := make([][]float64, len(a.columns))
	for j, column := range a.columns {
		columns[j] = pick(column)
	}
	m, err := exact.NewModel(pick(t.responses.y), columns, a.mean, a.sd, 0, 0)
	if err != nil {
		return false
	}
	logSigma, lowest := t.logScale, 0.0
	if a.scale >= 0 {
		const far = 3
		lowest = t.mean[t.scale] - far*t.sd[t.scale]
		logSigma = lowest
	}
	mode := make([]float64, len(a.columns))
	m.Mode(logSigma, mode)
	residuals := slices.Clone(t.responses.y)
	for j, c := range a.coordinates {
		theta[c] = mode[j]
		floats.AddScaled(residuals, -theta[c], a.columns[j])
	}
	if a.scale >= 0 {
		for i, r := range residuals {
			residuals[i] = math.Abs(r)
		}
		slices.Sort(residuals)
		theta[a.scale] = math.Max(math.Log(residuals[len(residuals)/2]), lowest)
	}
	return true
}
