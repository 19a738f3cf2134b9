package dag

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// familyQuadratic approximates the log density of the parameters of a family near its mode by −½ θᵀHθ + bᵀθ.
type familyQuadratic struct {
	precision []float64 // H [D·D], the identity where not in use
	linear    []float64 // b [D], 0 where not in use
	mode      []float64 // [D], 0 where not in use
}

// newQuadratic is that of a linear mechanism: exact when the noise is known, and at the mode of (w, log σ) when it is not.
func newQuadratic(l layout, stats *linearStats, f Family, priorSD float64) familyQuadratic {
	of := f.Parents.List()
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
	dim := l.dim()
	q := familyQuadratic{make([]float64, dim*dim), make([]float64, dim), make([]float64, dim)}
	set := func(a, b int, value float64) { q.precision[a*dim+b], q.precision[b*dim+a] = value, value }
	for k := range dim {
		set(k, k, 1)
	}
	precision := math.Exp(-2 * logSigma)
	for a, i := range of {
		q.mode[i] = weights[a]
		for _, k := range of {
			set(i, k, precision*stats.gram.At(i, k))
		}
		set(i, i, precision*stats.gram.At(i, i)+shrinkage)
		if l.sigma == 0 {
			set(i, l.weights(), 2*precision*pull[a])
		}
	}
	if l.sigma == 0 {
		q.mode[l.weights()] = logSigma
		set(l.weights(), l.weights(), 2*precision*squares+1/square(logSigmaSD))
	}
	for a := range dim {
		for b := range dim {
			q.linear[a] += q.precision[a*dim+b] * q.mode[b]
		}
	}
	return q
}

// transform is T with TTᵀ = H⁻¹ over the coordinates in use, by rows [D·D] and zero elsewhere, and its log determinant.
func (q familyQuadratic) transform(mask []bool) (scale []float64, logDet float64) {
	dim := len(mask)
	scale = make([]float64, dim*dim)
	of := used(mask)
	if len(of) == 0 {
		return scale, 0
	}
	precision := mat.NewSymDense(len(of), nil)
	for a, i := range of {
		for b := range a + 1 {
			precision.SetSym(a, b, q.precision[i*dim+of[b]])
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(precision) {
		panic("dag: the curvature at a mode is not positive definite")
	}
	var upper, inverse mat.TriDense
	cholesky.UTo(&upper)
	_ = inverse.InverseTri(&upper) // the condition number is bounded by the prior; what rounding leaves is weighed
	for a, i := range of {
		logDet -= math.Log(upper.At(a, a))
		for b, k := range of {
			scale[i*dim+k] = inverse.At(a, b)
		}
	}
	return scale, logDet
}

// used lists the coordinates in use.
func used(mask []bool) (of []int) {
	for k, on := range mask {
		if on {
			of = append(of, k)
		}
	}
	return of
}

// sampler draws from the normal distribution that the quadratic gives the coordinates in use; squares is (θ−μ)ᵀH(θ−μ).
func (q familyQuadratic) sampler(mask []bool) func(random *rand.Rand) (theta []float64, squares float64) {
	dim, of := len(mask), used(mask)
	scale, _ := q.transform(mask)
	noise := make([]float64, len(of))
	return func(random *rand.Rand) (theta []float64, squares float64) {
		for a := range noise {
			noise[a] = random.NormFloat64()
			squares += square(noise[a])
		}
		theta = make([]float64, dim)
		for _, k := range of {
			theta[k] = q.mode[k]
			for a, m := range of {
				theta[k] += scale[k*dim+m] * noise[a]
			}
		}
		return theta, squares
	}
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
