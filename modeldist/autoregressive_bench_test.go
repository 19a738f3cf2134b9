package modeldist_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/modeldist"
)

// BenchmarkAutoregressive measures drawing 1,024 codes, and computing their log probabilities.
func BenchmarkAutoregressive(b *testing.B) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(b, err)
	defer device.Close()
	for _, sites := range []int{24, 100, 500} {
		q, err := modeldist.NewAutoregressive(slices.Repeat([]int{2}, sites), modeldist.AutoregressiveConfig{})
		require.NoError(b, err)
		ctx := context.New()
		sample := context.MustNewExec(device.Backend(), ctx, func(ctx *context.Context, u *graph.Node) *graph.Node { return q.Sample(ctx, u) })
		logProb := context.MustNewExec(device.Backend(), ctx, func(ctx *context.Context, codes *graph.Node) *graph.Node { return q.LogProb(ctx, codes) })
		u := uniforms(1, 1024, sites)
		codes := sample.MustExec(u)[0]
		logProb.MustExec(codes)
		b.Run(fmt.Sprintf("sample/sites=%d", sites), func(b *testing.B) {
			for b.Loop() {
				sample.MustExec(u)
			}
		})
		b.Run(fmt.Sprintf("logprob/sites=%d", sites), func(b *testing.B) {
			for b.Loop() {
				logProb.MustExec(codes)
			}
		})
	}
}
