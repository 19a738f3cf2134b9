package graphs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
)

// TestStudy checks that a study makes its runs, table and figure, that a second call only reads the
// runs, that a study may grow, and that other changes of the settings return an error.
func TestStudy(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	dir := filepath.Join(t.TempDir(), "bench")
	b := Study{DataSets: 2, Sizes: []int{20, 40}, Simulation: sem.Simulation{Nodes: 4, Mechanism: dag.Linear}, Steps: 10, Seed: 4}
	var ran int
	count := func(string) { ran++ }
	table, err := b.Run(t.Context(), device, dir, nil, count)
	require.NoError(t, err)
	require.Equal(t, 4, ran)
	require.Len(t, table, 6)
	require.Equal(t, "vti", table[0].Method)
	require.Equal(t, 2, table[0].DataSets)
	require.Equal(t, 2, table[0].Trusted)
	require.Zero(t, table[0].Failed)
	require.Zero(t, table[1].Trusted)
	require.InDelta(t, 0, float64(table[2].F1), 0, "the empty graph")
	for _, name := range []string{"table.csv", "figure.svg", "figure.png", "data-4/20/result.json", "data-5/40/edges.csv"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Positive(t, info.Size())
	}
	again, err := b.Run(t.Context(), device, dir, nil, count)
	require.NoError(t, err)
	require.Equal(t, 4, ran)
	require.Equal(t, table[0], again[0])
	grown := b
	grown.DataSets = 3
	table, err = grown.Run(t.Context(), device, dir, nil, count)
	require.NoError(t, err)
	require.Equal(t, 6, ran)
	require.Equal(t, 3, table[0].DataSets)
	require.ErrorContains(t, b.Check(dir), "--data-sets is 3 there, 2 was asked for")
	b = grown
	b.Sizes = []int{30}
	table, err = b.Run(t.Context(), device, dir, nil, count)
	require.NoError(t, err)
	require.Equal(t, 9, ran, "of the new size alone")
	require.Equal(t, []int{20, 30, 40}, []int{table[0].Rows, table[3].Rows, table[6].Rows}, "beside those that were there")
	require.ErrorContains(t, grown.Check(filepath.Join(dir, "data-4")), "is no benchmark")
	other := filepath.Join(t.TempDir(), "both")
	both := Study{DataSets: 1, Sizes: []int{40}, Structures: []dag.Method{dag.Exact, dag.GraphFlow}, Simulation: b.Simulation, Steps: 10, Seed: 4}
	table, err = both.Run(t.Context(), device, other, nil, func(string) {})
	require.NoError(t, err)
	require.Equal(t, []string{"vti", "vti flow", "greedy BIC", "empty"}, []string{table[0].Method, table[1].Method, table[2].Method, table[3].Method})
	require.InDelta(t, float64(table[0].F1), float64(table[1].F1), 0.05, "two ways to one posterior")
	one := both
	one.Structures = nil
	whole, err := one.Run(t.Context(), device, other, nil, func(string) { t.Error("every run is there") })
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(table), fmt.Sprint(whole))
	_, err = Study{DataSets: 1, Sizes: []int{20}, Structures: []dag.Method{dag.Chains}}.Run(t.Context(), device, dir, nil, count)
	require.ErrorContains(t, err, "got the structure chains, want exact or flow")
	one.Simulation.Nodes = 15
	_, err = one.Run(t.Context(), device, t.TempDir(), nil, count)
	require.ErrorContains(t, err, "15 nodes: sums over graphs are exact for up to 14")
	b = grown
	b.Steps++
	_, err = b.Run(t.Context(), device, dir, nil, count)
	require.ErrorContains(t, err, "is a benchmark with other settings: --steps is 10 there, 11 was asked for")
	_, err = Study{}.Run(t.Context(), device, dir, nil, count)
	require.ErrorContains(t, err, "want at least one of each")
}
