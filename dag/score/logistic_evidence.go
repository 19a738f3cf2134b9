package score

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/mode"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// The levels of a category are compared by orthonormal contrasts. Each contrast has an intercept
// and coefficients with independent normal priors, with these variances: interceptVariance for the
// intercept, slopeVariance for the slope of a parent that is a number, and levelVariance for a
// contrast of the levels of a parent that is a category.
//
// The difference between two levels has twice these variances. Its intercept therefore has a
// standard deviation of 4, so that levels of one percent are no surprise. Its slope has a standard
// deviation of 2 per standard deviation of the number. A number that depends on a category has the
// same prior in units of its noise ([groupsForm]). Hence a weak dependence between a number and a
// category, or any dependence between two categories, gives little evidence of its direction.
const (
	interceptVariance = 8.0
	slopeVariance     = 1 / bgeScale
	levelVariance     = 1.0
)

// logisticForm is the [Form] of a category in a mixed table: p(level l | x) ∝ exp(η_l) with η = H Θ
// x. H holds the orthonormal contrasts of the levels, and Θ coefficients with independent normal
// priors. x is a one followed by the columns of the parents, less their means over the rows in
// which no intervention set the node. The log posterior of Θ is strictly concave. Evidences are
// means of importance weights of draws around the mode of Θ.
type logisticForm struct {
	columns  *MixedColumns
	node     int
	response likelihood.UnorderedCategories // likelihood of the levels, given predictors contrastScale Θ x
	means    []float64                      // means of the columns over the rows without an intervention on the node [M]
	values   [][]float64                    // centred columns in these rows [M][n]
	levels   []float64                      // level of the node in these rows

	known sync.Map // logisticEvidence by set of parents
}

// logisticEvidence is an estimate of a log evidence by importance weights.
type logisticEvidence struct {
	value float64
	weightsError
}

func newLogisticForm(columns *MixedColumns, node int) *logisticForm {
	d := columns.data
	l := &logisticForm{columns: columns, node: node, response: unordered(len(d.Levels[node]))}
	l.levels = d.OwnColumn(node)
	l.means, l.values = make([]float64, columns.Width), make([][]float64, columns.Width)
	for k := range l.means {
		for _, row := range columns.rowsFor(node) {
			l.values[k] = append(l.values[k], row[k])
		}
		l.means[k] = stat.Mean(l.values[k], nil)
		floats.AddConst(-l.means[k], l.values[k])
	}
	return l
}

// evidence returns the evidence of the node with a set of parents. It is computed only once.
func (l *logisticForm) evidence(parents dgraph.Set) logisticEvidence {
	if known, ok := l.known.Load(parents); ok {
		return known.(logisticEvidence)
	}
	estimate := l.family(parents).evidence(stream.Rand(uint64(l.node), fmt.Sprint("logistic ", parents.List())))
	l.known.Store(parents, estimate)
	return estimate
}

// LogEvidence returns log p(x_j | x_pa), estimated by importance weights.
func (l *logisticForm) LogEvidence(parents dgraph.Set) float64 { return l.evidence(parents).value }

// bic returns the log likelihood at the posterior mode less ½ log n for each coefficient, with n
// the number of rows.
func (l *logisticForm) bic(parents dgraph.Set) float64 {
	f := l.family(parents)
	theta, _, _ := f.mode()
	return f.logLikelihood(f.linear(theta)) - float64(len(theta))*math.Log(float64(len(l.levels)))/2
}

// Moments returns nil, because the coefficients of categories are not part of the answer.
func (l *logisticForm) Moments(dgraph.Set) (means, variances []float64) { return nil, nil }

// LogJoint returns the log evidence, because the coefficients are integrated out.
func (l *logisticForm) LogJoint(parents dgraph.Set, _ []float64) float64 {
	return l.LogEvidence(parents)
}

// logisticFamily is the posterior of the coefficients Θ [K,D] of a node with a set of parents (a
// family), for K contrasts of the levels of the node and D columns: a one, then the columns of the
// parents.
type logisticFamily struct {
	form     *logisticForm
	columns  [][]float64 // x [D][n]
	variance []float64   // prior variance of the coefficients of each column [D]
}

func (l *logisticForm) family(parents dgraph.Set) *logisticFamily {
	f := &logisticFamily{form: l, columns: [][]float64{slices.Repeat([]float64{1}, len(l.levels))}, variance: []float64{interceptVariance}}
	for i := range parents.Nodes() {
		variance := slopeVariance
		if l.columns.data.Category(i) {
			variance = levelVariance
		}
		for _, column := range l.columns.Of[i] {
			f.columns, f.variance = append(f.columns, l.values[column]), append(f.variance, variance)
		}
	}
	return f
}

// linear returns the linear predictors of the response, by contrast and row [K·n].
func (f *logisticFamily) linear(theta []float64) []float64 {
	rows, width := len(f.form.levels), len(f.columns)
	out := make([]float64, len(theta)/width*rows)
	for k, t := range theta {
		floats.AddScaled(out[k/width*rows:][:rows], contrastScale*t, f.columns[k%width])
	}
	return out
}

func (f *logisticFamily) logLikelihood(linear []float64) float64 {
	var sum [1]float64
	f.form.response.LogProbSums(f.form.levels, nil, linear, sum[:])
	return sum[0]
}

func (f *logisticFamily) logPrior(theta []float64) (sum float64) {
	for k, t := range theta {
		v := f.variance[k%len(f.variance)]
		sum -= t*t/(2*v) + math.Log(v)/2 + HalfLog2Pi
	}
	return sum
}

// expand computes the gradient of the log posterior [d] and the lower triangle of its negative
// Hessian [d·d], given d coefficients and their linear predictors.
func (f *logisticFamily) expand(theta, linear, gradient, hessian []float64) {
	dim, width, rows := len(theta), len(f.columns), len(f.form.levels)
	contrasts := dim / width
	slope, curvature := make([]float64, contrasts*rows), make([]float64, contrasts*(contrasts+1)/2*rows)
	f.form.response.Newtons(f.form.levels, nil, linear, slope, curvature)
	weighted := make([]float64, rows)
	for at, t := range theta {
		k, a := at/width, at%width
		gradient[at] = contrastScale*floats.Dot(slope[k*rows:][:rows], f.columns[a]) - t/f.variance[a]
		for m := range k + 1 {
			floats.MulTo(weighted, curvature[(k*(k+1)/2+m)*rows:][:rows], f.columns[a])
			for b, column := range f.columns {
				hessian[at*dim+m*width+b] = contrastScale * contrastScale * floats.Dot(weighted, column)
			}
		}
		hessian[at*dim+at] += 1 / f.variance[a]
	}
}

// mode returns the coefficients with the largest posterior density, and the Cholesky factor of the
// negative Hessian at them. found is false if values overflow.
func (f *logisticFamily) mode() (theta []float64, factor dense.Factor, found bool) {
	theta = make([]float64, len(f.columns)*f.form.response.Predictors())
	var linear []float64
	peak, factor := mode.Find(theta, mode.Density{
		Value: func(theta []float64) float64 {
			linear = f.linear(theta)
			return f.logLikelihood(linear) + f.logPrior(theta)
		},
		Expand: func(theta, gradient, hessian []float64) { f.expand(theta, linear, gradient, hessian) },
	}, mode.Options{})
	return theta, factor, peak.Converged
}
