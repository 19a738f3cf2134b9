package cosmic

import (
	"fmt"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
)

// BenchmarkGradient measures a training step: value and gradient of a batch of 64 rows in Float32.
func BenchmarkGradient(b *testing.B) {
	for _, cfg := range []Config{{Dim: 8, Features: 7}, {Dim: 8, Features: 7, Kind: Spline}, {Dim: 8, Features: 7, Kind: Diagonal}} {
		b.Run(fmt.Sprint(cfg.Kind), func(b *testing.B) {
			s := newSubject(b, cfg)
			exec, err := context.NewExec(s.backend, s.ctx, func(ctx *context.Context, mask, feats, x *graph.Node) []*graph.Node {
				z := graph.ConvertDType(x, dtypes.Float32)
				theta, logDet := s.flow.ToParams(ctx, mask, feats, z)
				loss := graph.Sub(graph.ReduceAllSum(graph.Square(theta)), graph.ReduceAllSum(logDet))
				return ctx.BuildTrainableVariablesGradientsGraph(loss)
			})
			require.NoError(b, err)
			in := newBatch(1, 64, cfg.Dim, cfg.Features)
			exec.MustExec(in.mask, in.feats, in.x)
			for b.Loop() {
				exec.MustExec(in.mask, in.feats, in.x)
			}
		})
	}
}
