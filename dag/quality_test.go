//go:build quality

package dag

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/dagtest"
)

// TestQualityOfGraphFlow compares two posteriors over graphs of 3 to 5 nodes: one by a flow with a
// learned distribution q(m) of graphs, and one by evidences in closed form. Edge probabilities
// differ by less than 0.02 for 5 simulated data sets of 100 rows. The command is:
//
//	go test -tags quality -run QualityOfGraphFlow -v ./dag
func TestQualityOfGraphFlow(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for nodes := 3; nodes <= 5; nodes++ {
		for seed := range uint64(5) {
			s, err := sem.Simulate(sem.Simulation{Nodes: nodes, Rows: 100, Mechanism: sem.Linear, Seed: seed})
			require.NoError(t, err)
			d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
			require.NoError(t, err)
			p, err := score.NewProblem(d, score.ModelOptions{Mechanism: sem.Linear, Graphs: score.UniformGraphs}, tables.Constraints{})
			require.NoError(t, err)
			exact, err := RunExact(t.Context(), p, ExactConfig{})
			require.NoError(t, err)
			result, err := RunGraphFlow(t.Context(), device, p, RunConfig{Fit: vti.Config{Seed: seed}})
			require.NoError(t, err)
			worst, want := 0.0, exact.Matrix()
			for i, row := range result.Matrix() {
				for j, x := range row {
					worst = math.Max(worst, math.Abs(x-want[i][j]))
				}
			}
			t.Logf("%d nodes, seed %d: worst edge %.4f, %s %v", nodes, seed, worst, result.Certificate.Verdict, result.Certificate.Reasons)
			require.Less(t, worst, 0.02)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict)
		}
	}
}
