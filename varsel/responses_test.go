package varsel

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/regression"
)

func designOf(t *testing.T, opt DesignOptions, columns ...*table.Column) *Design {
	t.Helper()
	data, err := table.New("t", columns...)
	require.NoError(t, err)
	design, err := NewDesign(data, opt)
	require.NoError(t, err)
	return design
}

// Counts of successes have the same posterior as single trials. Their evidence is larger, by a
// factor equal to the number of orders in which the successes can occur.
func TestTrialsAreRows(t *testing.T) {
	counts := designOf(t, DesignOptions{Target: "k", Trials: "n", Likelihood: likelihood.LogisticKind},
		table.Numbers("k", []float64{1, 3, 0}), table.Numbers("n", []float64{2, 3, 1}), table.Numbers("x", []float64{0.5, -1, 2}))
	rows := designOf(t, DesignOptions{Target: "y", Likelihood: likelihood.LogisticKind},
		table.Numbers("y", []float64{1, 0, 1, 1, 1, 0}), table.Numbers("x", []float64{0.5, 0.5, -1, -1, -1, 2}))
	require.Equal(t, rows.Y, counts.Y)
	require.Equal(t, rows.X.RawMatrix().Data, counts.X.RawMatrix().Data)
	require.InDelta(t, math.Log(2), counts.LogJacobian()-rows.LogJacobian(), 1e-12)
	require.Equal(t, []int{1, 1, 2, 2, 2, 3}, counts.Places)

	for message, opt := range map[string]DesignOptions{
		"trials \"n\" are for the logistic likelihood": {Target: "k", Trials: "n", Likelihood: likelihood.PoissonKind},
		"got 3 successes in 2 trials":                  {Target: "n", Trials: "m", Likelihood: likelihood.LogisticKind},
		"\"k\": got 0.5, want a count":                 {Target: "n", Trials: "k", Likelihood: likelihood.LogisticKind},
	} {
		data, err := table.New("t", table.Numbers("k", []float64{0.5, 1}), table.Numbers("n", []float64{2, 3}), table.Numbers("m", []float64{2, 2}), table.Numbers("x", []float64{1, 2}))
		require.NoError(t, err)
		_, err = NewDesign(data, opt)
		require.ErrorContains(t, err, message)
	}
}

// A log-normal response has the answer of its logarithm under the Gaussian likelihood.
func TestLogNormalIsGaussianOfLogarithm(t *testing.T) {
	y, logs, sum := []float64{0.5, 2, 7, 3, 11}, []float64{}, 0.0
	for _, v := range y {
		logs = append(logs, math.Log(v))
		sum += math.Log(v)
	}
	x := table.Numbers("x", []float64{0, 1, 2, 1.5, 4})
	plain := designOf(t, DesignOptions{Target: "y", Likelihood: likelihood.GaussianKind}, table.Numbers("y", logs), x)
	design := designOf(t, DesignOptions{Target: "y", Likelihood: likelihood.LogNormalKind}, table.Numbers("y", y), x)
	require.InDeltaSlice(t, plain.Y, design.Y, 1e-14)
	require.InDelta(t, plain.LogJacobian()-sum, design.LogJacobian(), 1e-12)
	for i, v := range y {
		require.InEpsilon(t, v, design.InTable(design.Y[i]), 1e-10)
	}
	problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.LogNormalKind})
	require.NoError(t, err)
	require.NotNil(t, problem.forms())
}

// The log joint density of two observed and two censored exponential times must equal a formula by
// hand, where a censored time has the probability of times longer than its bound.
func TestCensoredTimes(t *testing.T) {
	columns := []*table.Column{table.Numbers("y", []float64{1, 2, 3, 5}), table.Numbers("c", []float64{0, 1, 0, 1}), table.Numbers("x", []float64{1, 0, 2, 1})}
	design := designOf(t, DesignOptions{Target: "y", Censored: "c", Likelihood: likelihood.ExponentialKind}, columns...)
	require.Equal(t, []float64{1, -2, 3, -5}, design.Y)
	require.True(t, design.Censored())
	problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.ExponentialKind})
	require.NoError(t, err)
	theta, logJoint, _, err := laplaceProposals{problem.models()}.propose([]int32{0}, 1, stream.Rand(1, "times"))
	require.NoError(t, err)
	rate := math.Exp(-theta.At(0, 0))
	away := theta.At(0, 0) - math.Log(30)/4 // distance from the prior mean of the intercept, the mean of log y with censored times at their bounds
	want := 2*math.Log(rate) - 11*rate - away*away/200 - math.Log(10) - halfLog2Pi
	require.InDelta(t, want, logJoint[0], 1e-10)

	data, err := table.New("t", append(columns, table.Numbers("two", []float64{0, 1, 2, 0}))...)
	require.NoError(t, err)
	for message, opt := range map[string]DesignOptions{
		"censored \"two\": got 2, want 1 where": {Target: "y", Censored: "two", Likelihood: likelihood.WeibullKind},
		"for the exponential and weibull":       {Target: "y", Censored: "c", Likelihood: likelihood.GammaKind},
		"got 0, want a positive number":         {Target: "x", Censored: "c", Likelihood: likelihood.WeibullKind},
	} {
		_, err := NewDesign(data, opt)
		require.ErrorContains(t, err, message)
	}
}

