package vti

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/testkit"
)

// Adam against a loop written from the paper, with steps left out on the way.
func TestAdamAgainstLoop(t *testing.T) {
	const rate, steps = 0.01, 40
	ctx := context.New()
	exec, err := context.NewExec(testkit.Backend(t), ctx, func(ctx *context.Context, gradient, step, apply *Node) *Node {
		variable := ctx.In(flowScope).Checked(false).VariableWithValue("x", []float64{1, -2, 0.5})
		increment := adamIncrements(ctx, adamScope, []*context.Variable{variable}, []*Node{gradient}, Const(step.Graph(), rate), step, apply)[0]
		variable.SetValueGraph(Add(variable.ValueGraph(step.Graph()), increment))
		return variable.ValueGraph(step.Graph())
	})
	require.NoError(t, err)
	random := stream.Rand(1, "adam")
	x, m, v := []float64{1, -2, 0.5}, make([]float64, 3), make([]float64, 3)
	for step := 1; step <= steps; step++ {
		apply := step%7 != 3
		gradient := []float64{random.NormFloat64(), 100 * random.NormFloat64(), 1e-3 * random.NormFloat64()}
		sent := gradient
		if !apply {
			sent = []float64{math.NaN(), math.Inf(1), 0}
		}
		got, err := exec.Exec(sent, float64(step), apply)
		require.NoError(t, err)
		for j, g := range gradient {
			if apply {
				m[j] = 0.9*m[j] + 0.1*g
				v[j] = 0.999*v[j] + 0.001*g*g
				corrected, second := m[j]/(1-math.Pow(0.9, float64(step))), v[j]/(1-math.Pow(0.999, float64(step)))
				x[j] -= rate * corrected / (math.Sqrt(second) + 1e-8)
			}
		}
		require.InDeltaSlice(t, x, got[0].Value(), 1e-10, "step %d", step)
	}
}

func TestClipByNorm(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name  string
		first []float64
		last  float32
		norm  float64
		scale float64
	}{
		{"below the limit", []float64{1, 2}, 2, 3, 1},
		{"above the limit", []float64{30, 40}, 120, 130, 10.0 / 130},
		{"zero", []float64{0, 0}, 0, 0, 1},
		{"infinite", []float64{inf, 0}, 1, inf, 0},
		{"not a number", []float64{1, nan}, 1, nan, nan},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := MustExecOnceN(testkit.Backend(t), func(first, last *Node) []*Node {
				gradients := []*Node{first, last}
				norm := globalNorm(gradients)
				return append(clipByNorm(gradients, norm, 10), norm)
			}, test.first, test.last)
			norm := got[2].Value().(float64)
			if !finite(test.norm) {
				require.False(t, finite(norm))
				return
			}
			require.InDelta(t, test.norm, norm, 1e-12)
			require.InDeltaSlice(t, []float64{test.first[0] * test.scale, test.first[1] * test.scale}, got[0].Value(), 1e-12)
			require.InDelta(t, float64(test.last)*test.scale, got[1].Value(), 1e-5)
		})
	}
}

func TestSchedules(t *testing.T) {
	const steps = 1000
	at := func(step float64, schedule func(step *Node) *Node) float64 {
		value, err := ExecOnce(testkit.Backend(t), schedule, step)
		require.NoError(t, err)
		return value.Value().(float64)
	}
	rate := func(step float64) float64 {
		return at(step, func(step *Node) *Node { return learningRate(step, 0.2, steps) })
	}
	cosine := func(step float64) float64 { return (1 + math.Cos(math.Pi*step/(steps+1))) / 2 }
	for step, want := range map[float64]float64{
		1: 0.2 * cosine(1) / warmUpSteps, warmUpSteps: 0.2 * cosine(warmUpSteps), 500.5: 0.1, steps: 0.2 * cosine(steps),
	} {
		require.InDelta(t, want, rate(step), 1e-12, "step %g", step)
	}
	require.Positive(t, rate(steps))
	require.Less(t, rate(steps), 1e-5)

	power := func(step, over float64) float64 {
		return at(step, func(step *Node) *Node { return temperature(step, over) })
	}
	require.EqualValues(t, 1, power(1, 0))
	require.EqualValues(t, 1, power(1, -300))
	require.InDelta(t, coldestPower+0.9/300, power(1, 300), 1e-12)
	require.InDelta(t, 0.55, power(150, 300), 1e-12)
	require.EqualValues(t, 1, power(300, 300))
	require.EqualValues(t, 1, power(999, 300))
}

// The step on a table has the sign of the negative gradient, approaches the natural gradient where models are sampled often,
// and stays bounded where they are not.
func TestTableStep(t *testing.T) {
	logProbs := []float64{math.Log(0.9), math.Log(0.1), math.Inf(-1)}
	got, err := ExecOnce(testkit.Backend(t), func(logProbs, gradient *Node) *Node {
		return tableStep(logProbs, gradient, Const(gradient.Graph(), 0.5), 100)
	}, logProbs, []float64{0.91, -0.22, 0})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{-0.5, 1, 0}, got.Value(), 1e-12)
	require.Equal(t, dtypes.Float64, got.DType())
}
