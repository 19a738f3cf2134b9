package surrogate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// dense computes exact regression from all observations at once. Each observation has a time, and
// the covariance of f at two observations is k(c,c') times 1 + W at the earlier of their two times.
func dense(p *Process, observed []summary, walks []float64, now float64) (mean, variance []float64) {
	count := len(observed)
	codes := make([][]int32, count)
	for i, summary := range observed {
		codes[i] = p.decode(summary.model)
	}
	all := make([][]int32, p.count)
	for m := range all {
		all[m] = p.decode(m)
	}
	pure := p.kernel.matrix(codes, codes)
	covariance := mat.NewSymDense(count, nil)
	y := mat.NewVecDense(count, nil)
	for i := range count {
		for j := range i + 1 {
			covariance.SetSym(i, j, pure.At(i, j)*(1+math.Min(walks[i], walks[j])))
		}
		covariance.SetSym(i, i, covariance.At(i, i)+observed[i].variance)
		y.SetVec(i, observed[i].mean-p.constant)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(covariance) {
		panic("not positive definite")
	}
	cross := p.kernel.matrix(all, codes)
	mean, variance = make([]float64, p.count), make([]float64, p.count)
	for m := range all {
		k := mat.NewVecDense(count, nil)
		for i := range count {
			k.SetVec(i, cross.At(m, i)*(1+walks[i]))
		}
		var solved mat.VecDense
		if err := cholesky.SolveVecTo(&solved, k); err != nil {
			panic(err)
		}
		mean[m] = p.constant + mat.Dot(&solved, y)
		variance[m] = p.kernel.scale*(1+now) - mat.Dot(&solved, k)
	}
	return mean, variance
}

// TestProcessIsExactRegression makes every code an inducing code. The belief must then equal exact
// regression after each batch, with movement between batches. Without the movement it must differ.
func TestProcessIsExactRegression(t *testing.T) {
	for _, test := range []struct {
		name   string
		ignore bool
	}{{"honest", false}, {"without movement", true}} {
		t.Run(test.name, func(t *testing.T) {
			p := NewProcess([]int{2, 3, 2}, 0)
			p.kernel = kernel{scale: 4, relevance: []float64{0.3, 1.1, 0.05}}
			p.constant = -7
			for m := range p.count {
				p.seen, p.codes = append(p.seen, summary{model: m, variance: 1}), append(p.codes, p.decode(m))
			}
			p.restart()
			random := stream.Rand(1, "process")
			var observed []summary
			var walks []float64
			total := 0.0
			for range 6 {
				var batch []summary
				for range 5 {
					batch = append(batch, summary{random.IntN(p.count), -7 + 3*random.NormFloat64(), 0.1 + random.Float64()})
				}
				movement := random.Float64()
				total += movement * movement / p.kernel.scale
				if !test.ignore {
					p.fade(movement)
				}
				p.condition(batch)
				for _, summary := range batch {
					observed, walks = append(observed, summary), append(walks, total)
				}
			}
			mean, sd := make([]float64, p.count), make([]float64, p.count)
			p.Predict(0, mean, sd)
			wantMean, wantVariance := dense(p, observed, walks, total)
			worst := 0.0
			for m := range mean {
				worst = math.Max(worst, math.Abs(mean[m]-wantMean[m])+math.Abs(sd[m]*sd[m]-wantVariance[m]))
			}
			if test.ignore {
				require.Greater(t, worst, 0.01)
			} else {
				require.Less(t, worst, 1e-6)
			}
		})
	}
}

// TestMarginalLikelihood compares the derivative of the marginal likelihood with finite
// differences, and its value with the log density of a normal vector.
func TestMarginalLikelihood(t *testing.T) {
	p := NewProcess([]int{2, 3, 2, 2}, 0)
	random := stream.Rand(2, "marginal")
	f := &marginal{scaleCentre: 1}
	for _, model := range random.Perm(p.count)[:15] {
		f.codes = append(f.codes, p.decode(model))
		f.values, f.variances = append(f.values, 3*random.NormFloat64()), append(f.variances, 0.2+random.Float64())
	}
	x := []float64{0.7, -1, -0.5, -2, 0.3}
	f.evaluate(x)
	gradient := f.gradient
	for i := range x {
		const h = 1e-5
		shifted := append([]float64(nil), x...)
		shifted[i] += h
		f.evaluate(shifted)
		up := f.value
		shifted[i] -= 2 * h
		f.evaluate(shifted)
		require.InDelta(t, (up-f.value)/(2*h), gradient[i], 1e-5, "coordinate %d", i)
	}
}

// additive is a function of 10 bits. Three of the bits matter, two of them jointly.
func additive(model int) float64 {
	x := func(bit int) float64 { return float64(model >> bit & 1) }
	return -100 + 8*x(9) - 5*x(4) + 3*x(4)*x(0)
}

// TestProcessSharesStrength observes a few dozen of 1,024 codes. The process must find the relevant
// sites and predict the other codes.
func TestProcessSharesStrength(t *testing.T) {
	p := NewProcess([]int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 100)
	random := stream.Rand(3, "additive")
	for range 25 {
		models, rewards := make([]int, 32), make([]float64, 32)
		for i := range models {
			models[i] = random.IntN(1024)
			rewards[i] = additive(models[i]) + 0.3*random.NormFloat64()
		}
		p.Observe(models, rewards, 0)
	}
	mean, sd := make([]float64, 1024), make([]float64, 1024)
	p.Predict(0, mean, sd)
	var square, scaled float64
	for m := range mean {
		miss := mean[m] - additive(m)
		square += miss * miss / 1024
		scaled += miss * miss / (sd[m] * sd[m]) / 1024
	}
	require.Less(t, math.Sqrt(square), 0.6, "the rewards of all models have a standard deviation of 4.9")
	require.Less(t, scaled, 2.0)
	relevance := p.kernel.relevance
	for s, r := range relevance { // site 0 is the highest bit, bit 9
		if s == 0 || s == 5 || s == 9 {
			require.Greater(t, r, 0.002, "site %d", s)
		} else {
			require.Less(t, r, relevance[0]/5, "site %d", s)
		}
	}
	require.InDelta(t, 0.09, p.noise.value, 0.09, "on its way from a first guess of 1")
}

// TestProcessFarAway checks that the belief about a code far from all observations is the prior.
func TestProcessFarAway(t *testing.T) {
	p := NewProcess([]int{2, 2, 2}, 1)
	p.kernel = kernel{scale: 9, relevance: []float64{20, 20, 20}}
	p.constant = -5
	p.seen, p.codes = []summary{{model: 0, variance: 1}}, [][]int32{{0, 0, 0}}
	p.restart()
	p.condition([]summary{{0, 100, 0.01}})
	mean, sd := make([]float64, 2), make([]float64, 2)
	p.Predict(6, mean, sd)
	require.InDeltaSlice(t, []float64{-5, -5}, mean, 1e-6)
	require.InDeltaSlice(t, []float64{3, 3}, sd, 1e-6)
}

// TestProcessLongRun changes models and movement over a long run. The covariance must stay positive
// definite, and the state must keep its length. A belief that is restored from a state during the
// run must end with the same numbers, to the bit.
func TestProcessLongRun(t *testing.T) {
	cards := []int{2, 3, 2, 2, 2, 2}
	whole, first := NewProcess(cards, 24), NewProcess(cards, 24)
	run := func(p *Process, from, to int) {
		for step := from; step < to; step++ {
			random := rand.New(rand.NewPCG(9, uint64(step)))
			models, rewards := make([]int, 16), make([]float64, 16)
			for i := range models {
				models[i] = random.IntN(1 + random.IntN(p.count))
				rewards[i] = -50 + float64(models[i]%7) + math.Sin(float64(step)/50) + 0.1*random.NormFloat64()
			}
			p.Observe(models, rewards, 0.2*math.Exp(-float64(step)/100))
		}
	}
	run(whole, 0, 700)
	run(first, 0, 333)
	second := NewProcess(cards, 24)
	require.NoError(t, second.SetState(first.State()))
	run(second, 333, 700)
	require.Equal(t, whole.State(), second.State())
	require.Len(t, NewProcess(cards, 24).State(), len(whole.State()))
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(whole.cov, false))
	require.Greater(t, eigen.Values(nil)[0], 0.0)
	require.Error(t, second.SetState([]float64{1}))
	a, b := Utilities(whole, UCB, 2, nil, make([]float64, whole.count)), Utilities(second, UCB, 2, nil, make([]float64, whole.count))
	require.Equal(t, a, b)
}

