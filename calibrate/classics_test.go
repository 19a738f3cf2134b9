package calibrate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/order"
)

// For each command that answers without training, a few problems are drawn and answered, and their
// answers compared with the truth. The same seed gives the same replicates. The studies in
// docs/benchmarks/classics.md have fifty replicates.
func TestClassicsAreDrawnAndCompared(t *testing.T) {
	testkit.Long(t)
	for name, test := range map[string]struct {
		source Source
		ranks  int
	}{
		"mixture":    {Mixture{Options: mixture.Options{MaxComponents: 3}, Sample: mixture.SampleConfig{Sweeps: 4000}, Rows: 30}, 4},
		"poisson":    {Mixture{Options: mixture.Options{MaxComponents: 3, Family: mixture.Poisson}, Sample: mixture.SampleConfig{Sweeps: 4000}, Rows: 30}, 3},
		"mean":       {Changes{Rows: 40}, 3},
		"both":       {Changes{Options: changepoint.Options{Kind: changepoint.Both}, Rows: 40}, 2},
		"polynomial": {Orders{Options: order.Options{Kind: order.Polynomial, MaxOrder: 4}, Rows: 40}, 3},
		"spline":     {Orders{Options: order.Options{Kind: order.Spline, Candidates: 10, MaxOrder: 3}, Rows: 60}, 3},
	} {
		cfg := Config{Replicates: 3, Seed: 1, Dir: t.TempDir()}
		list, err := Run(context.Background(), test.source, cfg)
		require.NoError(t, err, name)
		compared := 0
		for _, r := range list {
			require.NotEqual(t, broken, r.Verdict, "%s: %s", name, r.Error)
			if len(r.Ranks) > 0 {
				compared++
				require.Len(t, r.Ranks, test.ranks, name)
				for _, rank := range r.Ranks {
					require.True(t, rank.Value >= 0 && rank.Value <= 1, "%s: %v", name, rank)
				}
			}
		}
		require.Positive(t, compared, name)
		again, err := One(context.Background(), test.source, cfg, 1)
		require.NoError(t, err)
		require.Equal(t, list[1].Ranks, again.Ranks, name)
	}
	_, err := Run(context.Background(), Orders{Rows: 40}, Config{Replicates: 1, Dir: t.TempDir()})
	require.ErrorContains(t, err, "Zellner's prior refers to the series itself")
}

// The name of a study is text that distinguishes it from other studies.
func TestStudiesHaveNames(t *testing.T) {
	require.Equal(t, "mixture: 40 rows, family poisson, max components 5", Mixture{Options: mixture.Options{Family: mixture.Poisson, MaxComponents: 5}, Rows: 40}.Name())
	require.Equal(t, "changepoints: 60 rows", Changes{Rows: 60}.Name())
	require.Equal(t, "changepoints: 60 rows, model rate, mean changes 2.5", Changes{Options: changepoint.Options{Kind: changepoint.Rate, MeanChanges: 2.5}, Rows: 60}.Name())
	require.Equal(t, "order: 60 rows, model spline, candidates 20", Orders{Options: order.Options{Kind: order.Spline, Candidates: 20}, Rows: 60}.Name())
}
