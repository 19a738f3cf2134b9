package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/lab/testkit"
)

// collider returns a table of a → c ← b.
func collider(rows int) string {
	random := rand.New(rand.NewPCG(5, 6))
	text := "a,b,c\n"
	for range rows {
		a, b := random.NormFloat64(), random.NormFloat64()
		text += fmt.Sprintf("%g,%g,%g\n", a, b, 0.6*a-0.5*b+random.NormFloat64())
	}
	return text
}

const colliderTruth = "node,a,b,c\na,0,0,1\nb,0,0,1\nc,0,0,0\n"

var flowDag = []string{"--structure", "flow", "--steps", "150", "--batch", "256", "--flow-layers", "2", "--flow-blocks", "1", "--flow-hidden", "8", "--quiet"}

func decodeDag(t *testing.T, text string) *dag.Result {
	t.Helper()
	var result dag.Result
	require.NoError(t, json.Unmarshal([]byte(text), &result))
	return &result
}

// TestDagAgreesWithExact compares vti dag, by a flow, with vti exact dag, and checks its files.
func TestDagAgreesWithExact(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", collider(60))
	require.NoError(t, os.WriteFile("truth.csv", []byte(colliderTruth), 0o644))
	exact := decodeDag(t, mustRun(t, "exact", "dag", "data.csv", "--sem", "linear", "--json", "--out", "exact", "--truth", "truth.csv").stdout)
	args := append([]string{"dag", "data.csv", "--json", "--out", "learned", "--truth", "truth.csv"}, flowDag...)
	learned := decodeDag(t, mustRun(t, args...).stdout)

	require.Equal(t, vti.Trusted, learned.Certificate.Verdict, learned.Certificate.Reasons)
	require.InDelta(t, float64(exact.LogEvidence), float64(learned.LogEvidence), 0.05)
	require.Len(t, learned.Edges, 3)
	probability := func(r *dag.Result, from, to string) float64 {
		for _, e := range r.Edges {
			if e.From == from && e.To == to {
				return float64(e.Prob)
			}
			if e.From == to && e.To == from {
				return float64(e.ProbReverse)
			}
		}
		return math.NaN()
	}
	for _, from := range learned.Data.Nodes {
		for _, to := range learned.Data.Nodes {
			if from != to {
				require.InDelta(t, probability(exact, from, to), probability(learned, from, to), 0.02)
			}
		}
	}
	require.NotNil(t, learned.Metrics)
	require.Empty(t, learned.Metrics.TruthCycle)
	require.Len(t, learned.Checks, 3)
	for _, name := range []string{"run.json", "result.json", "posterior.vti", "trace.csv", "edges.csv", "adjacency.csv", "graphs.csv", "classes.csv",
		"parameters.csv", "checks.csv", "draws.parquet", "graph.dot", "report.html", "figures/graph.svg", "figures/graph.png"} {
		info, err := os.Stat(filepath.Join("learned", name))
		require.NoError(t, err)
		require.Positive(t, info.Size(), name)
	}
	require.Contains(t, readFile(t, "learned/graph.dot"), "digraph")

	// The same seed gives the same numbers, in JSON and in text, and a run continues from its
	// checkpoint.
	t.Run("again", func(t *testing.T) {
		testkit.Long(t)
		again := mustRun(t, append([]string{"dag", "data.csv", "--out", "again"}, flowDag...)...)
		require.Contains(t, again.stdout, "TRUSTED")
		require.Contains(t, again.stdout, "Most probable equivalence classes")
		require.True(t, readFile(t, "learned/posterior.vti") == readFile(t, "again/posterior.vti"), "the checkpoints differ")
		resumed := decodeDag(t, mustRun(t, "dag", "--resume", "again", "--json", "--quiet").stdout)
		require.Equal(t, learned.Edges, resumed.Edges)
		require.Equal(t, learned.Graphs, resumed.Graphs)
	})
}

// TestDagWithNetworks checks that vti dag finds the edge x → y of y = |x| + noise if mechanisms are
// neural networks, and that it does not find an edge if mechanisms are linear.
func TestDagWithNetworks(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	text := "x,y\n"
	for range 30 { // in pairs, so that x and y are uncorrelated
		x, y := random.NormFloat64(), 0.3*random.NormFloat64()
		y += math.Abs(x)
		text += fmt.Sprintf("%g,%g\n%g,%g\n", x, y, -x, y)
	}
	emptyDir(t, "data.csv", text)
	args := []string{"dag", "data.csv", "--json", "--sem", "mlp", "--hidden", "3", "--islands", "150", "--quiet", "--out", "out"}
	result := decodeDag(t, mustRun(t, args...).stdout)
	require.Greater(t, float64(result.Edges[0].Prob), 0.95)
	require.Equal(t, [2]string{"x", "y"}, [2]string{result.Edges[0].From, result.Edges[0].To})
	linear := decodeDag(t, mustRun(t, "exact", "dag", "data.csv", "--json", "--out", "linear").stdout)
	require.Less(t, float64(linear.Edges[0].Prob)+float64(linear.Edges[0].ProbReverse), 0.5)
}

// TestDagByChains compares chains over graphs with sums over all graphs. A run by chains that is
// resumed must give the same answer; a run by sums must refuse to be resumed.
func TestDagByChains(t *testing.T) {
	emptyDir(t, "data.csv", collider(40))
	out := mustRun(t, "dag", "data.csv", "--structure", "chains", "--chains", "3", "--rounds", "3", "--out", "out", "--quiet").stdout
	require.Contains(t, out, "worst R-hat")
	exact := decodeDag(t, mustRun(t, "exact", "dag", "data.csv", "--json", "--out", "exact").stdout)
	result := decodeDag(t, readFile(t, "out/result.json"))
	require.Equal(t, "a", exact.Edges[1].From)
	require.Equal(t, exact.Edges[1].From, result.Edges[1].From)
	require.InDelta(t, float64(exact.Edges[1].Prob), float64(result.Edges[1].Prob), 0.05) // 5 standard errors
	require.NotEmpty(t, result.Parameters)
	require.Subset(t, keys(t, readFile(t, "out/result.json")),
		[]string{"certificate", "certificate.verdict", "certificate.rhat", "certificate.ess", "certificate.worst_se", "certificate.chains", "certificate.draws"})
	require.Equal(t, 3, result.Certificate.Chains)
	require.Equal(t, 1500, result.Certificate.Draws)
	again := decodeDag(t, mustRun(t, "dag", "--resume", "out", "--json", "--quiet").stdout)
	require.Equal(t, result.Edges, again.Edges)
	mustRun(t, "dag", "data.csv", "--out", "sums", "--quiet")
	got := vtiCommand(t, "dag", "--resume", "sums")
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "cannot be resumed")
}

// Runs by chains print the diagnostics of the chains, and write a result like other runs over
// graphs.
func TestRjmcmcDag(t *testing.T) {
	emptyDir(t, "data.csv", collider(40))
	out := mustRun(t, "rjmcmc", "dag", "data.csv", "--require", "a->c", "--sigma", "1", "--chains", "8", "--iterations", "200", "--burn-in", "100", "--out", "out", "--quiet").stdout
	require.Contains(t, out, "worst R-hat")
	require.Contains(t, out, "Most probable equivalence classes")
	result := decodeDag(t, readFile(t, "out/result.json"))
	require.Equal(t, "rjmcmc dag", result.Command)
	require.Len(t, result.Edges, 3)
}

// A true graph with a cycle is used unchanged, and the answer names the cycle.
func TestDagTruthWithACycle(t *testing.T) {
	emptyDir(t, "data.csv", collider(20))
	require.NoError(t, os.WriteFile("truth.csv", []byte("node,a,b,c\na,0,1,0\nb,0,0,1\nc,1,0,0\n"), 0o644))
	out := mustRun(t, "exact", "dag", "data.csv", "--out", "out", "--truth", "truth.csv").stdout
	require.Contains(t, out, "it has a cycle, a → b → c → a: no acyclic graph is it; the best possible SHD is 1")
}

func TestDagBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		want string
	}{
		"no table":                   {"dag", "no table was given"},
		"unknown node":               {"dag data.csv --forbid aa->b", `forbid: edge "aa->b": no node "aa"; the nearest are ["a"]`},
		"required cycle":             {"dag data.csv --require a->b --require b->a", "no graph is left: the required edges make a cycle, a -> b -> a"},
		"contradiction":              {"exact dag data.csv --require a->b --forbid a->b", "no graph is left: a->b is required and forbidden"},
		"tiers twice":                {"dag data.csv --tier a --tiers none.txt", "--tier and --tiers both name tiers"},
		"no file of tiers":           {"dag data.csv --tiers none.txt", "--tiers: open none.txt"},
		"two priors of edges":        {"dag data.csv --edge-penalty 1 --expected-degree 1", "give one"},
		"too many parents":           {"dag data.csv --expected-degree 3", "want less than 1 in graphs"},
		"hidden without mlp":         {"dag data.csv --hidden 3", "--hidden and --no-bias are for --sem mlp"},
		"unknown mechanism":          {"dag data.csv --sem cubic", "want auto, linear, mlp, bge, categorical, mixed or spline"},
		"unknown scale":              {"dag data.csv --scale zscore", "want standardize, global, center or none"},
		"no truth":                   {"dag data.csv --truth none.csv", "none.csv: no such file"},
		"steps for chains":           {"dag data.csv --structure chains --steps 3", "--steps does not go with --structure chains"},
		"rounds without chains":      {"dag data.csv --rounds 3", "--rounds does not go with --structure exact"},
		"steps without a flow":       {"dag data.csv --steps 3", "--steps does not go with --structure exact, which this run has; --structure flow trains a flow"},
		"one chain":                  {"dag data.csv --structure chains --chains 1", "expected a whole number from 2"},
		"steps for particles":        {"dag data.csv --sem mlp --steps 3", "--steps does not go with --structure exact --sem mlp"},
		"islands for lines":          {"dag data.csv --islands 3", "--islands does not go with --structure exact"},
		"resume nothing":             {"dag --resume none", "none is not a run directory"},
		"size of another flow":       {"dag data.csv --flow-bins 4", "--flow-bins is no size of --flow affine"},
		"chains over graphs":         {"rjmcmc dag data.csv --sem mlp", "unknown flag: --sem"},
		"missing":                    {"dag holes.csv", `"b" 1` + "\n--na drop leaves these rows out and keeps 3 of 4, --na impute draws the cells, --exclude leaves columns out"},
		"no whole row":               {"dag gaps.csv", "no row has all values\n--na impute draws the cells, --exclude leaves columns out"},
		"always set":                 {"dag set.csv --intervened s", "node \"a\" is set from outside in 4 of 4 rows, want at least 3 in which it is not\nleave it out of --intervened and --clamp; --exogenous a says that it has no causes"},
		"mixed":                      {"dag mixed.csv", `column "b": got "low", want a finite number or NA, as in the rest of the column ("1" in line 2)` + "\n--discrete takes"},
		"islands for structure flow": {"dag data.csv --structure flow --islands 3", "--islands does not go with --structure flow"},
		"draws of networks":          {"dag data.csv --structure flow --sem mlp --certify-draws 3", "--certify-draws does not go with --structure flow --sem mlp"},
		"draws of closed forms":      {"dag data.csv --structure flow --certify-draws 3", "--certify-draws does not go with --structure flow"},
		"cold sums":                  {"dag data.csv --cold", "--cold does not go with --structure exact"},
		"undivided constraints":      {"dag data.csv --sem linear --structure flow --undivided --forbid a->b", "constraints need the flow that works node by node"},
		"categories for a flow":      {"dag levels.csv --structure flow", "not for categorical: want exact sums or chains"},
		"networks are not exact":     {"exact dag data.csv --sem mlp", "got mlp mechanisms, want those whose evidences have a closed form"},
	} {
		t.Run(name, func(t *testing.T) {
			emptyDir(t, "data.csv", collider(20))
			require.NoError(t, os.WriteFile("holes.csv", []byte("a,b\n1,1\n2,NA\n3,2\n4,4\n"), 0o644))
			require.NoError(t, os.WriteFile("gaps.csv", []byte("a,b\n1,\n2,NA\n,2\n,4\n"), 0o644))
			require.NoError(t, os.WriteFile("set.csv", []byte("a,b,s\n1,1,a\n2,2,a\n3,2,a\n4,4,a\n"), 0o644))
			require.NoError(t, os.WriteFile("mixed.csv", []byte("a,b\n1,1\n2,low\n3,2\n"), 0o644))
			require.NoError(t, os.WriteFile("levels.csv", []byte("a,b\nu,x\nv,y\nu,x\nv,x\n"), 0o644))
			before := entries(t)
			got := vtiCommand(t, strings.Fields(test.args)...)
			require.Equal(t, shell.StatusUsage, got.status, got.stderr)
			require.Contains(t, got.stderr, test.want)
			require.Equal(t, before, entries(t), "something was written")
		})
	}
}

// Impossible requests fail before anything is written: columns that depend on each other, too many
// columns, and impossible simulation files.
func TestDagRefusesFirst(t *testing.T) {
	emptyDir(t, "copy.csv", "a,b,c\n1,2,1\n2,4,3\n3,6,2\n5,10,4\n")
	for _, command := range [][]string{{"dag"}, {"exact", "dag"}} {
		got := vtiCommand(t, append(command, "copy.csv")...)
		require.Equal(t, 2, got.status)
		require.Contains(t, got.stderr, `column "b" is a linear function of ["a"] without any noise`)
	}
	wide := ""
	for row := range 20 {
		for column := range 15 {
			if row == 0 {
				wide += fmt.Sprintf("x%d,", column)
			} else {
				wide += fmt.Sprintf("%g,", math.Sin(float64(row*row+7*column*row)))
			}
		}
		wide = strings.TrimSuffix(wide, ",") + "\n"
	}
	require.NoError(t, os.WriteFile("wide.csv", []byte(wide), 0o644))
	got := vtiCommand(t, "exact", "dag", "wide.csv", "--max-parents", "2")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, "exact for up to 14")

	got = vtiCommand(t, "simulate", "dag", "--out", "same.csv", "--truth", "./same.csv")
	require.Equal(t, 2, got.status)
	got = vtiCommand(t, "simulate", "dag", "--out", "new.csv", "--truth", "nodir/truth.csv")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stderr, "writing nodir/truth.csv: no such file or directory")
	require.Equal(t, ".\ncopy.csv\nwide.csv", entries(t))
}
