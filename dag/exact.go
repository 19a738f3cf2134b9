package dag

import (
	gocontext "context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

var halfLog2Pi = math.Log(2*math.Pi) / 2

// ExactScores are the log evidences of all families in closed form: linear mechanisms, and an unknown noise scale integrated by quadrature over log σ.
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
}

func newLinearStats(d *Data, node int) *linearStats {
	s := &linearStats{node: node, gram: mat.NewSymDense(d.Nodes(), nil), logSD: d.logSD(node)}
	for row := range d.Rows() {
		if d.counts(row, node) {
			s.rows++
			s.gram.SymRankOne(s.gram, 1, d.X.RowView(row))
		}
	}
	return s
}

// logEvidence is log p(x_j | x_pa): sigma is the noise scale, 0 if it is to be integrated over its prior.
func (s *linearStats) logEvidence(parents Set, sigma, priorSD float64) float64 {
	given := s.spectrum(parents)
	if sigma > 0 {
		return given.logEvidence(math.Log(sigma), priorSD)
	}
	return given.integrate(s.logSD, priorSD)
}

// spectrum is a regression of the node on its parents in the eigenvectors of XᵀX, where every noise scale is a sum.
type spectrum struct {
	rows     int
	squares  float64   // |x_j|²
	values   []float64 // eigenvalues of X_paᵀX_pa
	loadings []float64 // X_paᵀx_j in its eigenvectors
}

func (s *linearStats) spectrum(parents Set) spectrum {
	out := spectrum{rows: s.rows, squares: s.gram.At(s.node, s.node)}
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
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	out.values = eigen.Values(nil)
	var loadings mat.VecDense
	loadings.MulVec(vectors.T(), mat.NewVecDense(len(right), right))
	out.loadings = loadings.RawVector().Data
	return out
}

// logEvidence is log N(x_j; 0, σ² I + σ0² X_pa X_paᵀ).
func (s spectrum) logEvidence(logSigma, priorSD float64) float64 {
	precision := math.Exp(-2 * logSigma)
	sum := -float64(s.rows)*(logSigma+halfLog2Pi) - s.squares*precision/2
	variance, logDet, product := priorSD*priorSD, 0.0, 1.0
	for k, value := range s.values {
		factor := 1 + math.Max(value, 0)*precision*variance
		sum += square(s.loadings[k]*precision) * variance / (2 * factor)
		if product *= factor; product > 1e200 { // one logarithm for many factors
			logDet += math.Log(product)
			product = 1
		}
	}
	return sum - (logDet+math.Log(product))/2
}

// slope is the first derivative of logEvidence in log σ, and the second.
func (s spectrum) slope(logSigma, priorSD float64) (first, second float64) {
	precision, variance := math.Exp(-2*logSigma), priorSD*priorSD
	first, second = s.squares*precision-float64(s.rows), -2*s.squares*precision
	for k, value := range s.values {
		// With r = v p σ0² and c = (loading p)² σ0²: d/dlogσ of r is −2r, of c it is −4c.
		r, c := math.Max(value, 0)*precision*variance, square(s.loadings[k]*precision)*variance
		share := r / (1 + r)
		first += share - c/(1+r)*(2-share)
		second += -2*share*(1-share) + c/(1+r)*((2-share)*(4-2*share)-2*share*(1-share))
	}
	return first, second
}

// integrate is log ∫ exp(logEvidence) over the prior of log σ, whose mean is logSD. By the trapezoid rule from the peak until the integrand has fallen by far: spaced
// by 0.7 standard deviations, as the curvature at the peak gives them, it errs by less than e^-36 for a normal density.
func (s spectrum) integrate(logSD, priorSD float64) float64 {
	f := func(logSigma float64) float64 {
		return s.logEvidence(logSigma, priorSD) - square((logSigma-logSD)/logSigmaSD)/2 - halfLog2Pi - math.Log(logSigmaSD)
	}
	peak, curvature := logSD, 0.0
	for range 100 {
		first, second := s.slope(peak, priorSD)
		first -= (peak - logSD) / square(logSigmaSD)
		curvature = math.Max(-second, 0) + 1/square(logSigmaSD)
		step := math.Max(-1, math.Min(1, first/curvature))
		if peak += step; math.Abs(step) < 1e-4 {
			break
		}
	}
	top, step, sum := f(peak), 0.7/math.Sqrt(curvature), 1.0
	for _, direction := range []float64{-1, 1} {
		for k := 1.0; ; k++ {
			term := f(peak+direction*k*step) - top
			if sum += math.Exp(term); term < -negligible {
				break
			}
		}
	}
	return top + math.Log(sum*step)
}