// A change of the unit of times shifts the intercept. The evidence changes by the Jacobian of the
// densities of observed times; censored times have probabilities, which do not depend on the unit.
func TestUnitsOfPositiveResponses(t *testing.T) {
	const unit = 1000
	y, columns := []float64{0.3, 2, 7, 3, 11, 0.9}, []*table.Column{
		table.Numbers("c", []float64{0, 1, 0, 0, 1, 0}), table.Numbers("x", []float64{1, 0, 2, 1, -1, 0.5}), table.Numbers("o", []float64{0, 0.3, 0, -1, 0, 0}),
	}
	var scaled []float64
	for _, v := range y {
		scaled = append(scaled, unit*v)
	}
	for name, opt := range map[string]DesignOptions{
		"gamma":       {Target: "y", Exclude: []string{"c", "o"}, Likelihood: likelihood.GammaKind},
		"offset":      {Target: "y", Exclude: []string{"c"}, Offset: "o", Likelihood: likelihood.GammaKind},
		"exponential": {Target: "y", Censored: "c", Exclude: []string{"o"}, Likelihood: likelihood.ExponentialKind},
		"weibull":     {Target: "y", Censored: "c", Offset: "o", Likelihood: likelihood.WeibullKind},
	} {
		t.Run(name, func(t *testing.T) {
			densities := float64(len(y))
			if opt.Censored != "" {
				densities -= 2
			}
			var first [2]float64 // an intercept, and the log density at it
			for k, values := range [][]float64{y, scaled} {
				problem, err := NewProblem(designOf(t, opt, append(columns, table.Numbers("y", values))...), ModelOptions{Likelihood: opt.Likelihood})
				require.NoError(t, err)
				theta, logJoint, _, err := laplaceProposals{problem.models()}.propose([]int32{1}, 1, stream.Rand(1, "units"))
				require.NoError(t, err)
				if k == 0 {
					first = [2]float64{theta.At(0, 0), logJoint[0]}
					continue
				}
				require.InDelta(t, first[0]+math.Log(unit), theta.At(0, 0), 1e-6)
				require.InDelta(t, first[1]-densities*math.Log(unit), logJoint[0], 1e-6)
			}
		})
	}
}

// Identical rows are merged and counted. Densities, modes and curvatures are the same as with every
// row separate.
func TestIdenticalRowsAreCounted(t *testing.T) {
	random := stream.Rand(4, "rows")
	const n = 150
	y, k, x, z, o := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], z[i], o[i] = float64(random.IntN(2)), float64(random.IntN(3)), float64(random.IntN(2))
		y[i], k[i] = float64(random.IntN(2)), float64(random.IntN(5))
	}
	for kind, target := range map[likelihood.Kind]string{likelihood.LogisticKind: "y", likelihood.PoissonKind: "k", likelihood.NegativeBinomialKind: "k"} {
		t.Run(kind.String(), func(t *testing.T) {
			design := designOf(t, DesignOptions{Target: target, Likelihood: kind, Offset: "o"},
				table.Numbers(target, map[string][]float64{"y": y, "k": k}[target]), table.Numbers("x", x), table.Numbers("z", z), table.Numbers("o", o))
			problem, err := NewProblem(design, ModelOptions{Likelihood: kind})
			require.NoError(t, err)
			target := problem.Target
			require.Less(t, 2*len(target.Responses.Y), n)
			require.Len(t, design.Y, n)
			a := target.active([]int32{1, 1})
			logJoint := func(theta []float64) (sum float64) {
				scale := 1.0
				if target.Scale >= 0 {
					scale = math.Exp(theta[len(theta)-1])
				}
				for i, v := range design.Y {
					eta := design.Offset[i]
					for j := range design.Dim() {
						eta += design.X.At(i, j) * theta[j]
					}
					sum += target.Responses.LogKernelAt(v, eta, scale) + target.Responses.LogConstant(v)
				}
				for j, v := range theta {
					sum += distuv.Normal{Mu: target.Mean[j], Sigma: target.SD[j]}.LogProb(v)
				}
				return sum
			}
			theta := []float64{0.1, -0.2, 0.3, 0.4}[:target.space.Dim()]
			require.InDelta(t, logJoint(theta), target.LogJointAt(a, theta, make([]float64, len(target.Responses.Y))), 1e-10)
			mask := slices.Repeat([]bool{true}, len(theta))
			density := numbersOf(t, func(in []*Node) *Node { return target.LogJoint(in[0], in[1], in[2]) }, [][]int32{{1, 1}}, [][]bool{mask}, [][]float64{theta})
			require.InDelta(t, logJoint(theta), density[0], 1e-10)
			all := *target // with every row separate
			all.X, all.Offset, all.Columns = design.X, design.Offset, nil
			all.Responses.Y, all.Responses.Times = design.Y, nil
			if target.Scale >= 0 {
				all.X = regression.WithZeroColumn(design.X)
			}
			for j := range all.Mean {
				all.Columns = append(all.Columns, mat.Col(nil, j, all.X))
			}
			got, err := fitOf(target, a)
			require.NoError(t, err)
			want, err := fitOf(&all, all.active([]int32{1, 1}))
			require.NoError(t, err)
			require.InDelta(t, want.height, got.height, 1e-9)
			require.InDeltaSlice(t, want.mode, got.mode, 1e-9)
			require.InDeltaSlice(t, want.curvature, got.curvature, 1e-7)
			wantWeights, wantResponse := all.Responses.Working(want.eta, 1.3, true)
			gotWeights, gotResponse := target.Responses.Working(got.eta, 1.3, true)
			for i, first := range distinct.Of(n, func(key []byte, row int) []byte {
				return distinct.Key(distinct.Key(key, design.Offset[row], design.Y[row]), design.X.RawRowView(row)...)
			}).Of {
				require.InDelta(t, wantWeights[i]*target.Responses.Times[first], gotWeights[first], 1e-8)
				require.InDelta(t, wantResponse[i], gotResponse[first], 1e-7)
			}
		})
	}
}
