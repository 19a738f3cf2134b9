package rjmcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/lab/testkit"
)

// quadratic returns the quadratic approximation of a linear target, with Λ and b in closed form.
func (l linearTarget) quadratic() *Quadratic {
	d := len(l.x[0])
	q := &Quadratic{Linear: make([]float64, d), Precision: make([]float64, d*d), Excess: make([]float64, d)}
	for i := range d {
		for row := range l.y {
			q.Linear[i] += l.x[row][i] * l.y[row] / (l.sigma * l.sigma)
		}
		for j := range d {
			for row := range l.y {
				q.Precision[i*d+j] += l.x[row][i] * l.x[row][j] / (l.sigma * l.sigma)
			}
		}
		q.Precision[i*d+i] += 1 / (l.tau * l.tau)
	}
	return q
}

func (q *Quadratic) logDensity(mask []bool, theta []float64) float64 {
	var sum float64
	for i := range theta {
		if !mask[i] {
			continue
		}
		sum += q.Linear[i] * theta[i]
		for j := range theta {
			if mask[j] {
				sum -= theta[i] * q.Precision[i*len(theta)+j] * theta[j] / 2
			}
		}
	}
	return sum
}

func TestFitRecoversAQuadratic(t *testing.T) {
	q := correlatedLinear(t).quadratic()
	const d = 5
	rng := rand.New(rand.NewPCG(1, 1))
	f := newFit(d)
	for range 3000 {
		mask, theta := make([]bool, d), make([]float64, d)
		var active []int
		for j := range mask {
			if mask[j] = rng.IntN(2) == 0; mask[j] {
				theta[j] = rng.NormFloat64()
				active = append(active, j)
			}
		}
		if len(active) == 0 {
			continue
		}
		i := active[rng.IntN(len(active))]
		from := q.logDensity(mask, theta)
		delta := 0.3 * rng.NormFloat64()
		moved := append([]float64{}, theta...)
		moved[i] += delta
		f.observe(i, mask, theta, delta, q.logDensity(mask, moved)-from)
	}
	tuning := newTuning(d)
	got := f.solve(&tuning)
	assert.InDeltaSlice(t, q.Precision, got.Precision, 1e-3)
	assert.InDeltaSlice(t, q.Linear, got.Linear, 1e-3)
	assert.InDeltaSlice(t, make([]float64, d), got.Excess, 1e-4)
}

func TestFitWithoutData(t *testing.T) {
	tuning := newTuning(2)
	tuning.BirthSD = []float64{4, 4}
	tuning.BirthMean[1] = 3
	got := newFit(2).solve(&tuning)
	assert.Equal(t, []float64{1.0 / 16, 0, 0, 1.0 / 16}, got.Precision)
	assert.Equal(t, []float64{0, 3.0 / 16}, got.Linear)
}

func TestMarginalAgainstDenseInverse(t *testing.T) {
	q := correlatedLinear(t).quadratic()
	q.Excess = []float64{0, 0.3, 0, 2, 0}
	kept, x := []int{0, 2, 4}, []int{1, 3}
	var w workspace
	m, ok := q.marginal(&w, kept, x, factorised(q, &w, kept))
	require.True(t, ok)

	const d = 5
	order := []int{0, 2, 4, 1, 3}
	precision, linear := mat.NewDense(d, d, nil), mat.NewVecDense(d, nil)
	for a, i := range order {
		linear.SetVec(a, q.Linear[i])
		for b, j := range order {
			precision.Set(a, b, q.Precision[i*d+j])
		}
	}
	var covariance, schurInverse, shift, widened mat.Dense
	require.NoError(t, covariance.Inverse(precision))
	var centre mat.VecDense
	centre.MulVec(&covariance, linear)
	assert.InDeltaSlice(t, []float64{centre.AtVec(3), centre.AtVec(4)}, m.mean, 1e-10)

	schurInverse.CloneFrom(covariance.Slice(3, 5, 3, 5))
	widened.Product(&schurInverse, mat.NewDense(2, 2, []float64{0.3, 0, 0, 2}), &schurInverse)
	widened.Add(&widened, &schurInverse)
	widened.Scale(birthInflation*birthInflation, &widened)
	factor := mat.NewTriDense(2, mat.Lower, nil)
	for i := range 2 {
		for j := range i + 1 {
			factor.SetTri(i, j, m.factor.At(i, j))
		}
	}
	var product mat.Dense
	product.Mul(factor, factor.T())
	assert.True(t, mat.EqualApprox(&widened, &product, 1e-10))

	require.NoError(t, shift.Solve(precision.Slice(0, 3, 0, 3), precision.Slice(0, 3, 3, 5)))
	assert.InDeltaSlice(t, shift.RawMatrix().Data, m.shift, 1e-10)
}

