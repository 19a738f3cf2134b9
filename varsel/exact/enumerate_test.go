package exact

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
)

func ExampleEnumerate() {
	t, err := table.ReadFile("../../testdata/hald.csv")
	if err != nil {
		panic(err)
	}
	d, err := design.New(t, design.Options{Target: "y"})
	if err != nil {
		panic(err)
	}
	r, err := Enumerate(context.Background(), Problem{
		X: d.X, Y: d.Y, Always: d.Always, Groups: d.Groups(), PriorSD: []float64{10, 1.5, 1.5, 1.5, 1.5},
		Noise: Noise{Log: math.Log(0.15)}, Scaling: &d.Scaling, LogConstant: d.LogJacobian(), Prior: space.Prior{Kind: space.UniformPrior},
	})
	if err != nil {
		panic(err)
	}
	for s, name := range d.PredictorNames() {
		fmt.Printf("%s %.3f\n", name, r.Inclusion[s])
	}
	fmt.Println(r.Count, r.Models[0].Code)
	// Output:
	// x1 0.993
	// x2 0.836
	// x3 0.168
	// x4 0.388
	// 16 [1 1 0 0]
}

// randomProblem returns a problem with an intercept, correlated columns, groups of columns, and
// nonzero prior means.
func randomProblem(seed uint64, rows int, groups [][]int, dim int) Problem {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := Problem{
		X: mat.NewDense(rows, dim, nil), Y: make([]float64, rows), Groups: groups, Noise: Noise{Log: math.Log(0.8)},
		PriorMean: make([]float64, dim), PriorSD: make([]float64, dim),
		Prior: space.Prior{Kind: space.BetaBinomialPrior, A: 1, B: 2}, LogConstant: -7,
	}
	inGroup := make([]bool, dim)
	for _, group := range groups {
		for _, j := range group {
			inGroup[j] = true
		}
	}
	for j := range dim {
		if !inGroup[j] {
			p.Always = append(p.Always, j)
		}
		p.PriorMean[j], p.PriorSD[j] = 0.3*rng.NormFloat64(), 0.5+rng.Float64()
	}
	for i := range rows {
		common := rng.NormFloat64()
		p.Y[i] = 5 + rng.NormFloat64()
		for j := range dim {
			v := 0.6*common + rng.NormFloat64()
			if j == 0 {
				v = 1
			}
			p.X.Set(i, j, v)
			if j%3 == 1 {
				p.Y[i] += v
			}
		}
	}
	p.PriorSD[0] = 5
	return p
}

// naiveModel evaluates one model at one σ by dense algebra. It returns the log evidence from the
// n-variate normal density, and the posterior mean and covariance of the active coefficients.
func naiveModel(p *Problem, active []int, sigma float64) (logEvidence float64, mean *mat.VecDense, cov *mat.SymDense) {
	n, _ := p.X.Dims()
	k := len(active)
	x, prior := mat.NewDense(n, max(k, 1), nil), mat.NewVecDense(max(k, 1), nil)
	s2 := mat.NewDiagDense(max(k, 1), nil)
	for a, j := range active {
		x.SetCol(a, mat.Col(nil, j, p.X))
		prior.SetVec(a, p.PriorMean[j])
		s2.SetDiag(a, p.PriorSD[j]*p.PriorSD[j])
	}
	var xs, full mat.Dense
	xs.Mul(x, s2)
	full.Mul(&xs, x.T())
	v := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			v.SetSym(i, j, full.At(i, j))
		}
		v.SetSym(i, i, full.At(i, i)+sigma*sigma)
	}
	var mu mat.VecDense
	mu.MulVec(x, prior)
	normal, ok := distmv.NewNormal(mu.RawVector().Data, v, nil)
	if !ok {
		panic("not positive definite")
	}
	// the posterior by conditioning the joint normal of θ and y: gain K = S X' V⁻¹, for the prior
	// covariance S of θ and the covariance V of y
	var inverse, gain, shrink mat.Dense
	if err := inverse.Inverse(v); err != nil {
		panic(err)
	}
	gain.Mul(xs.T(), &inverse)
	residual := mat.NewVecDense(n, nil)
	residual.SubVec(mat.NewVecDense(n, p.Y), &mu)
	mean = mat.NewVecDense(max(k, 1), nil)
	mean.MulVec(&gain, residual)
	mean.AddVec(mean, prior)
	shrink.Mul(&gain, &xs)
	cov = mat.NewSymDense(max(k, 1), nil)
	for a := range k {
		for b := range a + 1 {
			c := -shrink.At(a, b)
			if a == b {
				c += s2.At(a, a)
			}
			cov.SetSym(a, b, c)
		}
	}
	return normal.LogProb(p.Y), mean, cov
}

