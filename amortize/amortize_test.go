package amortize_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

func openDevice(t testing.TB, kind gpu.Kind) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(kind)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

const (
	lineRows, lineColumns = 12, 2
	lineNoise             = 0.7
)

// lines is the family of regressions of 4 to 12 rows on two columns. A model leaves out none, one
// or both of the columns. The noise is known, and the coefficients are N(0, spread²). Posteriors
// over models and parameters have a closed form.
type lines struct {
	spread  float64
	hints   bool // whether problems state the exact LogMass, Precision and Linear
	encoder *encode.Encoder
}

func newLines(t testing.TB, spread float64, hints bool) *lines {
	encoder, err := encode.New(encode.Config{Hidden: 32})
	require.NoError(t, err)
	return &lines{spread, hints, encoder}
}

func (*lines) Space() space.Space {
	sp, err := space.NewSubsets(lineColumns, nil, [][]int{{0}, {1}})
	if err != nil {
		panic(err)
	}
	return sp
}

func (*lines) Width() int { return 32 }

func (f *lines) Settings() any { return map[string]any{"spread": f.spread, "hints": f.hints} }

// Encode encodes rows (y, x1, x2, and their products), whose means are sufficient statistics.
func (f *lines) Encode(ctx *vti.Context, data []*Node) *Node {
	rows, present := data[0], data[1]
	pairs := Mul(InsertAxes(rows, -1), InsertAxes(rows, -2))
	dims := rows.Shape().Dimensions
	return f.encoder.Encode(ctx, Concatenate([]*Node{rows, Reshape(pairs, dims[0], dims[1], -1)}, -1), GreaterThan(present, ZerosLike(present)))
}

func (f *lines) LogPrior(_ []*Node, codes *Node) *Node {
	return MulScalar(OnesLike(ConvertDType(ReduceSum(codes, -1), dtypes.Float64)), -lineColumns*math.Ln2)
}

func (f *lines) LogJoint(data []*Node, _, mask, theta *Node) *Node {
	rows, present := ConvertDType(data[0], theta.DType()), ConvertDType(data[1], theta.DType())
	used := ConvertDType(mask, theta.DType())
	column := func(j int) *Node {
		return Squeeze(SliceAxis(rows, -1, AxisElem(j)), -1)
	}
	mean := ZerosLike(column(0))
	for j := range lineColumns {
		unit := []float64{0, 0}
		unit[j] = 1
		b := ReduceSum(Mul(Mul(theta, used), InsertAxes(ConstAs(theta, unit), 0)), -1)
		mean = Add(mean, Mul(InsertAxes(b, -1), column(j+1)))
	}
	half := math.Log(2*math.Pi) / 2
	like := AddScalar(MulScalar(Square(Sub(column(0), mean)), -0.5/lineNoise/lineNoise), -math.Log(lineNoise)-half)
	prior := AddScalar(MulScalar(Square(theta), -0.5/f.spread/f.spread), -math.Log(f.spread)-half)
	return Add(ReduceSum(Mul(like, present), -1), ReduceSum(Mul(prior, used), -1))
}

// problem returns the problem of a table with columns y, x1, x2.
func (f *lines) problem(table [][]float64) *amortize.Problem {
	rows, present := make([]float64, lineRows*3), make([]float64, lineRows)
	for i, row := range table {
		copy(rows[i*3:], row)
		present[i] = 1
	}
	p := &amortize.Problem{Data: []amortize.Array{{Values: rows, Dims: []int{lineRows, 3}}, {Values: present, Dims: []int{lineRows}}}}
	if f.hints {
		p.LogMass = f.exact(table)
		precision, linear := f.quadratic(table)
		p.Precision, p.Linear = precision.RawMatrix().Data, linear.RawVector().Data
	}
	return p
}

