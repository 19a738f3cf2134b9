package main

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag"
	dgraph "github.com/transdim/vti/dag/graph"
)

// TestDagQuery checks queries to a run, in units of its table, and the export of its graph.
func TestDagQuery(t *testing.T) {
	emptyDir(t, "data.csv", collider(300))
	mustRun(t, "dag", "data.csv", "--require", "a->c,b->c", "--quiet", "--no-report", "--out", "run")
	query := func(args ...string) *dag.Answer {
		var answer dag.Answer
		require.NoError(t, json.Unmarshal([]byte(mustRun(t, append([]string{"dag", "query", "run", "--json"}, args...)...).stdout), &answer))
		return &answer
	}
	// The table is simulated from c = 0.6 a − 0.5 b + noise, so that E(c | do(a=2)) = 1.2. The
	// limit is 4 posterior standard deviations.
	mean := query("E(c | do(a=2))").Expectation
	require.InDelta(t, 1.2, float64(mean.PosteriorMean), 4*float64(mean.SD))
	require.InDelta(t, math.Sqrt(1.25), float64(mean.PredictiveSD), 0.2)
	require.InDelta(t, 0, float64(query("E(a | do(c=2))").Expectation.PosteriorMean), 0.3)
	require.Greater(t, float64(query("E(a | c=2)").Expectation.PosteriorMean), 0.5)
	require.Equal(t, query("P(c > 1 | b=-1)").Probabilities, query("P(c > 1 | b=-1)").Probabilities)
	require.Contains(t, mustRun(t, "dag", "query", "run", "E(c | do(a=2))").stdout, "value of a row")

	require.Equal(t, "[a][b][c|a:b]\n", mustRun(t, "export", "run", "--format", "bnlearn", "--least", "0.9").stdout)
	require.Contains(t, vtiCommand(t, "export", "run", "--format", "bif").stderr, "nodes that are numbers")
	require.Contains(t, vtiCommand(t, "dag", "query", "run", "E(d)").stderr, `no node "d"`)
	require.Contains(t, vtiCommand(t, "dag", "query", "run").stderr, "expected a run directory and a query in quotes")
	require.NoError(t, os.WriteFile("data.csv", []byte(collider(20)), 0o644))
	require.Contains(t, vtiCommand(t, "dag", "query", "run", "E(c)").stderr, "changed")
}

// TestNetworksThereAndBack simulates a table from the file of a Bayesian network. The network that
// vti dag finds in this table must give the same answers.
func TestNetworksThereAndBack(t *testing.T) {
	emptyDir(t, "net.bif", `variable rain { type discrete [2] { no, yes }; } variable wet { type discrete [2] { no, yes }; }
probability ( rain ) { table 0.8, 0.2; } probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.05, 0.95; }`)
	mustRun(t, "simulate", "dag", "--graph", "net.bif", "--sem", "categorical", "--rows", "4000", "--out", "data.csv", "--truth", "truth.csv")
	mustRun(t, "dag", "data.csv", "--require", "rain->wet", "--quiet", "--no-report", "--out", "run")
	mustRun(t, "export", "run", "--format", "bif", "--out", "again.bif", "--json")
	n, err := dgraph.ReadBIF("again.bif")
	require.NoError(t, err)
	require.InDelta(t, 0.95, n.Tables[1][1][1], 4*math.Sqrt(0.95*0.05/800))
	var answer dag.Answer
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "dag", "query", "run", "P(rain=yes | wet=yes)", "--json").stdout), &answer))
	got := answer.Probabilities[0]
	require.InDelta(t, 0.19/(0.19+0.08), float64(got.Prob), 4*float64(got.SD))
	require.Contains(t, vtiCommand(t, "simulate", "dag", "--sem", "categorical", "--out", "x", "--truth", "y").stderr, "--graph FILE.bif")
}
