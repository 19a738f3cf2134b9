//go:build quality

package dag

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
)

// qualityCase is a simulated data set with its exact posterior.
type qualityCase struct {
	nodes     int
	seed      uint64
	problem   *Problem
	exact     Scores
	posterior *Posterior
}

// eachQualityCase calls test for data sets of 3 to 5 nodes and 100 rows.
func eachQualityCase(t *testing.T, dataSets uint64, test func(device *gpu.Device, c qualityCase)) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for nodes := 3; nodes <= 5; nodes++ {
		for seed := range dataSets {
			s, err := Simulate(Simulation{Nodes: nodes, Rows: 100, Mechanism: Linear, Seed: seed})
			require.NoError(t, err)
			d, err := NewData(tableOf(t, s.Names, s.Values), DataOptions{})
			require.NoError(t, err)
			p, err := NewProblem(d, ModelOptions{Mechanism: Linear, Graphs: UniformGraphs}, Constraints{})
			require.NoError(t, err)
			exact, err := p.ExactScores(t.Context(), nil)
			require.NoError(t, err)
			posterior, err := NewPosterior(context.Background(), p.Structure, exact, nil)
			require.NoError(t, err)
			test(device, qualityCase{nodes, seed, p, exact, posterior})
		}
	}
}

// distances are the total variation between the exact posterior over graphs and one that was found,
// and the largest error of an edge.
func (c qualityCase) distances(graphs map[string]float64, edges [][]float64) (variation, worst float64) {
	_, _, want := brute(c.problem.Structure, c.exact)
	for key, probability := range want {
		variation += math.Abs(probability-graphs[key]) / 2
	}
	for i, row := range c.posterior.EdgeProbabilities() {
		for j := range row {
			worst = math.Max(worst, math.Abs(row[j]-edges[i][j]))
		}
	}
	return variation, worst
}

// TestQualityOfLinearGraphs compares the certified posterior over graphs of 3 to 5 nodes, 5
// simulated data sets each, with that of scores in closed form:
//
//	go test -tags quality -run QualityOfLinearGraphs -v ./dag
func TestQualityOfLinearGraphs(t *testing.T) {
	eachQualityCase(t, 5, func(device *gpu.Device, c qualityCase) {
		p, target := c.problem, newFamilyTarget(c.problem)
		fit := p.Training(vti.Config{Seed: c.seed, Checkpoint: filepath.Join(t.TempDir(), rundir.PosteriorFile)})
		trained, err := p.fitFamilies(t.Context(), device, target, fit)
		require.NoError(t, err)
		found, certified, err := p.estimate(t.Context(), trained, target, NewPosterior, RunConfig{Draws: defaultDraws, Status: func(string) {}})
		require.NoError(t, err)
		_, _, graphs := brute(p.Structure, found.scores)
		variation, worst := c.distances(graphs, certified.EdgeProbabilities())
		draws := sampleOf(t, certified, randomOf(c.seed), 2000)
		verdict := certified.certify(draws, certified.EdgeErrors(draws), found.draws, found.evidences.NonFinite()).Verdict
		t.Logf("%d nodes, seed %d: total variation %.4f, worst edge %.4f, %s", c.nodes, c.seed, variation, worst, verdict)
		require.Less(t, variation, 0.05)
		require.Less(t, worst, 0.02)
		require.Equal(t, vti.Trusted, verdict)
	})
}

// TestQualityOfMade does the same for one flow with a learned q(m):
//
//	go test -tags quality -run QualityOfMade -v ./dag
func TestQualityOfMade(t *testing.T) {
	eachQualityCase(t, 5, func(device *gpu.Device, c qualityCase) {
		result, err := RunMade(t.Context(), device, c.problem, RunConfig{Fit: vti.Config{Seed: c.seed}})
		require.NoError(t, err)
		_, worst := c.distances(nil, result.matrix())
		t.Logf("%d nodes, seed %d: worst edge %.4f, %s %v", c.nodes, c.seed, worst, result.Certificate.Verdict, result.Certificate.Reasons)
		require.Less(t, worst, 0.02)
		require.Equal(t, vti.Trusted, result.Certificate.Verdict)
	})
}
