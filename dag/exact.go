package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

var halfLog2Pi = math.Log(2*math.Pi) / 2

// ExactScores are the log evidences of all families in closed form: linear mechanisms, and an
// unknown noise scale integrated by quadrature over log σ.
func (p *Problem) ExactScores(ctx gocontext.Context, progress func(done, total int)) (Scores, error) {
	if p.Model.Mechanism != Linear {
		return Scores{}, fmt.Errorf("exact scores exist for linear mechanisms only, not for %s", p.Model.Mechanism)
	}
	scores := Scores{Families: p.Families, LogEvidence: make([]float64, len(p.Families)), SE: make([]float64, len(p.Families))}
	node, stats := -1, (*linearStats)(nil)
	for i, f := range p.Families {
		if err := ctx.Err(); err != nil {
			return Scores{}, fmt.Errorf("stopped after %d of %d families: %w", i, len(p.Families), err)
		}
		if f.Node != node {
			node, stats = f.Node, newLinearStats(p.Data, f.Node)
		}
		scores.LogEvidence[i] = stats.logEvidence(f.Parents, p.Model.Sigma, p.Model.PriorSD)
		if progress != nil {
			progress(i+1, len(p.Families))
		}
	}
	return scores, nil
}

// linearStats are the sufficient statistics of one node.
type linearStats struct {
	node, rows int
	gram       *mat.SymDense // Σ x xᵀ over the rows that count for the node [N,N]
	logSD      float64       // log standard deviation of the node: the prior mean of log σ
	// root is R with RᵀR = gram, which has the digits that sums of squares lose. Few families need
	// it.
	root func() *mat.Dense
}

func newLinearStats(d *Data, node int) *linearStats {
	s := &linearStats{node: node, gram: mat.NewSymDense(d.Nodes(), nil), logSD: d.logSD(node)}
	for row := range d.Rows() {
		if d.counts(row, node) {
			s.rows++
			s.gram.SymRankOne(s.gram, 1, d.X.RowView(row))
		}
	}
	s.root = sync.OnceValue(func() *mat.Dense { return mat.NewDense(d.Nodes(), d.Nodes(), rootOfGram(d, node)) })
	return s
}

// logEvidence is log p(x_j | x_pa): sigma is the noise scale, 0 if it is to be integrated over its
// prior.
func (s *linearStats) logEvidence(parents dgraph.Set, sigma, priorSD float64) float64 {
	given := s.spectrum(parents)
	if sigma > 0 {
		return given.logEvidence(math.Log(sigma), priorSD)
	}
	return given.integrate(s.logSD, priorSD)
}

// spectrum is a regression of the node on its parents along the singular vectors of X_pa, X_pa =
// Σ_k √v_k a_k b_kᵀ, where every noise scale is a sum of terms of one sign: differences of large
// numbers would leave nothing where parents interpolate the node, as they do when rows are few.
type spectrum struct {
	rows    int
	outside float64    // |x_j|² less the squares along all a_k: what no weights explain
	values  []float64  // v_k
	squares []float64  // (a_kᵀx_j)²
	vectors *mat.Dense // b_k by columns; nil without parents
	signed  []float64  // a_kᵀx_j √v_k = b_kᵀX_paᵀx_j
}

// Digits of a spectrum, as shares of |x_j|².
const (
	// from the Gram matrix, what is outside the parents has a relative error of about 1e-15 over
	// this
	lostDigits = 1e-8
	// columns of float64 are known to 1e-16 of their size: less outside them is rounding, and
	// counts as this
	roundedOff = 1e-28
)

