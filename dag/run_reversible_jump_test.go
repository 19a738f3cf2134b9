package dag

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/rjmcmc"
)

// Reversible-jump chains, which do not use evidences of nodes given their parents, find the edge
// probabilities of the exact sums, with the priors over graphs and over orders and with
// constraints. The tolerance is 5 Monte Carlo standard errors plus 0.01.
func TestChainsAgreeWithExactSums(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for _, orders := range []bool{true, false} {
		p, err := score.NewProblem(dagtest.Chain(t, 25, tables.DataOptions{}), score.ModelOptions{Sigma: 0.8, Orders: orders, EdgePenalty: 0.5},
			tables.Constraints{Forbid: []string{"c->a"}, Require: []string{"a->b"}})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := score.NewPosterior(context.Background(), p.Structure, scores, nil)
		require.NoError(t, err)
		dir := t.TempDir()
		result, err := RunReversibleJump(t.Context(), device, p, rjmcmc.Config{Chains: 32, BurnIn: 200, Iterations: 500, Seed: 2}, nil, dir)
		require.NoError(t, err)
		require.NotEqual(t, vti.Failed, result.Certificate.Verdict, "R-hat %v", result.Certificate.RHat)
		want := posterior.EdgeProbabilities()
		for i, row := range result.Matrix() {
			for j, probability := range row {
				require.InDelta(t, want[i][j], probability, 0.01+5*math.Sqrt(0.25/float64(result.Certificate.ESS)), "%d to %d", i, j)
			}
		}
		require.NotEmpty(t, result.Parameters)
		require.Len(t, result.Checks, 3)
		file, err := draws.Read(filepath.Join(dir, effects.DrawsFile))
		require.NoError(t, err)
		require.Equal(t, draws.Chains, file.Kind)
		require.EqualValues(t, 32, slices.Max(file.Chain))
	}
}

// Reversible-jump chains start in allowed graphs, some sparse and some dense.
func TestStartsOfChains(t *testing.T) {
	s := dgraph.FreeStructure(5)
	s.Required[1], s.Allowed[3], s.MaxParents = dgraph.SetOf(4), dgraph.SetOf(0, 1), 2
	edges := map[int]bool{}
	for _, code := range startCodes(s, dagtest.Random(1), 200) {
		g, err := dgraph.NewOrdered(5).Graph(code)
		require.NoError(t, err)
		for j, parents := range g.ParentSets() {
			require.True(t, s.Required[j].Within(parents) && parents.Within(s.Allowed[j]) && parents.Len() <= 2)
		}
		edges[g.Edges()] = true
	}
	require.Greater(t, len(edges), 4)
}
