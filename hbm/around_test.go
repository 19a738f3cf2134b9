package hbm

import (
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
)

// x ~ N(0, I) are two numbers around a Cholesky factor of its posterior given y ~ N(x_1 + x_2, 1) =
// 1, and z ~ N(x_1, 1) after it: all log weights are the log evidence, log N(1; 0, 3).
func TestInferenceStartsAround(t *testing.T) {
	m := NewModel()
	// precision [[2, 1], [1, 2]], covariance [[2, −1], [−1, 2]] / 3, mean (1, 1) / 3
	first, below, second := 0.816496580927726, -0.408248290463863, 0.7071067811865476
	x := m.Latent("x", Normal(Number(0), Number(1)), Event(2), Around(Numbers(1./3, 1./3), Numbers(first, 0, below, second)))
	firstOf := func(x []*Node) *Node { return Squeeze(SliceAxis(x[0], -1, AxisElem(0)), -1) }
	plate := m.Plate("members", 3)
	m.Latent("z", Normal(At(x, 0), Number(1)), On(plate), Around(Of(firstOf, Unconstrained(x)), Number(1)))
	sum := Of(func(x []*Node) *Node { return ReduceSum(x[0], -1) }, x)
	y := m.Observed("y", Normal(sum, Number(1)))
	require.NoError(t, m.Err())
	for _, family := range []Family{PAVIF, Branch} {
		p, err := Fit(t.Context(), openCPU(t), m, Values{y: {1}}, Config{Family: family, Steps: 1, LearningRate: 1e-30})
		require.NoError(t, err)
		draws, err := p.Sample(t.Context(), 5, "draws")
		require.NoError(t, err)
		tolerance := 1e-5 // of float32
		if family == PAVIF {
			tolerance = 0.2 // encodings start apart by 0.01
		}
		for i := range draws.N {
			require.InDelta(t, -0.918938533204673-0.549306144334055-1./6, draws.LogJoint[i]-draws.LogQ[i], tolerance, family)
		}
	}
	m.Latent("w", Normal(Number(0), Number(1)), Around(Unconstrained(m.variables[1]), Number(1)))
	require.ErrorContains(t, m.Err(), `it is around a term of "z", which is on plate "members"`)
}