func (p *Problem) active(code []int32) []int {
	active := append([]int(nil), p.Always...)
	for g, in := range code {
		if in == 1 {
			active = append(active, p.Groups[g]...)
		}
	}
	return active
}

// naiveAnswer sums the results of naiveModel over all models. It returns the log evidence,
// inclusion probabilities, and the first two moments of the coefficients on the scale of the table.
func naiveAnswer(p *Problem) (logEvidence float64, models map[string]float64, inclusion, mean, sd []float64) {
	_, dim := p.X.Dims()
	groups := len(p.Groups)
	scaling := p.Scaling
	if scaling == nil {
		s := design.NewScaling(dim)
		scaling = &s
	}
	logPrior := p.Prior.LogProbs(groups)
	models = make(map[string]float64)
	var total float64
	inclusion, mean, sd = make([]float64, groups), make([]float64, dim), make([]float64, dim)
	reference := math.Inf(-1)
	for index := range 1 << groups {
		code := make([]int32, groups)
		size := 0
		for g := range code {
			code[g] = int32(index >> g & 1)
			size += int(code[g])
		}
		active := p.active(code)
		logZ, thetaMean, thetaCov := naiveModel(p, active, math.Exp(p.Noise.Log))
		models[fmt.Sprint(code)] = logZ + p.LogConstant
		if logZ > reference { // keep the weights of the models so far relative to the best
			factor := math.Exp(reference - logZ)
			reference = logZ
			total *= factor
			floats.Scale(factor, inclusion)
			floats.Scale(factor, mean)
			floats.Scale(factor, sd)
		}
		weight := math.Exp(logZ + logPrior[size] - reference)
		total += weight
		for g := range code {
			inclusion[g] += weight * float64(code[g])
		}
		// the map of coefficients to the scale of the table, column by column
		offset := scaling.ToOriginal(nil, make([]float64, dim))
		linear := mat.NewDense(dim, max(len(active), 1), nil)
		for a, j := range active {
			unit := make([]float64, dim)
			unit[j] = 1
			for i, v := range scaling.ToOriginal(nil, unit) {
				linear.Set(i, a, v-offset[i])
			}
		}
		var reported mat.VecDense
		var half, cov mat.Dense
		reported.MulVec(linear, thetaMean)
		half.Mul(linear, thetaCov)
		cov.Mul(&half, linear.T())
		for j := range dim {
			m := reported.AtVec(j) + offset[j]
			mean[j] += weight * m
			sd[j] += weight * (cov.At(j, j) + m*m)
		}
	}
	for g := range inclusion {
		inclusion[g] /= total
	}
	for j := range mean {
		mean[j] /= total
		sd[j] = math.Sqrt(sd[j]/total - mean[j]*mean[j])
	}
	return math.Log(total) + reference + p.LogConstant, models, inclusion, mean, sd
}

