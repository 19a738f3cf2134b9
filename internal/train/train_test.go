package train

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// TestAdamAgainstLoop compares Adam with a loop written from the paper. Some steps are left out.
func TestAdamAgainstLoop(t *testing.T) {
	const rate, steps = 0.01, 40
	ctx := context.New()
	exec, err := context.NewExec(testkit.Backend(t), ctx, func(ctx *context.Context, gradient, step, apply *Node) *Node {
		variable := ctx.In("flow").Checked(false).VariableWithValue("x", []float64{1, -2, 0.5})
		increment := Adam{}.Increments(ctx, "adam", []*context.Variable{variable}, []*Node{gradient}, Const(step.Graph(), rate), step, apply)[0]
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

// TestAdamOfRows compares steps on rows of a table with a loop in which each row counts its own
// steps. The second row of a batch repeats an index with a zero gradient, like the unused rows of a
// batch.
func TestAdamOfRows(t *testing.T) {
	const rate = 0.01
	ctx := context.New()
	exec, err := context.NewExec(testkit.Backend(t), ctx, func(ctx *context.Context, gradient, rows, step *Node) *Node {
		variable := ctx.In("flow").Checked(false).VariableWithValue("x", [][]float64{{1, -2}, {3, 4}, {5, 6}})
		adam := Adam{SecondDecay: 0.9, Rows: []*Node{rows}}
		increment := adam.Increments(ctx, "adam", []*context.Variable{variable}, []*Node{gradient}, Const(step.Graph(), rate), step, IsFinite(ReduceAllSum(gradient)))[0]
		variable.SetValueGraph(Advance(variable.ValueGraph(step.Graph()), rows, increment))
		return variable.ValueGraph(step.Graph())
	})
	require.NoError(t, err)
	random := stream.Rand(1, "adam")
	x, m, v, age := [][]float64{{1, -2}, {3, 4}, {5, 6}}, [3][2]float64{}, [3][2]float64{}, [3]float64{}
	for step := 1; step <= 40; step++ {
		row := random.IntN(2) // 0 or 1, so that the last row never changes
		gradient := []float64{random.NormFloat64(), 100 * random.NormFloat64()}
		if step%7 == 3 {
			gradient[0] = math.NaN()
		}
		got, err := exec.Exec([][]float64{gradient, {0, 0}}, [][]int32{{int32(row)}, {0}}, float64(step))
		require.NoError(t, err)
		if step%7 != 3 {
			age[row]++
			for j, g := range gradient {
				m[row][j] = 0.9*m[row][j] + 0.1*g
				v[row][j] = 0.9*v[row][j] + 0.1*g*g
				scale := 1 - math.Pow(0.9, age[row])
				x[row][j] -= rate * (m[row][j] / scale) / (math.Sqrt(v[row][j]/scale) + 1e-8)
			}
		}
		for i := range x {
			require.InDeltaSlice(t, x[i], got[0].Value().([][]float64)[i], 1e-10, "step %d", step)
		}
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
				norm := GlobalNorm(gradients)
				return append(ClipByNorm(gradients, norm, 10), norm)
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

func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }
