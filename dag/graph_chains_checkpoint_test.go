package dag

import (
	gocontext "context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Chains that were stopped in a round go on to the bits of chains that were not, under
// either prior, and refuse the state of other ones.
func TestChainsGoOn(t *testing.T) {
	for _, orders := range []bool{false, true} {
		p, _ := windowProblem(t, orders)
		cfg := ChainConfig{Chains: 2, Rounds: 2, Candidates: 3, Seed: 4}
		whole, err := p.sampleGraphs(t.Context(), cfg, func(string) {})
		require.NoError(t, err)
		cfg.Checkpoint = filepath.Join(t.TempDir(), "chains.vti")
		ctx, stop := gocontext.WithCancel(t.Context())
		defer stop()
		_, err = p.sampleGraphs(ctx, cfg, func(text string) {
			if strings.HasPrefix(text, "round 1") {
				stop()
			}
		})
		require.ErrorIs(t, err, gocontext.Canceled)
		cfg.Resume = true
		resumed, err := p.sampleGraphs(t.Context(), cfg, func(string) {})
		require.NoError(t, err)
		require.Equal(t, whole.graphs, resumed.graphs)
		require.Equal(t, whole.scores, resumed.scores)
		cfg.Seed++
		_, err = p.sampleGraphs(t.Context(), cfg, func(string) {})
		require.ErrorContains(t, err, "different run")
	}
}
