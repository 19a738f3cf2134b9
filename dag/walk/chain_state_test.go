package walk

import (
	gocontext "context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/shard"
)

// Chains that are stopped in a round continue and end with exactly the results of uninterrupted
// chains, for the prior over graphs and the prior over orders.
func TestChainsGoOn(t *testing.T) {
	for _, orders := range []bool{false, true} {
		p, _ := windowProblem(t, orders)
		cfg := ChainConfig{Chains: 2, Rounds: 2, Candidates: 3, Seed: 4}
		whole, err := SampleGraphs(p, t.Context(), cfg, func(string) {})
		require.NoError(t, err)
		cfg.Shard = &shard.Shard{Dir: t.TempDir(), Count: 1}
		ctx, stop := gocontext.WithCancel(t.Context())
		defer stop()
		_, err = SampleGraphs(p, ctx, cfg, func(text string) {
			if strings.HasPrefix(text, "round 1") {
				stop()
			}
		})
		require.ErrorIs(t, err, gocontext.Canceled)
		resumed, err := SampleGraphs(p, t.Context(), cfg, func(string) {})
		require.NoError(t, err)
		require.Equal(t, whole.Graphs, resumed.Graphs)
		require.Equal(t, whole.scores, resumed.scores)
	}
}

// Two processes that share chains, and a process that combines their pieces, end with the graphs of
// a single process.
func TestSharedChains(t *testing.T) {
	for _, orders := range []bool{false, true} {
		p, _ := windowProblem(t, orders)
		cfg := ChainConfig{Chains: 3, Rounds: 2, Candidates: 3, Seed: 4}
		whole, err := SampleGraphs(p, t.Context(), cfg, func(string) {})
		require.NoError(t, err)
		dir := t.TempDir()
		var both sync.WaitGroup
		share := func(part *shard.Shard) {
			shared := cfg
			shared.Shard = part
			got, err := SampleGraphs(p, t.Context(), shared, func(string) {})
			require.NoError(t, err)
			require.Equal(t, whole.Graphs, got.Graphs)
			require.Equal(t, whole.scores, got.scores)
		}
		for i := range 2 {
			both.Go(func() { share(&shard.Shard{Dir: dir, Index: i, Count: 2}) })
		}
		both.Wait()
		merge := &shard.Shard{Dir: dir, Count: 1}
		share(merge)
		require.Zero(t, merge.Computed())
		require.Greater(t, merge.Read(), cfg.Chains)
	}
}
