package walk

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/shard"
)

// Chains over missing cells that are stopped in a round continue and end with exactly the results
// of uninterrupted chains.
func TestImputationGoesOn(t *testing.T) {
	for name, text := range map[string]string{
		"numbers":    "a,b,c\n1.5,2,3.5\n2.5,NA,1\n3,4.5,2\nNA,1,2.5\n5,2.5,7\n4.5,3,6\n",
		"categories": "a,b,c\nu,x,k\nv,NA,l\nv,y,k\nNA,x,l\nu,x,k\nv,y,l\n",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := dagtest.Missing(t, text, tables.DataOptions{}, score.ModelOptions{})
			require.NoError(t, err)
			cfg := ChainConfig{Chains: 2, Rounds: 2, Seed: 4}
			whole, err := SampleGraphs(p, t.Context(), cfg, func(string) {})
			require.NoError(t, err)
			cfg.Shard = &shard.Shard{Dir: t.TempDir(), Count: 1}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			_, err = SampleGraphs(p, ctx, cfg, func(text string) {
				if strings.HasPrefix(text, "round 1") {
					stop()
				}
			})
			require.ErrorIs(t, err, context.Canceled)
			resumed, err := SampleGraphs(p, t.Context(), cfg, func(text string) { require.True(t, strings.HasPrefix(text, "round")) })
			require.NoError(t, err)
			require.Equal(t, whole, resumed)
		})
	}
}
