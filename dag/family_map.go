package dag

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// familyMap is an affine map from the coordinates η that the flow works on to the parameters of a family: θ = μ + Lη on the coordinates in use. It
// sends N(0, I) to the normal distribution with the mode and the curvature of the posterior, so that the flow learns only what is not normal.
// A family's posterior has little in common with that of another, unlike subsets of one regression.
type familyMap struct {
	shift  []float64  // μ [D], 0 where not in use
	factor *mat.Dense // L [D,D], the identity where not in use; nil for the identity
	logDet float64
}

// normalMap is the map for a linear mechanism: exact when the noise is known, and a quadratic at the mode of (w, log σ) when it is not.
func normalMap(l layout, stats *linearStats, f Family, priorSD float64) familyMap {
	var of []int
	for i := range members(f.Parents) {
		of = append(of, i)
	}
	weights, logSigma := make([]float64, len(of)), stats.logSD
	if l.sigma > 0 {
		logSigma = math.Log(l.sigma)
	}
	shrinkage := 1 / (priorSD * priorSD)
	var squares float64
	var pull []float64 // X_paᵀ(x_j − X_pa w)
	for range 200 {
		precision := math.Exp(-2 * logSigma)
		weights = stats.solve(of, precision, shrinkage)
		squares, pull = stats.residual(of, weights)
		if l.sigma > 0 {
			break
		}
		// Newton's step in log σ; the density is log-concave in it.
		slope := -float64(stats.rows) + precision*squares - (logSigma-stats.logSD)/square(logSigmaSD)
		step := slope / (2*precision*squares + 1/square(logSigmaSD))
		step = math.Max(-1, math.Min(1, step))
		if logSigma += step; math.Abs(step) < 1e-10 {
			break
		}
	}
	active := len(of)
	if l.sigma == 0 {
		active++
	}
	out := familyMap{shift: make([]float64, l.dim())}
	if active == 0 {
		return out
	}
	precision := math.Exp(-2 * logSigma)
	curvature := mat.NewSymDense(active, nil)
	for a, i := range of {
		for b := range a + 1 {
			value := precision * stats.gram.At(i, of[b])
			if a == b {
				value += shrinkage
			}
			curvature.SetSym(a, b, value)
		}
		if l.sigma == 0 {
			curvature.SetSym(a, active-1, 2*precision*pull[a])
		}
		out.shift[i] = weights[a]
	}
	place := of
	if l.sigma == 0 {
		curvature.SetSym(active-1, active-1, 2*precision*squares+1/square(logSigmaSD))
		place = append(place[:len(of):len(of)], l.weights())
		out.shift[l.weights()] = logSigma
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(curvature) {
		return out // the flow starts from the mode with unit scales
	}
	var lower mat.TriDense
	cholesky.LTo(&lower)
	var inverse mat.TriDense
	if err := inverse.InverseTri(&lower); err != nil {
		return out
	}
	out.factor = mat.NewDense(l.dim(), l.dim(), nil)
	for k := range l.dim() {
		out.factor.Set(k, k, 1)
	}
	for a, i := range place {
		for b, j := range place {
			out.factor.Set(i, j, inverse.At(b, a)) // L⁻ᵀ
		}
		out.logDet += math.Log(inverse.At(a, a))
	}
	return out
}

// solve returns the mode of the weights of the parents given the noise.
func (s *linearStats) solve(of []int, precision, shrinkage float64) []float64 {
	if len(of) == 0 {
		return nil
	}
	left, right := mat.NewSymDense(len(of), nil), mat.NewVecDense(len(of), nil)
	for a, i := range of {
		right.SetVec(a, precision*s.gram.At(i, s.node))
		for b := range a + 1 {
			left.SetSym(a, b, precision*s.gram.At(i, of[b]))
		}
		left.SetSym(a, a, left.At(a, a)+shrinkage)
	}
	var cholesky mat.Cholesky
	solution := mat.NewVecDense(len(of), nil)
	if cholesky.Factorize(left) && cholesky.SolveVecTo(solution, right) == nil {
		return solution.RawVector().Data
	}
	return make([]float64, len(of)) // singular to rounding: any start will do
}

// residual returns |x_j − X_pa w|² and X_paᵀ(x_j − X_pa w).
func (s *linearStats) residual(of []int, weights []float64) (squares float64, pull []float64) {
	squares = s.gram.At(s.node, s.node)
	for a, i := range of {
		force := s.gram.At(i, s.node)
		for b, k := range of {
			force -= s.gram.At(i, k) * weights[b]
		}
		pull = append(pull, force)
		squares -= weights[a] * (s.gram.At(i, s.node) + force)
	}
	return math.Max(squares, 1e-300), pull
}
