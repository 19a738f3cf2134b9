package varsel

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
)

var amortizedKinds = []likelihood.Kind{likelihood.GaussianKind, likelihood.RobustKind, likelihood.LogisticKind, likelihood.PoissonKind}

func smallFamily(t testing.TB, kind likelihood.Kind) *Family {
	t.Helper()
	f, err := NewFamily(FamilyConfig{Model: ModelOptions{Likelihood: kind}, Predictors: Range{2, 4}, Rows: Range{10, 20}})
	require.NoError(t, err)
	return f
}

func drawnTable(t testing.TB, f *Family, seed uint64) *Problem {
	t.Helper()
	random := stream.Rand(seed, "table")
	for range mostTries {
		if p, _ := f.drawTable(random); p != nil {
			return p
		}
	}
	t.Fatal("no table was accepted")
	return nil
}

// numbersOf evaluates a computation graph of floating-point numbers in float64.
func numbersOf(t testing.TB, build func(in []*Node) *Node, inputs ...any) []float64 {
	t.Helper()
	exec, err := NewExec(testkit.Backend(t), build)
	require.NoError(t, err)
	outputs, err := exec.Exec(inputs...)
	require.NoError(t, err)
	return tensors.MustCopyFlatData[float64](outputs[0])
}

// For every model of a table, the graph of the family must give the log density that the table's
// Target gives at the same parameters, moved to the coordinates of the family.
func TestFamiliesHaveTheDensitiesOfTheirTables(t *testing.T) {
	for _, kind := range amortizedKinds {
		t.Run(kind.String(), func(t *testing.T) {
			f := smallFamily(t, kind)
			for seed := range uint64(3) {
				p := drawnTable(t, f, seed)
				data, place, err := f.Problem(p)
				require.NoError(t, err)
				random := stream.Rand(seed, "theta")
				var codes, wideCodes [][]int32
				var masks, wideMasks [][]bool
				var theta, wideTheta [][]float64
				for _, code := range space.All(p.Target.space.Cards()) {
					wide, thetaInWide := make([]int32, f.most), make([]float64, f.dim())
					values := stream.Normals(random, p.Target.space.Dim())
					for s, outcome := range code {
						wide[place.Sites[s]] = outcome
					}
					for j, v := range values {
						thetaInWide[place.Coordinates[j]] = v
					}
					codes, wideCodes = append(codes, slices.Clone(code)), append(wideCodes, wide)
					masks, wideMasks = append(masks, p.Target.space.MaskRow(code, nil)), append(wideMasks, f.space.MaskRow(wide, nil))
					theta, wideTheta = append(theta, values), append(wideTheta, thetaInWide)
				}
				want := numbersOf(t, func(in []*Node) *Node {
					return Add(ConvertDType(p.Target.LogPrior(in[0]), dtypes.Float64), p.Target.LogJoint(in[0], in[1], in[2]))
				}, codes, masks, theta)
				got := numbersOf(t, func(in []*Node) *Node {
					var nodes []*Node
					for _, array := range data.Data {
						node := Reshape(Const(in[0].Graph(), array.Values), append([]int{1}, array.Dims...)...)
						nodes = append(nodes, BroadcastToDims(node, append([]int{len(codes)}, array.Dims...)...))
					}
					return Add(f.LogPrior(nodes, in[0]), f.LogJoint(nodes, in[0], in[1], in[2]))
				}, wideCodes, wideMasks, wideTheta)
				for i := range want {
					require.InEpsilon(t, want[i], got[i], 1e-10, "model %v", codes[i])
				}
			}
		})
	}
}

// The columns and rows of a table are put in another order. Each predictor must keep its position
// in the family, and the arrays that a network reads must stay the same, except that their rows are
// reordered like the rows of the table.
func TestFamiliesFollowTheColumns(t *testing.T) {
	for _, kind := range amortizedKinds {
		f := smallFamily(t, kind)
		p := drawnTable(t, f, 5)
		n, groups := p.Design.Rows(), len(p.Design.Predictors)
		columns, rows := rand.New(rand.NewPCG(1, 0)).Perm(groups), rand.New(rand.NewPCG(2, 0)).Perm(n)
		x, y := mat.NewDense(n, groups+1, nil), make([]float64, n)
		for i, from := range rows {
			x.Set(i, 0, 1)
			y[i] = p.Design.Y[from]
			for j, column := range columns {
				x.Set(i, 1+j, p.Design.X.At(from, 1+column))
			}
		}
		other, err := NewProblem(design.OfColumns(x, y, kind), p.Model)
		require.NoError(t, err)
		a, place, err := f.Problem(p)
		require.NoError(t, err)
		b, moved, err := f.Problem(other)
		require.NoError(t, err)
		for j, column := range columns {
			require.Equal(t, place.Sites[column], moved.Sites[j])
		}
		require.InDeltaSlice(t, a.LogMass, b.LogMass, 1e-6)
		require.InDeltaSlice(t, a.Precision, b.Precision, 1e-4*slices.Max(a.Precision))
		for _, array := range []int{predictorArray, tableArray, priorArray, sizeArray, columnArray} {
			require.InDeltaSlice(t, a.Data[array].Values, b.Data[array].Values, 1e-3, "array %d", array)
		}
		for at := range rows {
			for j := range f.dim() {
				require.InDelta(t, a.Data[designArray].Values[rows[at]*f.dim()+j], b.Data[designArray].Values[at*f.dim()+j], 1e-12)
			}
		}
	}
}

