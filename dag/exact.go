package dag

import (
	gocontext "context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
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
	s := &linearStats{node: node, gram: mat.NewSymDense(d.Nodes(), nil), logSD: math.Log(stat.StdDev(mat.Col(nil, node, d.X), nil))}
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
	return integrate(func(logSigma float64) float64 {
		standard := (logSigma - s.logSD) / logSigmaSD
		return given.logEvidence(logSigma, priorSD) - standard*standard/2 - halfLog2Pi - math.Log(logSigmaSD)
	}, s.logSD)
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
	for k, value := range s.values {
		curvature := math.Max(value, 0)*precision + 1/(priorSD*priorSD)
		sum += square(s.loadings[k]*precision)/(2*curvature) - math.Log(curvature*priorSD*priorSD)/2
	}
	return sum
}

// integrate is log ∫ exp f for a smooth f with a single peak, by the trapezoid rule from the peak until f has fallen by far; start is where to look for the peak.
// Spaced by half a standard deviation, as the curvature at the peak gives it, the rule errs by less than e^-70 for a normal density.
func integrate(f func(float64) float64, start float64) float64 {
	// The peak: steps that grow until f falls, then golden section.
	low, high := start-1, start+1
	for f(low) > f(low+0.5) && low > start-100 {
		low -= start - low
	}
	for f(high) > f(high-0.5) && high < start+100 {
		high += high - start
	}
	const golden = 0.6180339887498949
	for high-low > 1e-6 {
		a, b := high-golden*(high-low), low+golden*(high-low)
		if f(a) > f(b) {
			high = b
		} else {
			low = a
		}
	}
	peak, top := (low+high)/2, f((low+high)/2)
	const nudge = 1e-3
	curvature := -(f(peak+nudge) - 2*top + f(peak-nudge)) / (nudge * nudge)
	step := 0.5 / math.Sqrt(math.Max(curvature, 1/square(logSigmaSD)))
	sum := 1.0
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