// TestProcessDraw compares draws with the predicted mean and variance. With 4,000 draws of each of
// 8 models and a tolerance of 5 standard errors, a false alarm has probability 1e-5.
func TestProcessDraw(t *testing.T) {
	p := NewProcess([]int{2, 2, 2}, 5)
	random := stream.Rand(4, "draw")
	p.Observe([]int{0, 1, 2, 4, 7, 0}, []float64{1, 2, 3, 1, 0, 1.3}, 0)
	p.fade(0.7)
	mean, sd := make([]float64, 8), make([]float64, 8)
	p.Predict(0, mean, sd)
	checkDraws(t, p, mean, sd, random)
}

func checkDraws(t *testing.T, b Belief, mean, sd []float64, random *rand.Rand) {
	const draws = 4000
	sum, squares := make([]float64, len(mean)), make([]float64, len(mean))
	for range draws {
		for m, value := range Utilities(b, Thompson, 0, random, make([]float64, len(mean))) {
			sum[m] += value
			squares[m] += (value - mean[m]) * (value - mean[m])
		}
	}
	for m := range mean {
		require.InDelta(t, mean[m], sum[m]/draws, 5*sd[m]/math.Sqrt(draws)+1e-9)
		require.InDelta(t, 1, squares[m]/draws/(sd[m]*sd[m]), 5*math.Sqrt(2.0/draws))
	}
}