// TestEnumerateAgainstDense compares every output with dense computations for each model.
func TestEnumerateAgainstDense(t *testing.T) {
	singles := func(dim int) (groups [][]int) {
		for j := 1; j < dim; j++ {
			groups = append(groups, []int{j})
		}
		return groups
	}
	for name, p := range map[string]Problem{
		"ten":         randomProblem(1, 25, singles(11), 11),
		"at most two": func() Problem { p := randomProblem(1, 25, singles(8), 8); p.Prior.MaxSize = 2; return p }(),
		"expected, at most one": func() Problem {
			p := randomProblem(2, 30, [][]int{{3, 1}, {2}, {5, 6, 4}}, 9)
			p.Prior = space.Prior{Kind: space.ExpectedSizePrior, Size: 0.4, MaxSize: 1}
			return p
		}(),
		"groups":     randomProblem(2, 30, [][]int{{3, 1}, {2}, {5, 6, 4}}, 9),
		"p over n":   randomProblem(3, 4, singles(8), 8),
		"nothing in": randomProblem(4, 10, nil, 3),
		"all select": randomProblem(5, 12, [][]int{{0}, {1}, {2}}, 3),
		"tiny noise": func() Problem {
			p := randomProblem(6, 20, singles(5), 5)
			p.Noise = Noise{Log: math.Log(0.02)}
			return p
		}(),
		"great noise": func() Problem {
			p := randomProblem(7, 20, singles(5), 5)
			p.Noise = Noise{Log: math.Log(1e3)}
			return p
		}(),
		"scaled": func() Problem {
			p := randomProblem(8, 20, singles(5), 5)
			p.Scaling = &design.Scaling{Mean: []float64{0, 1, -2, .5, 3}, SD: []float64{1, 2, .1, 3, 1}, YMean: 12, YSD: 3, Level: 0, LevelValue: 2}
			return p
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Enumerate(context.Background(), p)
			require.NoError(t, err)
			logEvidence, models, inclusion, mean, sd := naiveAnswer(&p)
			// The dense computation factorises V = XSX' + σ²I. Its rounding grows with V's
			// condition number.
			var largest float64
			for i := range p.X.RawMatrix().Data {
				sd := p.PriorSD[i%len(p.PriorSD)] * p.X.RawMatrix().Data[i]
				largest += sd * sd
			}
			tolerance := func(logZ float64) float64 {
				return 1e-9 + 0x1p-52*math.Abs(logZ)*largest/math.Exp(2*p.Noise.Log)
			}
			tol := tolerance(logEvidence)
			assert.InDelta(t, logEvidence, r.LogEvidence, tol)
			possible := 0
			for index := range uint(1) << len(p.Groups) {
				if bits.OnesCount(index) <= p.Prior.Limit(len(p.Groups)) {
					possible++
				}
			}
			assert.Equal(t, possible, r.Count)
			require.Len(t, r.Models, r.Count)
			for i, m := range r.Models {
				assert.InDelta(t, models[fmt.Sprint(m.Code)], m.LogEvidence, tolerance(m.LogEvidence))
				want := math.Exp(models[fmt.Sprint(m.Code)] + p.Prior.LogProbs(len(p.Groups))[m.Size] - logEvidence)
				assert.InDelta(t, want, m.Probability, 2*tol)
				if i > 0 {
					assert.LessOrEqual(t, m.Probability, r.Models[i-1].Probability)
				}
			}
			assert.InDelta(t, 1, r.Covered, 1e-12)
			for g := range inclusion {
				assert.InDelta(t, inclusion[g], r.Inclusion[g], 2*tol)
			}
			for j := range mean {
				c := r.Coefficients[j]
				assert.InDelta(t, mean[j], c.Averaged.Mean, 1e-8*(1+math.Abs(mean[j])))
				assert.InDelta(t, sd[j], c.Averaged.SD, 1e-6*(1+math.Abs(mean[j])), "the oracle subtracts squares")
			}
		})
	}
}

// TestEnumerateDenseNotices requires that the comparison with dense computations fails if a prior
// is off by one part in a million.
func TestEnumerateDenseNotices(t *testing.T) {
	p := randomProblem(1, 25, [][]int{{1}, {2}, {3}}, 4)
	want, _, _, _, _ := naiveAnswer(&p)
	p.PriorSD[1] *= 1 + 1e-6
	r, err := Enumerate(context.Background(), p)
	require.NoError(t, err)
	assert.Greater(t, math.Abs(want-r.LogEvidence), 2e-9)
}

// TestEnumerateUnits requires that the evidence of standardised data, plus the log Jacobian, is the
// evidence in the units of the table.
func TestEnumerateUnits(t *testing.T) {
	data := readTable(t, "hald.csv")
	d, err := design.New(data, design.Options{Target: "y"})
	require.NoError(t, err)
	y, err := data.Lookup("y")
	require.NoError(t, err)
	p := Problem{
		X: d.X, Y: d.Y, Always: d.Always, Groups: d.Groups(), PriorSD: []float64{10, 1.5, 1.5, 1.5, 1.5}, Noise: Noise{Log: math.Log(0.2)},
		LogConstant: d.LogJacobian(),
	}
	scaled, err := Enumerate(context.Background(), p)
	require.NoError(t, err)
	p.LogConstant, p.Y, p.Noise = 0, y.Values, Noise{Log: math.Log(0.2 * d.Scaling.YSD)}
	p.PriorMean = []float64{d.Scaling.YMean, 0, 0, 0, 0} // in units of y: the same prior
	for j := range p.PriorSD {
		p.PriorSD[j] *= d.Scaling.YSD
	}
	raw, err := Enumerate(context.Background(), p)
	require.NoError(t, err)
	assert.InDelta(t, raw.LogEvidence, scaled.LogEvidence, 1e-9)
	for i := range raw.Models {
		assert.InDelta(t, raw.Models[i].LogEvidence, scaled.Models[i].LogEvidence, 1e-9)
	}
}

