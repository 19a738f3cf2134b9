package varsel

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/testkit"
	"github.com/transdim/vti/likelihood"
)

// Expansions are those of the graph: its value, its gradient, and central differences of the
// gradient, for models as bits and as lists, with the scale of noise known and unknown.
func TestExpandIsTheGraph(t *testing.T) {
	for _, model := range []ModelOptions{
		{Likelihood: likelihood.RobustKind}, {Likelihood: likelihood.RobustKind, UnknownSigma1: true}, {Likelihood: likelihood.StudentKind},
	} {
		t.Run(fmt.Sprint(model.Likelihood, model.UnknownSigma1), func(t *testing.T) {
			model.Prior = Prior{Kind: BetaBinomialPrior, A: 1, B: 2, MaxSize: 3}
			problem := slotProblem(t, correlated(t, model.Likelihood, 40, 6, 2), DesignOptions{Always: []string{"x4"}, Offset: "o"}, model)
			problem.Target.responses.times = make([]float64, 40)
			for i := range problem.Target.responses.times {
				problem.Target.responses.times[i] = float64(1 + i%3)
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