func (f *lines) Simulate(random *rand.Rand) (*amortize.Problem, error) {
	table := make([][]float64, 4+random.IntN(lineRows-3))
	code, theta := make([]int32, 2), make([]float64, 2)
	for j := range code {
		if code[j] = int32(random.IntN(2)); code[j] == 1 {
			theta[j] = f.spread * random.NormFloat64()
		}
	}
	for i := range table {
		x1, x2 := random.NormFloat64(), random.NormFloat64()
		table[i] = []float64{theta[0]*x1 + theta[1]*x2 + lineNoise*random.NormFloat64(), x1, x2}
	}
	p := f.problem(table)
	p.Code, p.Theta = code, theta
	return p, nil
}

// quadratic returns H and b of the log density −½ θᵀHθ + bᵀθ of both coefficients.
func (f *lines) quadratic(table [][]float64) (precision *mat.Dense, linear *mat.VecDense) {
	precision, linear = mat.NewDense(2, 2, nil), mat.NewVecDense(2, nil)
	for j := range 2 {
		precision.Set(j, j, 1/f.spread/f.spread)
	}
	for _, row := range table {
		for j := range 2 {
			linear.SetVec(j, linear.AtVec(j)+row[0]*row[j+1]/lineNoise/lineNoise)
			for k := range 2 {
				precision.Set(j, k, precision.At(j, k)+row[j+1]*row[k+1]/lineNoise/lineNoise)
			}
		}
	}
	return precision, linear
}

// exact returns log p(m) p(D | m) of all four models, up to a constant.
func (f *lines) exact(table [][]float64) (logMass []float64) {
	precision, linear := f.quadratic(table)
	for _, code := range space.All([]int{2, 2}) {
		var in []int
		for j, outcome := range code {
			if outcome == 1 {
				in = append(in, j)
			}
		}
		value := -float64(len(in)) * math.Log(f.spread)
		if len(in) > 0 {
			h, b := mat.NewSymDense(len(in), nil), mat.NewVecDense(len(in), nil)
			for a, j := range in {
				b.SetVec(a, linear.AtVec(j))
				for c, k := range in {
					h.SetSym(a, c, precision.At(j, k))
				}
			}
			var factor mat.Cholesky
			factor.Factorize(h)
			var mode mat.VecDense
			_ = factor.SolveVecTo(&mode, b)
			value += mat.Dot(b, &mode)/2 - factor.LogDet()/2
		}
		logMass = append(logMass, value)
	}
	return logMass
}

// line is the Target of one table of the family lines.
type line struct {
	*lines
	table [][]float64
	data  *amortize.Problem
}

func (l line) nodes(like *Node, dtype dtypes.DType) (data []*Node) {
	for _, array := range l.data.Data {
		node := ConvertDType(Reshape(Const(like.Graph(), array.Values), append([]int{1}, array.Dims...)...), dtype)
		data = append(data, BroadcastToDims(node, append([]int{like.Shape().Dim(0)}, array.Dims...)...))
	}
	return data
}

func (l line) LogPrior(codes *Node) *Node { return l.lines.LogPrior(nil, codes) }

func (l line) LogJoint(codes, mask, theta *Node) *Node {
	return l.lines.LogJoint(l.nodes(theta, theta.DType()), codes, mask, theta)
}

// freshLine simulates a table that training has not used.
func freshLine(t testing.TB, f *lines, seed uint64) line {
	p, err := f.Simulate(stream.Rand(seed, "fresh"))
	require.NoError(t, err)
	var table [][]float64
	for i, present := range p.Data[1].Values {
		if present == 1 {
			table = append(table, p.Data[0].Values[i*3:i*3+3])
		}
	}
	return line{f, table, f.problem(table)}
}

// probabilities returns the posterior probabilities of all models given the table.
func (l line) probabilities() []float64 {
	p := l.exact(l.table)
	total := logsum.Of(p)
	for i := range p {
		p[i] = math.Exp(p[i] - total)
	}
	return p
}