// exactProbabilities returns the probabilities of all models of a Gaussian table, from closed
// forms. The first predictor is the lowest bit of the index.
func exactProbabilities(t testing.TB, p *Problem) []float64 {
	t.Helper()
	logPrior := p.Model.Prior.LogProbs(len(p.Design.Predictors))
	groups := len(p.Design.Predictors)
	logMass := make([]float64, 1<<groups)
	target := p.forms()
	for m := range logMass {
		code, size := make([]int32, groups), 0
		for j := range groups {
			code[j] = int32(m >> j & 1)
			size += m >> j & 1
		}
		value, err := target.LogEvidences(t.Context(), [][]int32{code})
		require.NoError(t, err)
		logMass[m] = logPrior[size] + value[0]
	}
	total := logsum.Of(logMass)
	for m := range logMass {
		logMass[m] = math.Exp(logMass[m] - total)
	}
	return logMass
}

// For 20 Gaussian tables, the sketch from which a network starts must give probabilities of models
// whose total variation from the exact posterior is below 0.03.
func TestSketchesAreNearTheExactPosterior(t *testing.T) {
	f, err := NewFamily(FamilyConfig{Predictors: Range{2, 6}, Rows: Range{30, 80}})
	require.NoError(t, err)
	for seed := range uint64(20) {
		p := drawnTable(t, f, seed)
		want := exactProbabilities(t, p)
		masses := newSketch(p, f.each).masses(p.Model.Prior.LogProbs(len(p.Design.Predictors)))
		total := logsum.Of(masses)
		distance := 0.0
		for m := range want {
			distance += math.Abs(want[m]-math.Exp(masses[m]-total)) / 2
		}
		require.Less(t, distance, 0.03, "table %d", seed)
	}
}

func TestFamiliesRefuseOtherTables(t *testing.T) {
	f := smallFamily(t, likelihood.RobustKind)
	p := drawnTable(t, f, 1)
	for _, c := range []struct {
		cfg  FamilyConfig
		want string
	}{
		{FamilyConfig{Model: ModelOptions{Likelihood: likelihood.LogisticKind}}, "for the logistic likelihood, not for robust"},
		{FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind, SlabScale: 3}}, "slab 3"},
		{FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind, Outlier: 0.2}}, "share of outliers 0.2"},
		{FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind}, Predictors: Range{6, 8}}, "for 6 to 8 predictors"},
		{FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind}, Rows: Range{100, 200}}, "for 100 to 200 rows"},
		{FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind}, Rows: Range{10, 20}, Noise: Range{1e-9, 1e-8}}, "standard deviations of the response"},
	} {
		other, err := NewFamily(c.cfg)
		require.NoError(t, err)
		require.ErrorContains(t, other.Fits(p), c.want)
	}
	require.NoError(t, f.Fits(p))
	for _, c := range []struct {
		cfg  FamilyConfig
		want string
	}{
		{FamilyConfig{Model: ModelOptions{Likelihood: likelihood.StudentKind}}, "got student"},
		{FamilyConfig{Predictors: Range{2, 40}}, "at most 16"},
		{FamilyConfig{Correlation: Range{0.5, 1}}, "below 1"},
	} {
		_, err := NewFamily(c.cfg)
		require.ErrorContains(t, err, c.want)
	}
}

