package varsel

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// Expansions (values, first and second derivatives of the log density, in Go) agree with the
// computation graph's density and gradient, and with central differences of the gradient, for
// models as bits and as lists, and for known and unknown noise scale.
func TestExpandIsTheGraph(t *testing.T) {
	for _, model := range []ModelOptions{
		{Likelihood: likelihood.RobustKind}, {Likelihood: likelihood.RobustKind, UnknownSigma1: true}, {Likelihood: likelihood.StudentKind},
	} {
		t.Run(fmt.Sprint(model.Likelihood, model.UnknownSigma1), func(t *testing.T) {
			model.Prior = Prior{Kind: BetaBinomialPrior, A: 1, B: 2, MaxSize: 3}
			problem := slotProblem(t, correlated(t, model.Likelihood, 40, 6, 2), DesignOptions{Always: []string{"x4"}, Offset: "o"}, model)
			problem.Target.Responses.Times = make([]float64, 40)
			for i := range problem.Target.Responses.Times {
				problem.Target.Responses.Times[i] = float64(1 + i%3)
			}
			checkExpansion(t, heavyTailed{problem.Target}, [][]int32{{0, 0, 0, 0, 0}, {1, 0, 0, 1, 0}, {1, 1, 1, 1, 1}})
			checkExpansion(t, heavyTailed{problem.Slots}, [][]int32{{0, 2, 4}, {1, 2, 3}})
		})
	}
	logistic := slotProblem(t, correlated(t, likelihood.LogisticKind, 40, 6, 2), DesignOptions{Exclude: []string{"o"}}, ModelOptions{Likelihood: likelihood.LogisticKind,
		Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 2, MaxSize: 3}})
	require.Nil(t, heavyTailed{logistic.Target}.expand(), "one mode has other ways")
}

func checkExpansion(t *testing.T, target heavyTailed, codes [][]int32) {
	t.Helper()
	sp := target.Space()
	exec := MustNewExec(testkit.Backend(t), func(codes, theta *Node) []*Node {
		value := target.LogJoint(codes, sp.Mask(codes), theta)
		return []*Node{value, Gradient(ReduceAllSum(value), theta)[0]}
	})
	evaluate := func(code []int32, theta []float64) (float64, []float64) {
		outputs, err := exec.Exec([][]int32{code}, [][]float64{theta})
		require.NoError(t, err)
		return tensors.MustCopyFlatData[float64](outputs[0])[0], tensors.MustCopyFlatData[float64](outputs[1])
	}
	random := stream.Rand(3, "expand")
	for _, code := range codes {
		mask := sp.(interface {
			MaskRow(code []int32, mask []bool) []bool
		}).MaskRow(code, nil)
		var active []int
		theta := make([]float64, sp.Dim())
		for j, on := range mask {
			if on {
				active, theta[j] = append(active, j), 0.5*random.NormFloat64()
			}
		}
		k := len(active)
		slope, curvature := make([]float64, k), make([]float64, k*k)
		value := target.expand()(code, theta, slope, curvature)
		alone := target.expand()(code, theta, nil, nil)
		require.Equal(t, value, alone)
		want, gradient := evaluate(code, theta)
		require.InDelta(t, want, value, 1e-9)
		for a, i := range active {
			require.InDelta(t, gradient[i], slope[a], 1e-8)
			const h = 1e-5
			theta[i] += h
			_, above := evaluate(code, theta)
			theta[i] -= 2 * h
			_, below := evaluate(code, theta)
			theta[i] += h
			for b, j := range active {
				require.InDelta(t, (below[j]-above[j])/(2*h), curvature[a*k+b], 1e-4, "%v: %d, %d", code, i, j)
			}
		}
	}
}

// If there is hardly any noise, each starting point of the search for modes of a model with two
// coefficients fits two of six rows. The test must find at least 12 of the 15 pairs of rows.
func TestModeStartsFitTheirRows(t *testing.T) {
	for name, sigma := range map[string]float64{"known": 1e-6, "unknown": 0} {
		design, err := NewDesign(correlated(t, likelihood.StudentKind, 6, 2, 1), DesignOptions{Target: "y", Exclude: []string{"o"}, Likelihood: likelihood.StudentKind})
		require.NoError(t, err)
		problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.StudentKind, Sigma: sigma})
		require.NoError(t, err)
		target := problem.Target
		code := []int32{1, 0}
		theta, logJoint := heavyTailed{target}.modeStarts(code, 15)
		require.Len(t, theta, 15, "pairs of six rows")
		a := target.active(code)
		seen := map[[2]int]bool{}
		for k, point := range theta {
			require.Zero(t, point[2], "inactive coordinates")
			require.InDelta(t, target.LogJointAt(a, point, make([]float64, 6)), logJoint[k], 1e-12)
			var fitted []int
			for i, y := range design.Y {
				if math.Abs(y-point[0]*design.X.At(i, 0)-point[1]*design.X.At(i, 1)) < 0.02 {
					fitted = append(fitted, i)
				}
			}
			if len(fitted) == 2 {
				seen[[2]int(fitted)] = true
			}
		}
		require.GreaterOrEqual(t, len(seen), 12, "%s: but for pairs of rows that are nearly one", name)
		few, _ := heavyTailed{target}.modeStarts(code, 4)
		require.Len(t, few, 4)
		again, _ := heavyTailed{target}.modeStarts(code, 4)
		require.Equal(t, few, again, "the same sets")
	}
}

// Only likelihoods whose models can have several modes give starting points of searches for modes.
func TestOnlyHeavyTailsHaveModeStarts(t *testing.T) {
	for _, kind := range likelihood.Kinds() {
		problem := slotlessOrNot(t, kind, ModelOptions{Likelihood: kind})
		code := make([]int32, len(problem.Target.space.Cards()))
		code[0] = 1
		theta, _ := heavyTailed{problem.Target}.modeStarts(code, 8)
		require.Equal(t, kind.HeavyTails(), len(theta) > 0, "%v", kind)
	}
}
