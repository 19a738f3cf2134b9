package score

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/mode"
	"github.com/transdim/vti/internal/stream"
)

// Prior variances of the coefficients of orthonormal contrasts of the levels of a node: of the
// intercept, the slope of a number, and a contrast of the levels of a category. Two levels of the
// node differ by twice as much. So a difference has the standard deviation 2 per noise (or
// standard) deviation of a number, the same as in [groupsForm], whichever of the two is the parent:
// a weak dependence of a number and a category, and any of two categories, says little of its
// direction. Intercepts have 4: levels of one percent are no surprise.
const (
	interceptVariance = 8.0
	slopeVariance     = 1 / bgeScale
	levelVariance     = 1.0
)

// logisticForm is the form of a category of a mixed table: p(level l | x) ∝ exp(η_l), η = H Θ x,
// with H the orthonormal contrasts of its levels, x the columns of the parents less their means
// over the rows that count, a one before them, and independent normal coefficients Θ. The log
// posterior is strictly concave; evidences are importance weights of draws around its mode.
type logisticForm struct {
	columns   *MixedColumns
	node      int
	contrasts [][]float64 // H [r][r−1]
	means     []float64   // of the columns over the rows that count [M]
	rows      [][]float64 // that count, centred [n][M]
	levels    []int       // of the node in them

	lock  sync.Mutex
	known map[dgraph.Set]logisticEvidence
}

// logisticEvidence is a log evidence by weights.
type logisticEvidence struct {
	value float64
	weightsError
}

func newLogisticForm(columns *MixedColumns, node int) *logisticForm {
	l := &logisticForm{columns: columns, node: node, contrasts: columns.Contrasts[node], known: map[dgraph.Set]logisticEvidence{}}
	for row, values := range columns.Rows {
		if columns.data.Counts(row, node) {
			l.rows = append(l.rows, append([]float64(nil), values...))
			l.levels = append(l.levels, int(columns.data.X.At(row, node)))
		}
	}
	l.means = make([]float64, len(l.rows[0]))
	for _, row := range l.rows {
		floats.AddScaled(l.means, 1/float64(len(l.rows)), row)
	}
	for _, row := range l.rows {
		floats.Sub(row, l.means)
	}
	return l
}

// evidence is that of a family, found once.
func (l *logisticForm) evidence(parents dgraph.Set) logisticEvidence {
	l.lock.Lock()
	own, ok := l.known[parents]
	l.lock.Unlock()
	if !ok {
		own = l.family(parents).evidence(stream.Rand(uint64(l.node), fmt.Sprint("logistic ", parents.List())))
		l.lock.Lock()
		l.known[parents] = own
		l.lock.Unlock()
	}
	return own
}

func (l *logisticForm) LogEvidence(parents dgraph.Set) float64 { return l.evidence(parents).value }

// bic is the log likelihood at the mode less ½ log n for each coefficient.
func (l *logisticForm) bic(parents dgraph.Set) float64 {
	f := l.family(parents)
	theta, _, _ := f.mode()
	return f.logLikelihood(f.linear(theta)) - float64(len(theta))*math.Log(float64(len(l.rows)))/2
}

// Moments are none.
func (l *logisticForm) Moments(dgraph.Set) (means, variances []float64) { return nil, nil }

// LogJoint has the coefficients integrated out.
func (l *logisticForm) LogJoint(parents dgraph.Set, _ []float64) float64 {
	return l.LogEvidence(parents)
}

// logisticFamily is the posterior of the coefficients Θ [K,D], by contrasts of the node and
// columns.
type logisticFamily struct {
	form     *logisticForm
	width    int       // D
	x        []float64 // [n,D]
	variance []float64 // prior, by column [D]
}

func (l *logisticForm) family(parents dgraph.Set) *logisticFamily {
	of := l.columns.columns(parents)
	f := &logisticFamily{form: l, width: 1 + len(of), variance: []float64{interceptVariance}}
	for i := range parents.Nodes() {
		for range l.columns.Of[i] {
			if l.columns.data.Category(i) {
				f.variance = append(f.variance, levelVariance)
			} else {
				f.variance = append(f.variance, slopeVariance)
			}
		}
	}
	for _, row := range l.rows {
		f.x = append(f.x, 1)
		for _, column := range of {
			f.x = append(f.x, row[column])
		}
	}
	return f
}