func TestMarginalDensityMatchesItsDraws(t *testing.T) {
	q := correlatedLinear(t).quadratic()
	var w workspace
	m, ok := q.marginal(&w, []int{0}, []int{1, 2}, factorised(q, &w, []int{0}))
	require.True(t, ok)
	// In two dimensions the entropy, the mean of −log density over draws, is log det L + log 2πe.
	rng := rand.New(rand.NewPCG(2, 2))
	const n = 20000
	values := make([]float64, 2)
	var sum, squares float64
	for range n {
		m.draw(rng, values)
		l := -m.logDensity(&w, values)
		sum += l / n
		squares += l * l / n
	}
	entropy := math.Log(2*math.Pi*math.E) + m.logDet
	assert.InDelta(t, entropy, sum, sigmas*math.Sqrt((squares-sum*sum)/n))
}

func TestTransferUndoesItself(t *testing.T) {
	s, err := newSampler(testkit.Backend(t), correlatedLinear(t), Config{Chains: 1, Seed: 1})
	require.NoError(t, err)
	s.rungs[0].tuning.Quadratic = correlatedLinear(t).quadratic()
	before := []float64{0.3, 0.5, 0, -0.2, 0}
	copy(s.state.theta, before)
	copy(s.state.mask, []bool{true, true, false, true, false})
	s.state.copyRow(s.proposal, 0)
	// Coordinate 1 dies, 2 and 4 are born, 0 and 3 stay.
	copy(s.proposal.mask, []bool{true, false, true, true, true})
	var w workspace
	s.propagate(&w, 0)
	assert.Zero(t, s.proposal.theta[1])
	for _, j := range []int{0, 2, 3, 4} {
		assert.NotEqual(t, before[j], s.proposal.theta[j], "coordinate %d", j)
	}

	// The reverse move, with the old value of coordinate 1, restores the kept values.
	kept := []int{0, 3}
	factor := factorised(s.rungs[0].tuning.Quadratic, &w, kept)
	theta := append([]float64{}, s.proposal.theta...)
	s.rungs[0].tuning.marginal(&w, kept, []int{2, 4}, factor).apply(kept, theta, []float64{theta[2], theta[4]}, 1)
	s.rungs[0].tuning.marginal(&w, kept, []int{1}, factor).apply(kept, theta, []float64{before[1]}, -1)
	assert.InDelta(t, before[0], theta[0], 1e-12)
	assert.InDelta(t, before[3], theta[3], 1e-12)
}

func TestIndefiniteApproximationFallsBack(t *testing.T) {
	tuning := newTuning(3)
	tuning.BirthSD = []float64{2, 2, 2}
	tuning.Quadratic = &Quadratic{
		Linear: make([]float64, 3), Excess: make([]float64, 3),
		Precision: []float64{1, 2, 0, 2, 1, 0, 0, 0, 1}, // indefinite in the first two coordinates
	}
	var w workspace
	_, definite := tuning.Quadratic.factorise(&w, []int{0, 1})
	assert.False(t, definite)
	m := tuning.marginal(&w, []int{0}, []int{1}, factorised(tuning.Quadratic, &w, []int{0}))
	assert.Nil(t, m.shift)
	assert.InDelta(t, 2, m.factor.At(0, 0), 1e-12)
	m = tuning.marginal(&w, []int{0}, []int{2}, factorised(tuning.Quadratic, &w, []int{0}))
	assert.NotNil(t, m.shift)
	m = tuning.marginal(&w, nil, []int{2}, dense.Factor{})
	assert.NotNil(t, m.shift)
	assert.InDelta(t, birthInflation, m.factor.At(0, 0), 1e-12)
}

// factorised returns the factor of Λ over coordinates; it has no rows if the factor does not exist.
func factorised(q *Quadratic, w *workspace, coordinates []int) dense.Factor {
	factor, _ := q.factorise(w, coordinates)
	return factor
}