func totalVariation(p, q []float64) (sum float64) {
	for i := range p {
		sum += math.Abs(p[i]-q[i]) / 2
	}
	return sum
}

// rawDistance returns the mean total variation distance of q(m | D) from the posterior, over
// tables.
func rawDistance(t testing.TB, a *amortize.Network, f *lines, tables int) (mean float64) {
	for i := range tables {
		l := freshLine(t, f, uint64(1000+i))
		beginning, err := a.Beginning(l.data, f.Space(), amortize.Place{})
		require.NoError(t, err)
		q := slices.Clone(beginning.LogModels)
		for k := range q {
			q[k] = math.Exp(q[k])
		}
		mean += totalVariation(l.probabilities(), q) / float64(tables)
	}
	return mean
}

// If problems state their exact log masses of models and exact quadratic log densities, the network
// is exact without training, on every data set. The test then opens its answer for a new table with
// vti.Open and vti.Solve, which need no training either.
func TestAmortizedBeginsWithWhatIsKnown(t *testing.T) {
	testkit.Slow(t)
	f := newLines(t, 1, true)
	a, err := amortize.Fit(t.Context(), openDevice(t, gpu.CPU), f, amortize.Config{Steps: 1, LearningRate: 1e-12, Seed: 1})
	require.NoError(t, err)
	share, err := a.Efficiency(t.Context(), 20, "test")
	require.NoError(t, err)
	require.InDelta(t, 1, share, 1e-4)
	require.Less(t, rawDistance(t, a, f, 20), 1e-5)

	l := freshLine(t, f, 7)
	beginning, err := a.Beginning(l.data, f.Space(), amortize.Place{})
	require.NoError(t, err)
	posterior, err := vti.Open(t.Context(), openDevice(t, gpu.CPU), l, vti.Config{Begin: beginning})
	require.NoError(t, err)
	codes, theta, logQ, err := posterior.Sample(100, "draws")
	require.NoError(t, err)
	again, err := posterior.LogProb(codes, theta)
	require.NoError(t, err)
	require.InDeltaSlice(t, logQ, again, 1e-5)
	solution, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), l, vti.SolveConfig{Fit: vti.Config{Begin: beginning}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, solution.Certificate.Verdict)
	require.Zero(t, solution.Posterior.Steps())
	require.Less(t, solution.Divergence, 0.01) // q(m) then holds estimates from few draws
}

// ForwardKL, ReverseKL and their mean find the posterior over models and parameters from
// simulations alone, with a flow and with a diagonal map for parameters. The limits are about twice
// the errors that these seeds give (total variation 0.04 to 0.09, and 68 to 79 percent effective
// draws).
func TestAmortizedLearns(t *testing.T) {
	testkit.Slow(t)
	for _, cfg := range []amortize.Config{
		{Objective: amortize.ForwardKL}, {Objective: amortize.ReverseKL},
		{Objective: amortize.BothKL, Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 32}},
	} {
		t.Run(fmt.Sprintf("%v/%d layers", cfg.Objective, cfg.Flow.Layers), func(t *testing.T) {
			if cfg.Objective != amortize.ForwardKL {
				testkit.Long(t)
			}
			f := newLines(t, 1, false)
			cfg.Seed, cfg.Steps, cfg.Batch, cfg.LearningRate = 1, 600, 64, 4e-3
			a, err := amortize.Fit(t.Context(), openDevice(t, gpu.CPU), f, cfg)
			require.NoError(t, err)
			share, err := a.Efficiency(t.Context(), 50, "test")
			require.NoError(t, err)
			distance := rawDistance(t, a, f, 20)
			t.Logf("distance %.4f, share %.3f", distance, share)
			require.Less(t, distance, 0.15)
			require.Greater(t, share, 0.4)
		})
	}
}

