package sem_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

// A simulation with fewer rows has the first rows of a simulation with more rows, and the same
// graph. By default a graph has about half of the 45 possible edges of ten nodes. The written files
// are read back as the same table and graph.
func TestSimulate(t *testing.T) {
	whole, err := sem.Simulate(sem.Simulation{Seed: 1, Mechanism: sem.MLP})
	require.NoError(t, err)
	part, err := sem.Simulate(sem.Simulation{Seed: 1, Mechanism: sem.MLP, Rows: 16})
	require.NoError(t, err)
	require.Equal(t, whole.Values[:16], part.Values)
	require.True(t, whole.Truth.Equal(part.Truth))
	require.InDelta(t, 22.5, float64(whole.Truth.Edges()), 6*math.Sqrt(45.0/4))

	var data, truth bytes.Buffer
	require.NoError(t, part.WriteCSV(&data))
	require.NoError(t, part.WriteTruth(&truth))
	parsed, err := table.Parse("data.csv", data.Bytes())
	require.NoError(t, err)
	d, err := tables.NewData(parsed, tables.DataOptions{Scaling: tables.Unscaled})
	require.NoError(t, err)
	require.Equal(t, part.Values[7], d.X.RawRowView(7))
	adjacency, err := table.Parse("truth.csv", truth.Bytes())
	require.NoError(t, err)
	back, err := dgraph.ReadAdjacency(adjacency, d.Names)
	require.NoError(t, err)
	require.True(t, whole.Truth.Equal(back))

	_, err = sem.Simulate(sem.Simulation{EdgeProbability: 2})
	require.ErrorContains(t, err, "edge-probability")
}

func TestSimulateFromGraph(t *testing.T) {
	names, want := []string{"a", "b", "c"}, dgraph.FromParents([]dgraph.Set{dgraph.SetOf(1, 2), {}, dgraph.SetOf(1)})
	s, err := sem.Simulate(sem.Simulation{Names: names, Graph: want, Rows: 5, Mechanism: sem.Linear})
	require.NoError(t, err)
	require.Equal(t, names, s.Names)
	require.True(t, want.Equal(s.Truth))
	require.Len(t, s.Values[0], 3)
	_, err = sem.Simulate(sem.Simulation{Names: []string{"a", "b"}, Graph: dgraph.FromParents([]dgraph.Set{dgraph.SetOf(1), dgraph.SetOf(0)})})
	require.ErrorContains(t, err, "has a cycle")
	_, err = sem.Simulate(sem.Simulation{Names: []string{"a", "b"}, Graph: dgraph.FromParents([]dgraph.Set{{}, {}}), Nodes: 3})
	require.ErrorContains(t, err, "give no other number")
}

// Rows simulated from a network over categories have its probabilities: shares of 20,000 rows agree
// within 4 standard errors. With 6 shares this fails by chance with 1 of 2,600 seeds. A simulation
// with fewer rows has the first rows of a simulation with more rows.
func TestSimulateCategories(t *testing.T) {
	n := &dgraph.Network{
		Names: []string{"b", "a"}, Levels: [][]string{{"x", "y", "z"}, {"no", "yes"}},
		Graph: dgraph.FromParents([]dgraph.Set{dgraph.SetOf(1), {}}), Tables: [][][]float64{{{0.1, 0.2, 0.7}, {0.6, 0.4, 0}}, {{0.3, 0.7}}},
	}
	s := sem.Simulation{Mechanism: sem.Categorical, Network: n, Rows: 20_000, Seed: 4}
	data, err := sem.Simulate(s)
	require.NoError(t, err)
	counts := make([][3]float64, 2)
	for _, row := range data.Values {
		counts[int(row[1])][int(row[0])]++
	}
	for a, row := range counts {
		for b, count := range row {
			p := n.Tables[1][0][a] * n.Tables[0][a][b]
			require.InDelta(t, p*20_000, count, 4*math.Sqrt(20_000*p*(1-p)))
		}
	}
	require.Zero(t, counts[1][2])
	s.Rows = 5
	few, err := sem.Simulate(s)
	require.NoError(t, err)
	require.Equal(t, data.Values[:5], few.Values)
	var text strings.Builder
	require.NoError(t, few.WriteCSV(&text))
	require.Regexp(t, `^b,a\n([xyz],(no|yes)\n){5}$`, text.String())
	s.Noise = 1
	_, err = sem.Simulate(s)
	require.ErrorContains(t, err, "has its own nodes, edges and probabilities")
	_, err = sem.Simulate(sem.Simulation{Mechanism: sem.Categorical})
	require.ErrorContains(t, err, "categories are simulated from a network")
	_, err = sem.Simulate(sem.Simulation{Mechanism: sem.Spline})
	require.ErrorContains(t, err, "got spline, want linear, mlp, mixed")
}