// The VTI paper's table has a column of ones in every model instead of an intercept. In the family
// this column takes the intercept's position and keeps its prior. A column with another value in
// one row is refused.
func TestNetworksTakeColumnsOfOnes(t *testing.T) {
	f, err := NewFamily(FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind, Prior: Prior{Kind: UniformPrior}}, Predictors: Range{2, 8}, Rows: Range{20, 150}})
	require.NoError(t, err)
	p := paperProblem(t, "high")
	require.NoError(t, f.Fits(p))
	data, place, err := f.Problem(p)
	require.NoError(t, err)
	require.Zero(t, place.Coordinates[0])
	require.InDelta(t, p.Model.SlabScale, data.Data[priorArray].Values[f.dim()], 1e-12, "the prior sd of its coefficient")
	p.Design.X.Set(3, 0, 2)
	require.ErrorContains(t, f.Fits(p), "one column of ones that is always in")
}

// exactRobust returns the probabilities of all models of a robust table with few rows, by the sum
// over the sets of outliers. The first predictor is the lowest bit of the index.
func exactRobust(p *Problem) []float64 {
	n, groups := p.Design.Rows(), len(p.Design.Predictors)
	logPrior := p.Model.Prior.LogProbs(groups)
	sigma := math.Exp(p.Target.LogScale)
	wide, share := sigma*p.Model.Sigma2/p.Model.Sigma1, p.Model.Outlier
	logMass := make([]float64, 1<<groups)
	for m := range logMass {
		covariance, residual := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
		size := 0
		for j := range groups + 1 {
			if j > 0 && m>>(j-1)&1 == 0 {
				continue
			}
			if j > 0 {
				size++
			}
			x := mat.NewVecDense(n, mat.Col(nil, j, p.Design.X))
			covariance.SymRankOne(covariance, p.Target.SD[j]*p.Target.SD[j], x)
			residual.AddScaledVec(residual, -p.Target.Mean[j], x)
		}
		residual.AddVec(residual, mat.NewVecDense(n, slices.Clone(p.Design.Y)))
		terms := make([]float64, 0, 1<<n)
		for outliers := range 1 << n {
			whole := mat.NewSymDense(n, nil)
			whole.CopySym(covariance)
			value := 0.0
			for i := range n {
				noise, prob := sigma, 1-share
				if outliers>>i&1 == 1 {
					noise, prob = wide, share
				}
				whole.SetSym(i, i, whole.At(i, i)+noise*noise)
				value += math.Log(prob)
			}
			var factor mat.Cholesky
			var solved mat.VecDense
			if !factor.Factorize(whole) || factor.SolveVecTo(&solved, residual) != nil {
				continue
			}
			terms = append(terms, value-factor.LogDet()/2-mat.Dot(residual, &solved)/2)
		}
		logMass[m] = logPrior[size] + logsum.Of(terms)
	}
	total := logsum.Of(logMass)
	for m := range logMass {
		logMass[m] = math.Exp(logMass[m] - total)
	}
	return logMass
}

// byPredictors returns the probabilities of models. In the index of its argument the highest bit is
// the first predictor; in the index of the result the lowest bit is.
func byPredictors(logModels []float64) []float64 {
	q := make([]float64, len(logModels))
	for index, logQ := range logModels { // the first site is the highest bit
		q[bits.Reverse32(uint32(index))>>(33-bits.Len(uint(len(q))))] = math.Exp(logQ)
	}
	return q
}

// memberships returns the inclusion probabilities of predictors, given the probabilities of models
// by an index whose lowest bit is the first predictor.
func memberships(p []float64) []float64 {
	logs := make([]float64, len(p))
	for m, v := range p {
		logs[m] = math.Log(v)
	}
	return inclusionOf(logs)
}

// For this table of 12 rows and 5 predictors, importance weights of a network's answer have a
// Pareto shape k̂ of 1. The run must certify by chains over models and sets of outliers, without
// training, and agree with the exact sum over sets of outliers, even if the network is spoiled.
func TestNetworksLeaveOutliersToTheCollapsedPosterior(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	f, err := NewFamily(FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind}, Rows: Range{10, 150}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "network")
	_, err = amortize.Fit(t.Context(), device, f, amortize.Config{Steps: 1, Batch: 4, LearningRate: 1e-9, Checkpoint: path, Seed: 1})
	require.NoError(t, err)
	p := drawnTable(t, f, 20_058)
	want := memberships(exactRobust(p))
	for _, only := range []bool{false, true} {
		if only {
			spoil(t, path) // q(m) is then far from the answer
		}
		beginning, err := p.BeginFrom(device, path)
		require.NoError(t, err)
		said := memberships(byPredictors(beginning.LogModels))
		result, err := Run(t.Context(), device, p, RunConfig{From: path, FromOnly: only, Precision: 0.005, Fit: vti.Config{Seed: 58}})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
		require.Zero(t, result.Steps)
		require.Equal(t, vti.CollapsedChains, result.Certificate.Basis, "the table is one where weights do not serve")
		for j, one := range result.Inclusion {
			require.InDelta(t, want[j], float64(one.Certified), 5*float64(one.SE)+0.001) // a false alarm in 300,000
			if only {                                                                    // q(m) is still the answer of the network
				require.InDelta(t, said[j], float64(*one.Q), 0.015) // five standard errors of draws of q
			}
		}
	}
}

