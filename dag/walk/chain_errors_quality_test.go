//go:build quality

package walk

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
)

// TestQualityOfChainErrors compares edge probabilities of chains with exact sums, in units of the
// standard errors of the chains, for graphs of 10 nodes and 8 simulated tables of 40 to 300 rows.
// The largest of 720 standard normal numbers exceeds 4.5 in one of 200 cases.
//
//	go test -tags quality -run QualityOfChainErrors -v ./dag
func TestQualityOfChainErrors(t *testing.T) {
	var all []float64
	for seed := range uint64(8) {
		s, err := sem.Simulate(sem.Simulation{Nodes: 10, Rows: []int{40, 100, 200, 300}[seed%4], ExpectedDegree: 1.5, Mechanism: sem.Linear, Seed: 400 + seed})
		require.NoError(t, err)
		d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
		require.NoError(t, err)
		p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := score.NewPosterior(context.Background(), p.Structure, scores, nil)
		require.NoError(t, err)
		sampled, err := SampleGraphs(p, t.Context(), ChainConfig{Seed: 900 + seed}, func(string) {})
		require.NoError(t, err)
		edges := sampled.Edges()
		exact := posterior.EdgeProbabilities()
		var zScores []float64
		for _, e := range dgraph.OrderedPairs(10) {
			zScores = append(zScores, (edges.Probabilities[e.From][e.To]-exact[e.From][e.To])/edges.Errors[e.From][e.To])
		}
		largest := 0.0
		for _, z := range zScores {
			largest = math.Max(largest, math.Abs(z))
		}
		t.Logf("table %d: sd of z %.2f, largest %.2f, R-hat %.4f, ESS %.0f", seed, stat.StdDev(zScores, nil), largest, edges.Worst.RHat, edges.Worst.ESS)
		all = append(all, zScores...)
	}
	largest := 0.0
	for _, z := range all {
		largest = math.Max(largest, math.Abs(z))
	}
	t.Logf("all: sd of z %.2f, largest %.2f", stat.StdDev(all, nil), largest)
	require.Less(t, stat.StdDev(all, nil), 1.2)
	require.Less(t, largest, 4.5)
}
