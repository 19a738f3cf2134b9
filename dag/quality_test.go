//go:build quality

package dag

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
)

// TestQualityOfLinearGraphs compares the certified posterior over graphs of 3 to 5 nodes, 5 simulated data sets each, with that of scores in closed form:
//
//	go test -tags quality -run QualityOfLinearGraphs -v ./dag
func TestQualityOfLinearGraphs(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for nodes := 3; nodes <= 5; nodes++ {
		for seed := range uint64(5) {
			s, err := Simulate(Simulation{Nodes: nodes, Rows: 100, Mechanism: Linear, Seed: seed})
			require.NoError(t, err)
			d, err := NewData(tableOf(t, s.Names, s.Values), DataOptions{})
			require.NoError(t, err)
			p, err := NewProblem(d, ModelOptions{}, Constraints{})
			require.NoError(t, err)
			exact, err := p.ExactScores(t.Context(), nil)
			require.NoError(t, err)
			truth, err := NewPosterior(p.Structure, exact)
			require.NoError(t, err)

			target := newFamilyTarget(p)
			fit := p.Training(vti.Config{Seed: seed, Checkpoint: filepath.Join(t.TempDir(), rundir.PosteriorFile)})
			trained, err := p.fitFamilies(t.Context(), device, target, fit)
			require.NoError(t, err)
			found, certified, err := p.weigh(t.Context(), trained, target, defaultDraws, 0, func(string) {})
			require.NoError(t, err)

			_, _, want := brute(p.Structure, exact)
			_, _, got := brute(p.Structure, found.scores)
			var variation, worst float64
			for key, probability := range want {
				variation += math.Abs(probability-got[key]) / 2
			}
			a, b := truth.EdgeProbabilities(), certified.EdgeProbabilities()
			for i := range a {
				for j := range a[i] {
					worst = math.Max(worst, math.Abs(a[i][j]-b[i][j]))
				}
			}
			draws := certified.Sample(randomOf(seed), 2000)
			verdict := certified.certify(draws, certified.EdgeErrors(draws), found.draws, found.evidences.NonFinite()).Verdict
			t.Logf("%d nodes, seed %d: total variation %.4f, worst edge %.4f, %s", nodes, seed, variation, worst, verdict)
			require.Less(t, variation, 0.05)
			require.Less(t, worst, 0.02)
			require.Equal(t, "trusted", verdict)
		}
	}
}

// TestQualityOfUndividedFlows does the same for the undivided flow with a learned q(m), two data sets each:
//
//	go test -tags quality -run QualityOfUndividedFlows -v -timeout 1h ./dag
func TestQualityOfUndividedFlows(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for nodes := 3; nodes <= 5; nodes++ {
		for seed := range uint64(2) {
			s, err := Simulate(Simulation{Nodes: nodes, Rows: 100, Mechanism: Linear, Seed: seed})
			require.NoError(t, err)
			d, err := NewData(tableOf(t, s.Names, s.Values), DataOptions{})
			require.NoError(t, err)
			p, err := NewProblem(d, ModelOptions{}, Constraints{})
			require.NoError(t, err)
			exact, err := p.ExactScores(t.Context(), nil)
			require.NoError(t, err)
			truth, err := NewPosterior(p.Structure, exact)
			require.NoError(t, err)

			target, graphs, _ := p.madeTarget()
			fit, err := p.madeTraining(graphs, vti.Config{Seed: seed})
			require.NoError(t, err)
			trained, err := vti.Fit(t.Context(), device, target, fit)
			require.NoError(t, err)
			certificate, err := trained.Certify(t.Context(), vti.CertifyConfig{})
			require.NoError(t, err)
			found, err := graphs.summarise(certificate)
			require.NoError(t, err)

			_, _, want := brute(p.Structure, exact)
			got := map[string]float64{}
			for _, d := range found.draws {
				got[d.Graph.Key()] = d.Probability
			}
			var variation, worst float64
			for key, probability := range want {
				variation += math.Abs(probability-got[key]) / 2
			}
			a := truth.EdgeProbabilities()
			for i := range a {
				for j := range a[i] {
					worst = math.Max(worst, math.Abs(a[i][j]-found.probabilities[i][j]))
				}
			}
			t.Logf("%d nodes, seed %d: total variation %.4f, worst edge %.4f, k-hat %.2f, R-hat %.3f, %v %v", nodes, seed, variation, worst, certificate.KHat, certificate.RHat, certificate.Verdict, certificate.Reasons)
			require.Less(t, worst, 0.02)
		}
	}
}
