package calibrate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// The test makes small studies of hierarchical regressions drawn from the priors. Every kind of
// parameter must have ranks of true values among posterior draws, and no answer an error.
func TestHbmStudy(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	source := Hbm{Device: device, Rows: 24, Groups: 6}
	cfg := Config{Replicates: 3, Seed: 1, Dir: t.TempDir()}
	list, err := Run(t.Context(), source, cfg)
	require.NoError(t, err)
	s := Summarize(source, cfg, list)
	require.Len(t, s.Uniformity, 4, "group, sd of groups, sigma and slope")
	for _, r := range list {
		require.Empty(t, r.Error)
	}

	t.Run("ordered", func(t *testing.T) {
		testkit.Long(t)
		ordered := source
		ordered.Record.Frame.Response = likelihood.CumulativeProbitKind
		cfg = Config{Replicates: 2, Seed: 1, Dir: t.TempDir()}
		list, err = Run(t.Context(), ordered, cfg)
		require.NoError(t, err)
		require.Len(t, Summarize(ordered, cfg, list).Uniformity, 6, "three cut points, group, sd of groups and slope")
	})
}