// TestEnumerateDeterministic requires bit-identical answers on one core and on several cores.
func TestEnumerateDeterministic(t *testing.T) {
	p := randomProblem(9, 30, [][]int{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}}, 14)
	for _, sigma := range []float64{0.8, 0} {
		if p.Noise = (Noise{SD: 2}); sigma > 0 {
			p.Noise = Noise{Log: math.Log(sigma)}
		}
		var done []int
		p.Progress = func(n, total int) {
			require.Equal(t, 1<<13, total)
			done = append(done, n)
		}
		before := runtime.GOMAXPROCS(1)
		one, err := Enumerate(context.Background(), p)
		runtime.GOMAXPROCS(7)
		require.NoError(t, err)
		assert.Equal(t, 1<<13, done[len(done)-1])
		p.Progress = nil
		many, err := Enumerate(context.Background(), p)
		runtime.GOMAXPROCS(before)
		require.NoError(t, err)
		assert.Equal(t, one, many)
		assert.Len(t, one.Models, 100, "8192 models are too many to list")
		p.TopModels = 5
		few, err := Enumerate(context.Background(), p)
		require.NoError(t, err)
		assert.Equal(t, one.Models[:5], few.Models)
		p.TopModels = 0
	}
}

func TestEnumerateCancel(t *testing.T) {
	p := randomProblem(9, 30, [][]int{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}}, 14)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	p.Progress = func(int, int) {
		if calls++; calls == 3 {
			cancel()
		}
	}
	_, err := Enumerate(ctx, p)
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, calls, 100)
}

// TestEnumerateCollinear compares the sum over models with dense algebra (naiveAnswer), for two
// columns that are nearly equal and have wide priors.
func TestEnumerateCollinear(t *testing.T) {
	p := randomProblem(10, 40, [][]int{{1}, {2}, {3}}, 4)
	for i := range 40 {
		p.X.Set(i, 2, p.X.At(i, 1)*(1+1e-8*float64(i)))
	}
	p.PriorSD[1], p.PriorSD[2] = 1e3, 1e3
	r, err := Enumerate(context.Background(), p)
	require.NoError(t, err)
	logEvidence, _, inclusion, _, _ := naiveAnswer(&p)
	assert.InDelta(t, logEvidence, r.LogEvidence, 1e-5, "the condition number of M is about 1e8")
	assert.InDeltaSlice(t, inclusion, r.Inclusion, 1e-5)
}

func TestEnumerateErrors(t *testing.T) {
	good := func() Problem { return randomProblem(1, 10, [][]int{{1}, {2}}, 3) }
	for want, spoil := range map[string]func(p *Problem){
		"no design matrix": func(p *Problem) { p.X = nil },
		"got 4 responses, want one for each of the 10 rows of X": func(p *Problem) { p.Y = p.Y[:4] },
		"coordinate 2 is in no group":                            func(p *Problem) { p.Groups = [][]int{{1}} },
		"coordinate 1 is outside 0 to 2, or":                     func(p *Problem) { p.Groups = [][]int{{1}, {1, 2}} },
		"26 selectable predictors make 2^26":                     func(p *Problem) { p.Groups = make([][]int, 26) },
		"2 standard deviations, want 3":                          func(p *Problem) { p.PriorSD = p.PriorSD[:2] },
		"standard deviation of coordinate 1: got 0":              func(p *Problem) { p.PriorSD[1] = 0 },
		"standard deviation of log σ: got -1":                    func(p *Problem) { p.Noise.SD = -1 },
		"Noise and LogConstant must be finite":                   func(p *Problem) { p.Noise.Log = math.Log(0) },
		"must be finite":                                         func(p *Problem) { p.Y[3] = math.NaN() },
		"not finite":                                             func(p *Problem) { p.X.Set(0, 1, 1e200) },
		"got a scaling of 0 columns, want 3":                     func(p *Problem) { p.Scaling = &design.Scaling{} },
		"strictly between 0 and 1":                               func(p *Problem) { p.Prior = space.Prior{Kind: space.BernoulliPrior} },
	} {
		p := good()
		spoil(&p)
		_, err := Enumerate(context.Background(), p)
		require.ErrorContains(t, err, want)
	}
}

func benchmarkExact(b *testing.B, groups int, sigma float64) {
	var single [][]int
	for j := range groups {
		single = append(single, []int{j + 1})
	}
	p := randomProblem(1, 200, single, groups+1)
	if p.Noise = (Noise{SD: 2}); sigma > 0 {
		p.Noise = Noise{Log: math.Log(sigma)}
	}
	for b.Loop() {
		_, err := Enumerate(context.Background(), p)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(int(1)<<groups), "ns/model")
}

func BenchmarkExactKnownSigma20(b *testing.B)   { benchmarkExact(b, 20, 1) }
func BenchmarkExactUnknownSigma16(b *testing.B) { benchmarkExact(b, 16, 0) }

func readTable(t *testing.T, name string) *table.Table {
	t.Helper()
	data, err := table.ReadFile("../../testdata/" + name)
	require.NoError(t, err)
	return data
}