// linear is Θ x by row [n,K].
func (f *logisticFamily) linear(theta []float64) []float64 {
	contrasts := len(theta) / f.width
	out := make([]float64, 0, len(f.form.levels)*contrasts)
	for row := range f.form.levels {
		x := f.x[row*f.width : (row+1)*f.width]
		for k := range contrasts {
			out = append(out, floats.Dot(theta[k*f.width:(k+1)*f.width], x))
		}
	}
	return out
}

// predictors fills η [r] of Θ x.
func (f *logisticFamily) predictors(linear, to []float64) {
	for level, h := range f.form.contrasts {
		to[level] = floats.Dot(h, linear)
	}
}

func (f *logisticFamily) logLikelihood(linear []float64) (sum float64) {
	// Σ log of sums of exponentials, each from 1 to the number of levels, as logs of products
	product := 1.0
	multiply := func(total float64) {
		if product *= total; product > 1e280 {
			sum -= math.Log(product)
			product = 1
		}
	}
	contrasts := len(f.form.contrasts) - 1
	if contrasts == 1 { // two levels, whose predictors differ by √2 of one number
		for row, level := range f.form.levels {
			margin := math.Sqrt2 * linear[row] * float64(1-2*level)
			sum += math.Min(margin, 0)
			multiply(1 + math.Exp(-math.Abs(margin)))
		}
		return sum - math.Log(product)
	}
	predictors := make([]float64, contrasts+1)
	for row, level := range f.form.levels {
		f.predictors(linear[row*contrasts:(row+1)*contrasts], predictors)
		top, total := floats.Max(predictors), 0.0
		for _, x := range predictors {
			total += math.Exp(x - top)
		}
		sum += predictors[level] - top
		multiply(total)
	}
	return sum - math.Log(product)
}

func (f *logisticFamily) logPrior(theta []float64) (sum float64) {
	for k, t := range theta {
		v := f.variance[k%f.width]
		sum -= t*t/(2*v) + math.Log(v)/2 + HalfLog2Pi
	}
	return sum
}

// expand adds the gradient of the log posterior [d] and the lower triangle of its negative Hessian
// [d·d], given Θ x by row.
func (f *logisticFamily) expand(theta, linear, gradient, hessian []float64) {
	dim, contrasts := len(theta), len(theta)/f.width
	for k, t := range theta {
		gradient[k] = -t / f.variance[k%f.width]
		hessian[k*dim+k] = 1 / f.variance[k%f.width]
	}
	p, mean := make([]float64, contrasts+1), make([]float64, contrasts)
	for row, level := range f.form.levels {
		f.predictors(linear[row*contrasts:(row+1)*contrasts], p)
		clear(mean)
		for l, share := range logsum.Shares(p) {
			floats.AddScaled(mean, share, f.form.contrasts[l])
		}
		x := f.x[row*f.width : (row+1)*f.width]
		for k := range contrasts {
			floats.AddScaled(gradient[k*f.width:(k+1)*f.width], f.form.contrasts[level][k]-mean[k], x)
			for m := range k + 1 {
				weight := -mean[k] * mean[m]
				for l, h := range f.form.contrasts {
					weight += p[l] * h[k] * h[m]
				}
				for a, xa := range x {
					at := (k*f.width+a)*dim + m*f.width
					floats.AddScaled(hessian[at:at+f.width], weight*xa, x)
				}
			}
		}
	}
}

// mode is where the log posterior is largest, with the factor of its negative Hessian there; found
// is false where values overflow.
func (f *logisticFamily) mode() (theta []float64, factor dense.Factor, found bool) {
	theta = make([]float64, f.width*(len(f.form.contrasts)-1))
	var linear []float64
	at, factor := mode.Find(theta, mode.Density{
		Value: func(theta []float64) float64 {
			linear = f.linear(theta)
			return f.logLikelihood(linear) + f.logPrior(theta)
		},
		Expand: func(theta, gradient, hessian []float64) { f.expand(theta, linear, gradient, hessian) },
	}, mode.Options{})
	return theta, factor, at.Converged
}
