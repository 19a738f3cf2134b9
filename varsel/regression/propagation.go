package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
)

// Propagation approximates the posterior of one model of the robust likelihood by expectation
// propagation (Minka 2001, whose clutter problem this is). exp(−½ τ s² + ν s) replaces the density
// of each row, as a function of its linear predictor s. It gives s the mean and variance under the
// row's density and the approximations of the other rows. In contrast to a mode it averages over
// the sets of outliers.
type Propagation struct {
	Active
	responses *Outliers
	y         []float64 // the responses minus the offset [n]

	rows       []float64 // x [n·k]
	tau, nu    []float64 // [n]
	covariance []float64 // (Λ + Σ τ x xᵀ)⁻¹ [k·k]
	linear     []float64 // Λμ + Σ ν x [k]
	along      []float64 // covariance times x [k]
}

const (
	// propagationRounds bounds the rounds over all rows. A round is the last if all changes of τ,
	// times the variance of their linear predictors, are below propagationTolerance. Where the
	// approximations settle, the log evidence does not depend on them to first order.
	propagationRounds    = 40
	propagationTolerance = 3e-3
	// propagationDamping is the applied share of a change: with rows that contradict each other
	// whole changes oscillate for ever.
	propagationDamping = 0.7
)

// NewPropagation starts from the prior. offset is nil or [n]. Rows are taken in the order of their
// responses, so that the rounding of the approximations does not depend on the order of the table.
func NewPropagation(responses *Outliers, y, offset []float64, a Active) *Propagation {
	n, k := len(y), len(a.Columns)
	sorted, order := slices.Clone(y), make([]int, n)
	for i, o := range offset {
		sorted[i] -= o
	}
	floats.ArgsortStable(sorted, order)
	p := &Propagation{
		Active: a, responses: responses, y: sorted, rows: make([]float64, n*k), tau: make([]float64, n), nu: make([]float64, n),
		covariance: make([]float64, k*k), linear: make([]float64, k), along: make([]float64, k),
	}
	for j, column := range a.Columns {
		for i, from := range order {
			p.rows[i*k+j] = column[from]
		}
		p.covariance[j*k+j] = a.SD[j] * a.SD[j]
		p.linear[j] = a.Mean[j] / (a.SD[j] * a.SD[j])
	}
	return p
}

// Means are the means of the coefficients. [k]
func (p *Propagation) Means() []float64 {
	theta := make([]float64, len(p.linear))
	for j := range theta {
		theta[j] = floats.Dot(p.covariance[j*len(theta):(j+1)*len(theta)], p.linear)
	}
	return theta
}

// Finite reports whether the means survived rounding.
func (p *Propagation) Finite() bool {
	sum := floats.Sum(p.Means()) + floats.Sum(p.tau)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

// Precision is Λ + Σ τ x xᵀ.
func (p *Propagation) Precision() *mat.SymDense {
	k := len(p.linear)
	precision := mat.NewSymDense(k, nil)
	for j, sd := range p.SD {
		precision.SetSym(j, j, 1/(sd*sd))
	}
	for i, tau := range p.tau {
		precision.SymRankOne(precision, tau, mat.NewVecDense(k, p.rows[i*k:(i+1)*k]))
	}
	return precision
}

// predictor is x of a row, with mean and variance of x'θ. It sets along to the covariance times x.
func (p *Propagation) predictor(i int) (x []float64, mean, variance float64) {
	k := len(p.linear)
	x = p.rows[i*k : (i+1)*k]
	for j := range k {
		p.along[j] = floats.Dot(p.covariance[j*k:(j+1)*k], x)
	}
	return x, floats.Dot(p.along, p.linear), floats.Dot(p.along, x)
}

// Run iterates until changes are small, and returns the log evidence; NaN if rounding destroyed it.
func (p *Propagation) Run() float64 {
	k := len(p.linear)
	for range propagationRounds {
		largest := 0.0
		for i := range p.y {
			x, mean, variance := p.predictor(i)
			rest := 1/variance - p.tau[i]
			if !(rest > 1e-10/variance) {
				continue // no density without this row: later rounds may have one
			}
			restMean := (mean/variance - p.nu[i]) / rest
			_, tiltedMean, tiltedVariance := p.responses.Tilted(p.y[i], restMean, 1/rest)
			// A row that contradicts the other rows would take a negative precision; zero is the
			// nearest that a normal density can have.
			tau := math.Max(0, 1/tiltedVariance-rest)
			change := propagationDamping * (tau - p.tau[i])
			shift := propagationDamping * (tiltedMean*(rest+tau) - rest*restMean - p.nu[i])
			if !(1+change*variance > 1e-10) || math.IsInf(change, 0) || math.IsNaN(shift) || math.IsInf(shift, 0) {
				continue // rounding dominates at a noise scale near zero
			}
			largest = math.Max(largest, math.Abs(change)*variance)
			p.tau[i] += change
			p.nu[i] += shift
			factor := change / (1 + change*variance)
			for a := range k {
				floats.AddScaled(p.covariance[a*k:(a+1)*k], -factor*p.along[a], p.along)
				p.linear[a] += shift * x[a]
			}
		}
		if largest < propagationTolerance {
			break
		}
	}
	return p.logEvidence()
}

// logEvidence is the integral of the prior times all approximations, each scaled so that its
// integral against the other approximations equals the integral of the row's density.
func (p *Propagation) logEvidence() (sum float64) {
	k := len(p.linear)
	for i, tau := range p.tau {
		_, mean, variance := p.predictor(i)
		rest := 1/variance - tau
		if !(rest > 0) {
			return math.NaN()
		}
		restLinear := mean/variance - p.nu[i]
		logTilted, _, _ := p.responses.Tilted(p.y[i], restLinear/rest, 1/rest)
		sum += logTilted - (math.Log(rest*variance)+mean*mean/variance-restLinear*restLinear/rest)/2
	}
	// the integral of the prior times exp(−½ Σ τ s² + Σ ν s)
	factor, ok := dense.Factorize(slices.Clone(p.covariance), k, 0)
	if !ok {
		return math.NaN()
	}
	sum += factor.LogDet() / 2
	for a := range k {
		sum -= math.Log(p.SD[a]) - p.Active.Mean[a]*p.Active.Mean[a]/(p.SD[a]*p.SD[a])/2
		sum += p.linear[a] * floats.Dot(p.covariance[a*k:(a+1)*k], p.linear) / 2
	}
	return sum
}