// A network whose training was stopped and resumed equals an uninterrupted one, to the bit. The
// file of a network describes the network, and is refused for another family.
func TestAmortizedResumes(t *testing.T) {
	f := newLines(t, 1, false)
	cfg := amortize.Config{Steps: 20, Batch: 8, Seed: 3, LogEvery: 1, Objective: amortize.BothKL}
	cfg.Checkpoint = filepath.Join(t.TempDir(), "whole")
	whole, err := amortize.Fit(t.Context(), openDevice(t, gpu.CPU), f, cfg)
	require.NoError(t, err)
	require.Equal(t, cfg.Steps, whole.Steps())

	cfg.Checkpoint = filepath.Join(t.TempDir(), "parts")
	ctx, cancel := context.WithCancel(t.Context())
	stopping := cfg
	stopping.Progress = func(info amortize.Info) {
		if info.Step == 7 {
			cancel()
		}
	}
	part, err := amortize.Fit(ctx, openDevice(t, gpu.CPU), f, stopping)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 7, part.Steps())
	cfg.Resume = true
	_, err = amortize.Fit(t.Context(), openDevice(t, gpu.CPU), f, cfg)
	require.NoError(t, err)

	l := freshLine(t, f, 5)
	open := func(path string) []float64 {
		a, err := amortize.Load(openDevice(t, gpu.CPU), f, l.data, path)
		require.NoError(t, err)
		beginning, err := a.Beginning(l.data, f.Space(), amortize.Place{})
		require.NoError(t, err)
		posterior, err := vti.Open(t.Context(), openDevice(t, gpu.CPU), l, vti.Config{Begin: beginning, Batch: 32})
		require.NoError(t, err)
		_, _, logQ, err := posterior.Sample(32, "draws")
		require.NoError(t, err)
		return logQ
	}
	require.Equal(t, open(filepath.Join(filepath.Dir(cfg.Checkpoint), "parts")), open(cfg.Checkpoint))
	settings, err := amortize.Read(cfg.Checkpoint)
	require.NoError(t, err)
	require.Equal(t, 20, settings.Taken)
	require.JSONEq(t, `{"spread": 1, "hints": false}`, string(settings.Family))
	_, err = amortize.Load(openDevice(t, gpu.CPU), newLines(t, 2, false), l.data, cfg.Checkpoint)
	require.ErrorContains(t, err, "spread")
}

// The test asks a network about ten tables with coefficients of about 25 noise standard deviations,
// far from the coefficients with which it was trained. Its probabilities of models are wrong.
// In certification, the posterior density of the table gives the weights of draws: whenever the
// verdict is trusted, the probabilities must agree with the exact ones.
func TestWrongNetworksAreFoundOut(t *testing.T) {
	f := newLines(t, 0.2, false)
	a, err := amortize.Fit(t.Context(), openDevice(t, gpu.CPU), f, amortize.Config{Steps: 200, Batch: 32, Seed: 1})
	require.NoError(t, err)
	far := newLines(t, 5, false)
	trusted, raw := 0, 0.0
	for i := range 10 {
		l := freshLine(t, far, uint64(50+i))
		beginning, err := a.Beginning(l.data, far.Space(), amortize.Place{})
		require.NoError(t, err)
		posterior, err := vti.Open(t.Context(), openDevice(t, gpu.CPU), l, vti.Config{Begin: beginning})
		require.NoError(t, err)
		c, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 14})
		require.NoError(t, err)
		want, got := l.probabilities(), make([]float64, 4)
		q := make([]float64, 4)
		for _, model := range c.Models {
			got[space.Encode([]int{2, 2}, model.Code)], q[space.Encode([]int{2, 2}, model.Code)] = model.Certified, model.Q
		}
		raw += totalVariation(want, q) / 10
		if c.Verdict == vti.Trusted {
			trusted++
			require.InDeltaSlice(t, want, got, 0.03, "table %d", i)
		}
	}
	t.Logf("%d of 10 trusted, raw distance %.2f", trusted, raw)
	require.Greater(t, raw, 0.1) // the network is wrong
}
