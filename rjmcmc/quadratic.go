package rjmcmc

import "gonum.org/v1/gonum/mat"

// MaxQuadraticDim is the largest number of coordinates D for which a run fits a quadratic
// approximation, whose cost grows as D³.
const MaxQuadraticDim = 128

// Quadratic approximates the log density of every model by one quadratic form over all coordinates,
//
//	log η(θ | m) ≈ c(m) + b_A'θ_A − ½ θ_A' Λ_AA θ_A,
//
// where A are the active coordinates. It is exact for linear regression with known variance, and
// close wherever leaving out a coordinate has the same effect as setting it to 0. Proposals from it
// are valid for every target. A poor fit only lowers the acceptance rate.
type Quadratic struct {
	Linear    []float64 // b, [D]
	Precision []float64 // Λ, symmetric, [D*D]
	// Excess is the variance of ∂ log η/∂θ_j about its linear fit b_j − (Λθ)_j. It is 0 when the
	// approximation is exact. [D]
	Excess []float64
}

// fit estimates a Quadratic by least squares from steps of single coordinates. Let a step δ of
// coordinate i change the log density by Δ, and let θ̄ be the midpoint of the step. Where the log
// density is quadratic, Δ/δ = b_i − Σ_k Λ_ik θ̄_k. The equation is a linear regression for each row
// of Λ, with weights δ².
type fit struct {
	dim  int
	rows []regression
}

// regression holds the weighted sums of the regression for one row of Λ, with regressors x = (1,
// θ̄).
type regression struct {
	count     []float64 // [D+1] number of steps with coordinate k−1 active, at entry k; entry 0 counts all steps
	normal    []float64 // [(D+1)²] Σ δ² x xᵀ, lower triangle
	crossed   []float64 // [D+1] Σ δ Δ x
	squared   float64   // Σ Δ²
	positions []int     // scratch: entries of x that are not 0
}

func newFit(dim int) *fit {
	f := &fit{dim: dim, rows: make([]regression, dim)}
	for i := range f.rows {
		n := dim + 1
		f.rows[i] = regression{count: make([]float64, n), normal: make([]float64, n*n), crossed: make([]float64, n)}
	}
	return f
}

// Steps that change the log density by more than implausible are taken for steps in the tails and
// ignored. A chain accepts a fall by 50 once in exp(50) proposals.
const implausible = 50

// observe adds a step of coordinate i by delta, which changes the log density by change.
func (f *fit) observe(i int, mask []bool, theta []float64, delta, change float64) {
	if !(change > -implausible && change < implausible) {
		return
	}
	r, n := &f.rows[i], f.dim+1
	r.positions = append(r.positions[:0], 0)
	for k, on := range mask {
		if on {
			r.positions = append(r.positions, k+1)
		}
	}
	x := func(position int) float64 {
		switch position {
		case 0:
			return 1
		case i + 1:
			return theta[i] + delta/2
		}
		return theta[position-1]
	}
	r.squared += change * change
	for a, p := range r.positions {
		xp := x(p)
		r.count[p]++
		r.crossed[p] += delta * change * xp
		for _, q := range r.positions[:a+1] {
			r.normal[p*n+q] += delta * delta * xp * x(q)
		}
	}
}

// solve returns the approximation. For a coordinate with too few steps, or without negative
// curvature, it uses the precision and mean of the population, which t holds.
func (f *fit) solve(t *Tuning) *Quadratic {
	d := f.dim
	q := &Quadratic{Linear: make([]float64, d), Precision: make([]float64, d*d), Excess: make([]float64, d)}
	raw := make([][]float64, d) // coefficients of x by row, nil if the regression has too few steps
	for i := range f.rows {
		raw[i] = f.rows[i].solve()
		if raw[i] != nil && !(raw[i][i+1] < 0) {
			raw[i] = nil
		}
	}
	for i := range d {
		if raw[i] == nil {
			precision := 1 / (t.BirthSD[i] * t.BirthSD[i])
			q.Precision[i*d+i], q.Linear[i] = precision, precision*t.BirthMean[i]
			continue
		}
		q.Precision[i*d+i] = -raw[i][i+1]
		for k := range i {
			if raw[k] == nil {
				continue
			}
			// Λ_ik has two estimates, from rows i and k. Weight them by their numbers of steps.
			wi, wk := f.rows[i].count[k+1], f.rows[k].count[i+1]
			if wi+wk > 0 {
				v := -(wi*raw[i][k+1] + wk*raw[k][i+1]) / (wi + wk)
				q.Precision[i*d+k], q.Precision[k*d+i] = v, v
			}
		}
	}
	for i := range d {
		if raw[i] != nil {
			q.Linear[i], q.Excess[i] = f.rows[i].recentre(q.Precision[i*d : (i+1)*d])
		}
	}
	return q
}

// solve returns the coefficients of x, or nil when there are fewer than ten steps. A ridge penalty
// keeps the coefficient of a coordinate near 0 if the coordinate was active in few steps, and
// hardly changes other coefficients: for a coordinate active in n steps, the penalty is the
// weighted sum of squares of the regressor divided by n², and 1 for n = 0.
func (r *regression) solve() []float64 {
	const fewest = 10
	if r.count[0] < fewest {
		return nil
	}
	n := len(r.crossed)
	normal := mat.NewSymDense(n, nil)
	for p := range n {
		for q := range p + 1 {
			normal.SetSym(p, q, r.normal[p*n+q])
		}
		ridge := 1.0
		if r.count[p] > 0 {
			ridge = r.normal[p*n+p] / (r.count[p] * r.count[p])
		}
		normal.SetSym(p, p, normal.At(p, p)+ridge)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(normal) {
		return nil
	}
	var coefficients mat.VecDense
	if err := cholesky.SolveVecTo(&coefficients, mat.NewVecDense(n, r.crossed)); err != nil {
		return nil // the matrix is too badly conditioned
	}
	return coefficients.RawVector().Data
}

// recentre returns the best constant b_i for a row of Λ, and the mean square of the residuals.
func (r *regression) recentre(precision []float64) (constant, excess float64) {
	n := len(r.crossed)
	coefficients := make([]float64, n)
	constant = r.crossed[0]
	for k, v := range precision {
		coefficients[k+1] = -v
		constant += v * r.normal[(k+1)*n]
	}
	constant /= r.normal[0]
	coefficients[0] = constant
	excess = r.squared
	for p, c := range coefficients {
		excess += c * (c*r.normal[p*n+p] - 2*r.crossed[p])
		for q, e := range coefficients[:p] {
			excess += 2 * c * e * r.normal[p*n+q]
		}
	}
	return constant, max(0, excess) / r.normal[0]
}
