package rjmcmc

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
)

// QuadraticTarget is a Target with a quadratic approximation of its log density in every model,
//
//	log η(θ | m) ≈ c(m) + b(m)'θ_A − ½ θ_A' Λ(m) θ_A,
//
// where A are the active coordinates. A run then fits no approximation, and the acceptance of
// births and exchanges depends on the quality of the given approximation. For a linear regression
// of known variance it is exact.
type QuadraticTarget interface {
	Target
	// Quadratic returns Λ(m) [B,D,D] and b(m) [B,D] of each model, computed in dtype: codes [B,S]
	// int32, mask [B,D] Bool. Only entries of active coordinates are read. Births do not use Λ if
	// it is not positive definite.
	Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node)
}

// A change of model under a QuadraticTarget uses standardised coordinates u. Order the active
// coordinates such that the kept coordinates R come first, and let Λ = L L'. Then u = L'(θ − Λ⁻¹b)
// is standard normal under the approximation, and the last entries of u are a function of the last
// coordinates alone. The move keeps u_R, drops u_K of the coordinates that die, draws u_J' of the
// coordinates that are born, and maps u' back to values by L' and b of the new model. The Jacobian
// of the move is |L|/|L'|. If Λ_RR and b_R are the same in both models, the map equals the map of
// propagate.

// standard is the approximation of one model over a list of n of its coordinates, in the order of
// the list.
type standard struct {
	factor dense.Factor // Cholesky factor of Λ
	mean   []float64    // Λ⁻¹b, [n]
	logDet float64      // log determinant of the factor
}

// standard returns the approximation of the model in row c; ok is false if Λ is not positive
// definite.
func (p *population) standard(w *workspace, c int, coordinates []int) (st standard, ok bool) {
	n, d := len(coordinates), p.dim
	lower := w.take(n * n)
	st.mean = w.take(n)
	precision, _ := p.approximation(c)
	beta := p.ladder.inverseTemperature(c)
	for r, i := range coordinates {
		st.mean[r] = p.slope(c, i)
		row := lower[r*n : r*n+r+1]
		for s, j := range coordinates[:r] {
			row[s] = beta * precision[max(i, j)*d+min(i, j)]
		}
		row[r] = p.curvature(c, i)
	}
	if st.factor, ok = dense.Factorize(lower, n, smallestPivot); !ok {
		return st, false
	}
	st.factor.Solve(st.mean)
	st.logDet = st.factor.LogDet() / 2
	return st, true
}

// toStandard replaces the values θ in x by standardised coordinates u.
func (st standard) toStandard(x []float64) {
	floats.Sub(x, st.mean)
	st.factor.MulUpper(x)
}

// fromStandard replaces the standardised coordinates u in x by values θ.
func (st standard) fromStandard(x []float64) {
	st.factor.SolveUpper(x)
	floats.Add(x, st.mean)
}

// transport proposes the values of row c under the model and mask of the proposal, given the lists
// of coordinates in w that stay, die and are born. It returns the term of the proposal in the log
// acceptance ratio. If one of the two models has no approximation, it changes nothing and returns
// false for ok, as it would for the reverse move.
func (s *sampler) transport(w *workspace, c int) (logRatio float64, ok bool) {
	_, from, _ := s.state.row(c)
	_, theta, _ := s.proposal.row(c)
	before := append(append(w.before[:0], w.from...), w.died...)
	after := append(append(w.after[:0], w.kept...), w.born...)
	w.before, w.after = before, after
	old, ok := s.standardOf(w, s.state, c, before, w.died)
	if !ok {
		return 0, false
	}
	fresh, ok := s.standardOf(w, s.proposal, c, after, w.born)
	if !ok {
		return 0, false
	}
	u := w.take(max(len(before), len(after)))
	for a, j := range before {
		u[a] = from[j]
	}
	old.toStandard(u[:len(before)])
	logRatio = old.logDet - fresh.logDet
	for _, v := range u[len(w.from):len(before)] {
		logRatio += logBirth(v)
	}
	for a := len(w.kept); a < len(after); a++ {
		u[a] = birthInflation * s.rngs[c].NormFloat64()
		logRatio -= logBirth(u[a])
	}
	fresh.fromStandard(u[:len(after)])
	for a, j := range after {
		theta[j] = u[a]
	}
	return logRatio, true
}

// logBirth returns the log density N(0, birthInflation²) of a standardised coordinate that is born.
func logBirth(u float64) float64 {
	u /= birthInflation
	return -0.5*(u*u+log2Pi) - logInflation
}

var logInflation = math.Log(birthInflation)
