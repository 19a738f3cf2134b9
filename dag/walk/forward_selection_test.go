package walk

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// wideProblem returns a problem with 140 columns. Only the columns at places may have edges; they
// are the columns of a simulated table, for which wideProblem returns the problem without the other
// columns.
func wideProblem(t *testing.T, rows int, places []int) (wide, narrow *score.Problem) {
	t.Helper()
	s, err := sem.Simulate(sem.Simulation{Nodes: len(places), Rows: rows, EdgeProbability: 0.4, Mechanism: sem.Linear, Seed: 3})
	require.NoError(t, err)
	narrow = penalised(t, s.Names, s.Values)
	random := dagtest.Random(1)
	names, values := make([]string, 140), make([][]float64, rows)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	for r := range values {
		for range names {
			values[r] = append(values[r], random.NormFloat64())
		}
		for k, place := range places {
			values[r][place] = s.Values[r][k]
		}
	}
	wide = penalised(t, names, values)
	for j := range wide.Structure.Allowed {
		if slices.Contains(places, j) {
			wide.Structure.Allowed[j] = dgraph.SetOf(places...).Without(j)
		} else {
			wide.Structure.Allowed[j] = dgraph.Set{}
		}
	}
	return wide, narrow
}

func penalised(t *testing.T, names []string, values [][]float64) *score.Problem {
	t.Helper()
	d, err := tables.NewData(dagtest.Table(t, names, values), tables.DataOptions{})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{EdgePenalty: 0.5}, tables.Constraints{})
	require.NoError(t, err)
	return p
}

// Chains over 140 nodes, where only eight may have edges, agree with exact sums over the eight
// nodes. Sets hold some of these nodes as bits and others as numbers. Edge probabilities agree
// within 0.02 plus 5 Monte Carlo standard errors.
func TestGraphChainsOverManyNodes(t *testing.T) {
	testkit.Slow(t)
	places := []int{3, 64, 126, 127, 128, 129, 135, 139}
	wide, narrow := wideProblem(t, 60, places)
	scores, err := narrow.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := score.NewPosterior(context.Background(), narrow.Structure, scores, nil)
	require.NoError(t, err)
	sampled, err := SampleGraphs(wide, t.Context(), ChainConfig{Chains: 3, Rounds: 1, Seed: 1}, func(string) {})
	require.NoError(t, err)
	edges := sampled.Edges()
	require.Less(t, edges.Worst.MCSE, 0.03)
	want, found := posterior.EdgeProbabilities(), 0.0
	for _, e := range dgraph.OrderedPairs(len(places)) {
		from, to := places[e.From], places[e.To]
		estimate := edges.Probabilities[from][to]
		require.Less(t, math.Abs(estimate-want[e.From][e.To]), 0.02+5*edges.Errors[from][to], "%d to %d", from, to)
		found += estimate
	}
	require.Greater(t, found, 5.0)
}

// Forward selection finds the neighbours of every node of a sparse graph of 150 nodes in 400 rows,
// except where two edges leave no trace.
func TestForwardSelection(t *testing.T) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 150, Rows: 400, EdgeProbability: 2.0 / 149, Mechanism: sem.Linear, Seed: 2})
	require.NoError(t, err)
	p := penalised(t, s.Names, s.Values)
	c := candidatesOf(p, make([][]int, 150))
	require.NoError(t, c.findTogether(t.Context()))
	missed, neighbours := 0, 0
	for j := range c.parents {
		c.selectForward(j, wideCandidates)
		require.Len(t, c.parents[j], wideCandidates)
		for i := range c.parents {
			if s.Truth.Adjacent(i, j) {
				neighbours++
				if !slices.Contains(c.parents[j], i) {
					missed++
				}
			}
		}
	}
	t.Logf("missed %d of %d neighbours", missed, neighbours)
	require.LessOrEqual(t, missed, neighbours/50)
}
