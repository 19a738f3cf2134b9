package varsel

import (
	"math"

	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

var _ rjmcmc.HostTarget = (*Target)(nil)

// hostDensity computes the log density of a Target in Go, on the processor (host), for a block of
// chains. One matrix product gives the linear predictors of all chains, and the log densities of
// the rows are summed for all chains at once.
type hostDensity struct {
	target  *Target
	columns likelihood.Columns
	rows    int // R, the number of chains in a block
	// logScale and inverse are log σ and 1/σ if σ is known. They are 0 and 1 for a likelihood
	// without a scale.
	logScale, inverse float64
	logPrior          space.LogTerms
	// precision and logNorm are 1/sd and log sd + ½ log 2π of the normal priors of parameters [D]
	precision, logNorm []float64
	// z = lines · theta holds the standardised arguments (a_i η_i + b_i)/σ of the densities of the
	// rows, where η_i is the linear predictor of row i, and a_i and b_i depend on its response. Row
	// i of lines [n, D+1] holds a_i x_i, where x_i is the row of the design matrix, and then b_i
	// plus a_i times the offset. A column of theta [D+1, R] holds the parameters of a chain divided
	// by σ, and then 1/σ.
	lines  []float64
	theta  []float64
	z      []float64   // [rows of a piece, R]
	pieces []hostPiece // parts of the responses
	sums   []float64   // terms of the log joint density without the responses [R]
}

// hostPiece is a part of the rows, so small that their densities stay in a cache.
type hostPiece struct {
	first, last   int
	plan          *kernel.ProductPlan[float64]
	shared, local []float64
}

var halfLog2Pi = math.Log(2*math.Pi) / 2

// pieceElements bounds the elements of z for a piece to 32 KiB, the size of a small L1 cache.
const pieceElements = 4096

// HostDensity implements [rjmcmc.HostTarget]. It returns nil for categorical responses, for
// responses that represent several rows, and for likelihoods whose sums over rows are no faster
// than in a computation graph.
func (t *Target) HostDensity(rows int) func(codes []int32, mask []bool, theta, logPrior, logJoint []float64) {
	columns, ok := t.Responses.Likelihood.(likelihood.Columns)
	if !ok || t.Responses.Times != nil {
		return nil
	}
	n, dim := len(t.Responses.Y), t.Dim
	h := &hostDensity{
		target: t, columns: columns, rows: rows, logScale: t.LogScale, inverse: math.Exp(-t.LogScale), logPrior: t.prior.LogTerms(len(t.space.Cards())),
		lines: make([]float64, n*(dim+1)), theta: make([]float64, (dim+1)*rows),
		sums: make([]float64, rows),
	}
	for _, sd := range t.SD {
		h.precision, h.logNorm = append(h.precision, 1/sd), append(h.logNorm, math.Log(sd)+halfLog2Pi)
	}
	for i, y := range t.Responses.Y {
		a, b := columns.Line(y)
		if t.Offset != nil {
			b += a * t.Offset[i]
		}
		line := h.lines[i*(dim+1):][:dim+1]
		for j := range dim {
			line[j] = a * t.X.At(i, j)
		}
		line[dim] = b
	}
	most := max(pieceElements/rows, 1)
	for first := 0; first < n; first += most {
		p := hostPiece{first: first, last: min(first+most, n)}
		p.plan = kernel.NewProductPlan[float64](kernel.Detect(), p.last-first, dim+1, rows, nil, nil)
		p.shared, p.local = make([]float64, p.plan.SharedScratch()), make([]float64, p.plan.LocalScratch())
		h.pieces = append(h.pieces, p)
	}
	h.z = make([]float64, min(most, n)*rows)
	return h.eval
}

// eval writes log p(m) to logPrior and log p(y, θ | m) to logJoint, for each chain of the block.
func (h *hostDensity) eval(codes []int32, mask []bool, theta, logPrior, logJoint []float64) {
	t, dim := h.target, h.target.Dim
	sites := len(codes) / h.rows
	for r := range h.rows {
		logPrior[r] = t.logPriorOf(h.logPrior, codes[r*sites:(r+1)*sites])
		h.sums[r] = h.setParameters(r, mask[r*dim:(r+1)*dim], theta[r*dim:(r+1)*dim])
	}
	clear(logJoint[:h.rows])
	for i := range h.pieces {
		p := &h.pieces[i]
		z := h.z[:(p.last-p.first)*h.rows]
		p.plan.Run(kernel.Dense(z, p.last-p.first, h.rows),
			kernel.Dense(h.lines[p.first*(dim+1):p.last*(dim+1)], p.last-p.first, dim+1),
			kernel.Dense(h.theta, dim+1, h.rows), false, p.shared, p.local)
		h.columns.SumColumns(t.Responses.Y[p.first:p.last], z, logJoint[:h.rows])
	}
	for r := range h.rows {
		logJoint[r] += h.sums[r]
	}
}

// setParameters writes the parameters of chain r, divided by σ, to its column of theta, and returns
// the terms of the log joint density without the responses.
func (h *hostDensity) setParameters(r int, mask []bool, theta []float64) (sum float64) {
	t, inverse, logScale := h.target, h.inverse, h.logScale
	if t.Scale >= 0 {
		logScale = theta[t.Scale]
		inverse = math.Exp(-logScale)
	}
	sum = t.LogConstant - float64(len(t.Responses.Y))*logScale
	if more := float64(t.Responses.More); more > 0 {
		sum -= more*logScale + 0.5*t.Responses.Residual*inverse*inverse
	}
	for j, on := range mask { // zeroOne replaces a branch that processors could not predict
		h.theta[j*h.rows+r] = theta[j] * inverse
		standard := (theta[j] - t.Mean[j]) * h.precision[j]
		sum -= zeroOne[bit(on)] * (0.5*standard*standard + h.logNorm[j])
	}
	h.theta[len(mask)*h.rows+r] = inverse
	return sum
}

// logPriorOf returns log p(m) of one model. terms holds the terms of log p(m) without heredity.
func (t *Target) logPriorOf(terms space.LogTerms, code []int32) float64 {
	switch {
	case t.heredity == nil:
		return terms.OfCode(code)
	case t.heredity.allows(code):
		return terms.OfCode(code) - t.heredity.logMass
	}
	return math.Inf(-1)
}

// zeroOne holds 0 and 1 as floating-point numbers.
var zeroOne = [2]float64{0, 1}

// bit returns 1 for true and 0 for false. In the arrays of regression.Outliers, 1 is the index of
// outliers and 0 of inliers.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
