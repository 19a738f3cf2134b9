package rjmcmc

import (
	"context"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// knownLinear is a linearTarget with a quadratic approximation that is wrong by a different amount
// in every model.
type knownLinear struct{ linearTarget }

func (k knownLinear) Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node) {
	q, dim := k.quadratic(), k.space.Dim()
	constant := func(values []float64, dimensions ...int) *graph.Node {
		return graph.ConvertDType(graph.Reshape(graph.Const(codes.Graph(), values), dimensions...), dtype)
	}
	tilt := graph.AddScalar(graph.MulScalar(graph.Sin(graph.ConvertDType(graph.ReduceSum(codes, 1), dtype)), 0.3), 1) // [B]
	precision = graph.Mul(constant(q.Precision, 1, dim, dim), graph.InsertAxes(tilt, -1, -1))
	return precision, graph.Add(constant(q.Linear, 1, dim), graph.InsertAxes(tilt, -1))
}

// Storing results by model changes no draw, during burn-in, when proposals change, or after it. The
// test uses a fitted quadratic approximation, and one that the target gives.
func TestRememberedModelsChangeNoDraw(t *testing.T) {
	testkit.Slow(t)
	l := correlatedLinear(t)
	for name, target := range map[string]Target{"fitted": l, "given": knownLinear{l}} {
		for _, temperatures := range []int{1, 3} {
			cfg := Config{Chains: 70, Temperatures: temperatures, BurnIn: 120, Iterations: 60, Thin: 3, Seed: 5}
			draws := map[bool]*Result{}
			for _, remember := range []bool{true, false} {
				s, err := newSampler(testkit.Backend(t), target, cfg)
				require.NoError(t, err)
				require.NotNil(t, s.rungs[0].remembered)
				if !remember {
					for i := range s.rungs {
						s.rungs[i].remembered = nil
					}
					for _, p := range []*population{s.state, s.proposal} {
						if p.models != nil {
							p.models, p.precision, p.linear = nil, make([]float64, s.rows*s.dim*s.dim), make([]float64, s.rows*s.dim)
						}
					}
				}
				draws[remember], err = s.run(context.Background())
				require.NoError(t, err)
				s.density.close()
			}
			assert.Equal(t, draws[false].codes, draws[true].codes, "%s, %d temperatures", name, temperatures)
			assert.Equal(t, draws[false].theta, draws[true].theta, "%s, %d temperatures", name, temperatures)
			assert.Equal(t, draws[false].LogDensity, draws[true].LogDensity, "%s, %d temperatures", name, temperatures)
		}
	}
}