// spoil adds noise to all weights of the network in a file.
func spoil(t *testing.T, path string) {
	t.Helper()
	info, err := checkpoint.ReadInfo(path)
	require.NoError(t, err)
	ctx := context.New().Checked(false)
	step, err := checkpoint.RestoreVariables(path, ctx, info.Settings)
	require.NoError(t, err)
	random := stream.Rand(1, "spoil")
	for variable := range ctx.InAbsPath("/best").IterVariablesInScope() {
		value, err := variable.Value()
		require.NoError(t, err)
		if value.DType() == dtypes.Float32 {
			require.NoError(t, tensors.MutableFlatData(value, func(weights []float32) {
				for i := range weights {
					weights[i] += float32(random.NormFloat64())
				}
			}))
		}
	}
	require.NoError(t, checkpoint.WriteVariables(path, ctx, checkpoint.Info{Step: step, Settings: info.Settings}))
}

// Training keeps the weights that are best on problems held out from it. After 12 steps at a rate
// of 1, which is far too large, these must be the initial weights.
func TestTrainingLeavesNoNetworkWorse(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	f := smallFamily(t, likelihood.LogisticKind)
	var last amortize.Info
	share := func(steps int, rate float64) float64 {
		network, err := amortize.Fit(t.Context(), device, f, amortize.Config{Steps: steps, Batch: 8, LearningRate: rate, Seed: 1, Progress: func(info amortize.Info) { last = info }})
		require.NoError(t, err)
		share, err := network.Efficiency(t.Context(), 8, "held-out")
		require.NoError(t, err)
		return share
	}
	start := share(1, 1e-9)
	require.InDelta(t, start, share(12, 1), 1e-6, "the same weights")
	require.Zero(t, last.BestStep)
	require.Equal(t, last.Start, last.Best)
}

// The test adds noise to a network's weights and certifies its answers, for two tables like the
// training tables and two with contradicting rows. A trusted answer may be off from the exact sum
// over sets of outliers by at most four standard errors plus 0.01.
func TestWrongNetworksAreNotTrustedAndWrong(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	f, err := NewFamily(FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind, Prior: Prior{Kind: UniformPrior}}, Predictors: Range{2, 2}, Rows: Range{8, 9}, Noise: Range{0.001, 5}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "network")
	_, err = amortize.Fit(t.Context(), device, f, amortize.Config{Steps: 1, Batch: 4, LearningRate: 1e-9, Checkpoint: path, Seed: 1})
	require.NoError(t, err)
	spoil(t, path)
	trusted, raw, tables := 0, 0.0, 0
	for seed := range uint64(4) {
		p := drawnTable(t, f, 100+seed)
		if seed%2 == 1 {
			for i := range p.Design.Y {
				if i%2 == 0 {
					p.Design.Y[i] = -p.Design.Y[i]
				}
			}
			p, err = NewProblem(p.Design, p.Model)
			require.NoError(t, err)
		}
		beginning, err := p.BeginFrom(device, path)
		require.NoError(t, err)
		posterior, err := vti.Open(t.Context(), device, p.Posterior(), vti.Config{Begin: beginning})
		require.NoError(t, err)
		c, err := posterior.Certify(t.Context(), vti.CertifyConfig{Confirm: true, Draws: 1 << 13})
		require.NoError(t, err)
		want, largest, distance := exactRobust(p), 0.0, 0.0
		for _, model := range c.Models {
			exact := want[model.Code[0]+2*model.Code[1]]
			largest = math.Max(largest, math.Abs(exact-model.Certified)-4*model.SE)
			distance += math.Abs(exact-model.Q) / 2
		}
		tables++
		raw += distance
		t.Logf("table %d: %v, error beyond four standard errors %.4f, raw distance %.2f", seed, c.Verdict, largest, distance)
		if c.Verdict == vti.Trusted {
			trusted++
			require.Less(t, largest, 0.01)
		}
	}
	require.Greater(t, raw/float64(tables), 0.1) // the network is wrong
}