func (s *linearStats) spectrum(parents dgraph.Set) spectrum {
	total := math.Max(s.gram.At(s.node, s.node), math.SmallestNonzeroFloat64/roundedOff)
	out := spectrum{rows: s.rows, outside: total}
	of := parents.List()
	if len(of) == 0 {
		return out
	}
	gram, right := mat.NewSymDense(len(of), nil), make([]float64, len(of))
	for a, i := range of {
		right[a] = s.gram.At(i, s.node)
		for b := range a + 1 {
			gram.SetSym(a, b, s.gram.At(i, of[b]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		panic("dag: the eigenvalues of a matrix of sums of squares were not found: it has a value that is not finite")
	}
	out.vectors = new(mat.Dense)
	eigen.VectorsTo(out.vectors)
	out.values = eigen.Values(nil)
	var loadings mat.VecDense
	loadings.MulVec(out.vectors.T(), mat.NewVecDense(len(right), right))
	out.signed, out.squares = loadings.RawVector().Data, make([]float64, len(of))
	least := rounding * float64(len(of)) * out.values[len(of)-1] // ascending
	for k, value := range out.values {
		if !(value > least) { // a direction that the parents do not span
			out.values[k], out.signed[k] = 0, 0
			continue
		}
		out.squares[k] = square(out.signed[k]) / value
		out.outside -= out.squares[k]
	}
	if out.outside < lostDigits*total {
		out = s.carefulSpectrum(of)
	}
	out.outside = math.Max(out.outside, roundedOff*total)
	return out
}

// rounding is the relative error of float64.
const rounding = 1.0 / (1 << 52)

// carefulSpectrum is the spectrum from the columns themselves.
func (s *linearStats) carefulSpectrum(of []int) spectrum {
	root := s.root()
	rest := mat.Col(nil, s.node, root)
	columns := mat.NewDense(len(rest), len(of), nil)
	for k, i := range of {
		columns.SetCol(k, mat.Col(nil, i, root))
	}
	var svd mat.SVD
	if !svd.Factorize(columns, mat.SVDThin) {
		panic("dag: the singular values of a table were not found: it has a value that is not finite")
	}
	out := spectrum{rows: s.rows, values: svd.Values(nil), squares: make([]float64, len(of)), signed: make([]float64, len(of)), vectors: new(mat.Dense)}
	svd.VTo(out.vectors)
	var left mat.Dense
	svd.UTo(&left)
	least := rounding * float64(len(rest)) * out.values[0] // descending
	for k, value := range out.values {
		out.values[k] = 0
		if value > least {
			along := mat.Col(nil, k, &left)
			size := floats.Dot(along, rest)
			floats.AddScaled(rest, -size, along)
			out.values[k], out.squares[k], out.signed[k] = square(value), square(size), size*value
		}
	}
	out.outside = floats.Dot(rest, rest)
	return out
}

// logEvidence is log N(x_j; 0, σ² I + σ0² X_pa X_paᵀ).
func (s spectrum) logEvidence(logSigma, priorSD float64) float64 {
	precision := math.Exp(-2 * logSigma)
	sum := -float64(s.rows)*(logSigma+halfLog2Pi) - s.outside*precision/2
	ratio, logDet, product := precision*priorSD*priorSD, 0.0, 1.0
	for k, value := range s.values {
		factor := 1 + value*ratio
		sum -= s.squares[k] * precision / (2 * factor)
		if product *= factor; product > 1e200 { // one logarithm for many factors
			logDet += math.Log(product)
			product = 1
		}
	}
	return sum - (logDet+math.Log(product))/2
}

// slope is the first derivative of logEvidence in log σ, and the second.
func (s spectrum) slope(logSigma, priorSD float64) (first, second float64) {
	precision := math.Exp(-2 * logSigma)
	ratio := precision * priorSD * priorSD
	first, second = s.outside*precision-float64(s.rows), -2*s.outside*precision
	for k, value := range s.values {
		// With f = 1 + v σ0²/σ² and share = 1 − 1/f: d/dlogσ of log f is −2 share, of share it is
		// −2 share/f, of 1/(σ² f) it is −2/(σ² f²).
		left := 1 / (1 + value*ratio)
		share := 1 - left
		explained := s.squares[k] * precision * left * left
		first += explained + share
		second += 2*explained*(share-left) - 2*share*left
	}
	return first, second
}

// mode climbs from a start to a mode of the posterior of log σ and returns it with −1 times the
// second derivative there, which is at least that of the prior.
func (s spectrum) mode(start, logSD, priorSD float64) (peak, curvature float64) {
	peak = start
	for range 100 {
		first, second := s.slope(peak, priorSD)
		first -= (peak - logSD) / square(logSigmaSD)
		curvature = math.Max(-second, 0) + 1/square(logSigmaSD)
		step := math.Max(-1, math.Min(1, first/curvature))
		if peak += step; math.Abs(step) < 1e-4 {
			break
		}
	}
	return peak, curvature
}

// highestMode is the mode of the posterior of log σ with the largest density, as mode returns it.
func (s spectrum) highestMode(logSD, priorSD float64) (peak, curvature float64) {
	low, high, curvatures := s.modes(logSD, priorSD)
	density := func(logSigma float64) float64 {
		return s.logEvidence(logSigma, priorSD) - square((logSigma-logSD)/logSigmaSD)/2
	}
	if density(low) > density(high) {
		return low, curvatures[0]
	}
	return high, curvatures[1]
}

// modes climbs from below and from above. The density can have two modes, one where little is
// noise; it has none below the noise that all parents leave, nor above the node itself.
func (s spectrum) modes(logSD, priorSD float64) (low, high float64, curvatures [2]float64) {
	rows := float64(s.rows)
	low, curvatures[0] = s.mode(math.Min(logSD, math.Log(s.outside/rows)/2), logSD, priorSD)
	high, curvatures[1] = s.mode(math.Max(logSD, math.Log((s.outside+floats.Sum(s.squares))/rows)/2), logSD, priorSD)
	return low, high, curvatures
}

// overNoise visits evenly spaced values of log σ with the log of likelihood and prior, from a mode
// outwards until the density has fallen by far, and returns their distance: spacing is in units of
// 0.7 standard deviations, as the curvature at the mode gives them. Sums over them are integrals by
// the trapezoid rule, which errs by less than e^-36 for a normal density with a spacing of 1.
func (s spectrum) overNoise(logSD, priorSD, spacing float64, visit func(logSigma, logDensity float64)) (step float64) {
	f := func(logSigma float64) float64 {
		return s.logEvidence(logSigma, priorSD) - square((logSigma-logSD)/logSigmaSD)/2 - halfLog2Pi - math.Log(logSigmaSD)
	}
	low, high, curvatures := s.modes(logSD, priorSD)
	top, curvature := math.Max(f(low), f(high)), slices.Max(curvatures[:])
	const widest = 0.2 // of densities that are not normal, as of few rows
	step = spacing * math.Min(0.7/math.Sqrt(curvature), widest)
	visit(high, f(high))
	for _, direction := range []float64{-step, step} {
		for at := high + direction; ; at += direction {
			value := f(at)
			visit(at, value)
			if !(value-top >= -logsum.Negligible) && (at < low || direction > 0) {
				break
			}
		}
	}
	return step
}

// integrate is log ∫ exp(logEvidence) over the prior of log σ, whose mean is logSD.
func (s spectrum) integrate(logSD, priorSD float64) float64 {
	top, sum := 0.0, 0.0
	step := s.overNoise(logSD, priorSD, 1, func(_, logDensity float64) {
		switch {
		case sum == 0:
			top, sum = logDensity, 1
		case logDensity > top+logsum.Negligible: // a second mode
			top, sum = logDensity, 1+sum*math.Exp(top-logDensity)
		default:
			sum += math.Exp(logDensity - top)
		}
	})
	return top + math.Log(sum*step)
}
