package varsel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/regression"
)

// correlated returns a table of n rows with p predictors, which follow an AR(1) process with
// correlation 0.5, and an offset column "o". The predictors x0, x3, x6, … have effects; effects is
// their number. The response suits kind: it is continuous, binary or a count, say.
func correlated(t testing.TB, kind likelihood.Kind, n, p, effects int) *table.Table {
	t.Helper()
	random := stream.Rand(uint64(p), "correlated")
	var text strings.Builder
	text.WriteString("y,o")
	for j := range p {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for range n {
		x := make([]float64, p)
		eta := 0.0
		for j := range x {
			x[j] = random.NormFloat64()
			if j > 0 {
				x[j] = 0.5*x[j-1] + math.Sqrt(0.75)*x[j]
			}
			if j%3 == 0 && j/3 < effects {
				eta += 0.5 * x[j]
			}
		}
		y := eta + random.NormFloat64()
		switch {
		case kind.Binary():
			y = math.Round(0.5 + 0.5*math.Copysign(1, y))
		case kind.Discrete():
			y = math.Floor(math.Exp(eta + 0.5*random.Float64()))
		case kind == likelihood.BetaKind:
			y = 1 / (1 + math.Exp(-y))
		case !kind.Continuous() || kind.Logarithmic():
			y = math.Exp(y)
		}
		fmt.Fprintf(&text, "\n%v,%v", y, 0.1*random.NormFloat64())
		for _, v := range x {
			fmt.Fprintf(&text, ",%v", v)
		}
	}
	path := filepath.Join(t.TempDir(), "correlated.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	data, err := table.ReadFile(path)
	require.NoError(t, err)
	return data
}

func slotProblem(t testing.TB, data *table.Table, options DesignOptions, model ModelOptions) *Problem {
	t.Helper()
	options.Target, options.Likelihood = "y", model.Likelihood
	design, err := NewDesign(data, options)
	require.NoError(t, err)
	model.Codes = ListCodes
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	require.NotNil(t, problem.Slots)
	return problem
}

// TestSlotsAreTheSamePosterior compares the densities of models as lists with the densities of the
// same models as bits, for five likelihoods.
func TestSlotsAreTheSamePosterior(t *testing.T) {
	for _, model := range []ModelOptions{
		{}, {Sigma: 1}, {Likelihood: likelihood.RobustKind}, {Likelihood: likelihood.RobustKind, UnknownSigma1: true}, {Likelihood: likelihood.StudentKind},
		{Likelihood: likelihood.LogisticKind}, {Likelihood: likelihood.PoissonKind},
	} {
		t.Run(fmt.Sprint(model.Likelihood, model.Sigma, model.UnknownSigma1), func(t *testing.T) {
			model.Prior = Prior{Kind: BetaBinomialPrior, A: 1, B: 2, MaxSize: 3}
			problem := slotProblem(t, correlated(t, model.Likelihood, 40, 6, 2), DesignOptions{Always: []string{"x4"}, Offset: "o",
				Groups: []PredictorGroup{{Name: "pair", Columns: []string{"x1", "x3"}}}}, model)
			slots, bits := problem.Slots, problem.Target
			random := stream.Rand(5, "slots")
			var codes, bitCodes [][]int32
			var theta, bitTheta [][]float64
			for _, code := range space.All(slots.space.Cards()) {
				if !slots.space.Valid(code) {
					continue
				}
				packed, spread := make([]float64, slots.space.Dim()), make([]float64, bits.space.Dim())
				for j := range packed {
					packed[j] = 0.3 * random.NormFloat64() // inactive coordinates are not 0
				}
				for a, j := range slots.fixed {
					spread[j] = packed[a]
				}
				if bits.Scale >= 0 {
					spread[bits.Scale] = packed[slots.scaleCoordinate()]
				}
				bit := make([]int32, len(problem.Design.Predictors))
				for place, item := range slots.space.Set(code) {
					predictor := slots.order[item]
					bit[predictor] = 1
					for i, j := range problem.Design.Predictors[predictor].Coordinates {
						spread[j] = packed[slots.space.Fixed()+place*slots.space.Width()+i]
					}
				}
				codes, bitCodes = append(codes, slices.Clone(code)), append(bitCodes, bit)
				theta, bitTheta = append(theta, packed), append(bitTheta, spread)
			}
			evaluate := func(target interface {
				Space() space.Space
				LogPrior(*Node) *Node
				LogJoint(codes, mask, theta *Node) *Node
			}, codes [][]int32, theta [][]float64) (prior, joint []float64) {
				outputs, err := MustNewExec(testkit.Backend(t), func(codes, theta *Node) []*Node {
					return []*Node{target.LogPrior(codes), target.LogJoint(codes, target.Space().Mask(codes), theta)}
				}).Exec(codes, theta)
				require.NoError(t, err)
				return outputs[0].Value().([]float64), outputs[1].Value().([]float64)
			}
			prior, joint := evaluate(slots, codes, theta)
			wantPrior, wantJoint := evaluate(bits, bitCodes, bitTheta)
			require.InDeltaSlice(t, wantPrior, prior, 1e-12)
			require.InDeltaSlice(t, wantJoint, joint, 1e-9)
		})
	}
}

// For Gaussian noise of known σ, the approximation of three models must have the precision matrix
// X'X/σ² and the linear term X'y/σ², plus the terms of the prior, by plain sums.
func TestSlotQuadraticIsExactForGaussians(t *testing.T) {
	problem := slotProblem(t, correlated(t, likelihood.GaussianKind, 30, 5, 2), DesignOptions{NoStandardize: true}, ModelOptions{Sigma: 0.9, Prior: Prior{MaxSize: 3}})
	slots := problem.Slots
	codes := [][]int32{{0, 2, 4}, {1, 3, 5}, {5, 5, 5}}
	outputs, err := MustNewExec(testkit.Backend(t), func(codes *Node) []*Node {
		precision, linear := slots.Quadratic(codes, slots.space.Mask(codes), dtypes.Float64)
		return []*Node{precision, linear}
	}).Exec(codes)
	require.NoError(t, err)
	precision, linear := outputs[0].Value().([][][]float64), outputs[1].Value().([][]float64)
	for row, code := range codes {
		columns := slices.Clone(problem.Design.Always)
		for _, item := range slots.space.Set(code) {
			columns = append(columns, problem.Design.Predictors[slots.order[item]].Coordinates...)
		}
		for a, j := range columns {
			x := mat.Col(nil, j, problem.Design.X)
			want := problem.Target.Mean[j] / (problem.Target.SD[j] * problem.Target.SD[j])
			for i, v := range x {
				want += v * problem.Design.Y[i] / 0.81
			}
			require.InDelta(t, want, linear[row][a], 1e-9)
			for b, k := range columns {
				want := 0.0
				if a == b {
					want = 1 / (problem.Target.SD[j] * problem.Target.SD[j])
				}
				for i, v := range mat.Col(nil, k, problem.Design.X) {
					want += v * x[i] / 0.81
				}
				require.InDelta(t, want, precision[row][a][b], 1e-9)
			}
		}
	}
}

// TestSlotQuadraticOfUnknownNoise compares, for several models, the mode and the precision of log σ
// with a search, in Go, for the maximum of the marginal density, and the precision of the
// coefficients with least squares at this σ.
func TestSlotQuadraticOfUnknownNoise(t *testing.T) {
	for _, model := range []ModelOptions{{}, {Likelihood: likelihood.StudentKind}, {Likelihood: likelihood.RobustKind, UnknownSigma1: true}} {
		model.Prior = Prior{MaxSize: 3}
		problem := slotProblem(t, correlated(t, model.Likelihood, 30, 5, 2), DesignOptions{}, model)
		slots := problem.Slots
		at, dim := slots.scaleCoordinate(), slots.space.Dim()
		codes := [][]int32{{0, 2, 4}, {1, 3, 5}, {5, 5, 5}}
		outputs, err := MustNewExec(testkit.Backend(t), func(codes *Node) []*Node {
			precision, linear := slots.Quadratic(codes, slots.space.Mask(codes), dtypes.Float64)
			return []*Node{precision, linear}
		}).Exec(codes)
		require.NoError(t, err)
		precision, linear := outputs[0].Value().([][][]float64), outputs[1].Value().([][]float64)
		for row, code := range codes {
			columns := slices.Clone(problem.Design.Always)
			for _, item := range slots.space.Set(code) {
				columns = append(columns, problem.Design.Predictors[slots.order[item]].Coordinates...)
			}
			var model regression.Active
			for _, j := range columns {
				problem.Target.Include(&model, j, j)
			}
			theta, ok := regression.Solve(model.NormalEquations(slots.start.Weights, slots.start.Response))
			require.True(t, ok)
			rows, _ := problem.Target.X.Dims()
			eta := make([]float64, rows)
			for i := range eta {
				for a, j := range columns {
					eta[i] += theta[a] * problem.Target.X.At(i, j)
				}
			}
			density := func(s float64) float64 {
				deviation := (s - slots.mean[at]) / slots.sd[at]
				return problem.Target.Responses.LogDensityAt(eta, math.Exp(s)) + float64(len(columns))*s - deviation*deviation/2
			}
			best := -5.0
			for s := -5.0; s < 3; s += 1e-4 {
				if density(s) > density(best) {
					best = s
				}
			}
			const h = 0.05
			curvature := -(density(best+h) - 2*density(best) + density(best-h)) / (h * h)
			got := linear[row][at] / precision[row][at][at]
			require.InDelta(t, best, got, 2e-4)
			require.InEpsilon(t, curvature, precision[row][at][at], 0.01)
			for a := range columns {
				packed := a
				if a >= len(problem.Design.Always) {
					packed++ // the block of the first slot comes after log σ
				}
				require.Less(t, packed, dim)
				require.Zero(t, precision[row][at][packed])
				j := columns[a]
				want := 1 / (problem.Target.SD[j] * problem.Target.SD[j])
				for i, w := range slots.start.Weights {
					x := problem.Target.X.At(i, j)
					want += w * math.Exp(-2*(got-slots.start.LogScale)) * x * x
				}
				require.InEpsilon(t, want, precision[row][packed][packed], 1e-9)
			}
		}
	}
}

// TestScreeningFindsEffects requires that screening puts the predictors with effects first, for
// every likelihood.
func TestScreeningFindsEffects(t *testing.T) {
	for _, kind := range likelihood.Kinds() {
		if kind.HasCategories() {
			continue // a categorical response cannot have models as lists
		}
		t.Run(kind.String(), func(t *testing.T) {
			data := correlated(t, kind, 300, 80, 4)
			problem := slotProblem(t, data, DesignOptions{Exclude: []string{"o"}}, ModelOptions{Likelihood: kind, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 10}})
			first := slices.Sorted(slices.Values(problem.Slots.order[:4]))
			require.Equal(t, []int{0, 3, 6, 9}, first)
			for _, w := range problem.Slots.start.Weights {
				require.Positive(t, w)
			}
		})
	}
}
