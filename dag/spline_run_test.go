package dag

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/query"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modelcheck"
)

// rowsOf draws rows of a graph with the edges a → b, b → c, a → d and e → d. The arguments b, c and
// d are the mechanisms of the nodes with these names. The function noise returns the standard
// deviation of a node's noise, given the value of the parent.
func rowsOf(b, c func(float64) float64, d func(a, e float64) float64, noise func(float64) float64) [][]float64 {
	random := rand.New(rand.NewPCG(4, 2))
	rows := make([][]float64, 300)
	for i := range rows {
		x, e := random.NormFloat64(), random.NormFloat64()
		y := b(x) + noise(x)*random.NormFloat64()
		rows[i] = []float64{x, y, c(y) + noise(y)*random.NormFloat64(), d(x, e) + noise(x)*random.NormFloat64(), e}
	}
	return rows
}

// TestSplinesAreNamed checks that the model check of linear mechanisms recommends splines where
// splines have more evidence, but not for lines and not for noise that depends on parents. A run
// with splines confirms this: its log evidence is higher, by at least the stated gain plus the log
// posterior probability of the named graph.
func TestSplinesAreNamed(t *testing.T) {
	testkit.Slow(t)
	line := func(slope float64) func(float64) float64 { return func(x float64) float64 { return slope * x } }
	same := func(float64) float64 { return 0.5 }
	for name, test := range map[string]struct {
		rows   [][]float64
		curved bool // whether the model check finds a curve
		named  bool
	}{
		"curves": {rowsOf(func(x float64) float64 { return 1.5 * math.Sin(2*x) }, func(x float64) float64 { return x * x }, func(a, e float64) float64 { return math.Tanh(2*a) + e*e }, same), true, true},
		"lines":  {rowsOf(line(0.9), line(-0.7), func(a, e float64) float64 { return a - e }, same), false, false},
		"noise": {rowsOf(line(0.9), line(-0.7), func(a, e float64) float64 { return a - e }, func(x float64) float64 { return math.Exp(x) / 2 }),
			true, false},
	} {
		d, err := tables.NewData(dagtest.Table(t, []string{"a", "b", "c", "d", "e"}, test.rows), tables.DataOptions{})
		require.NoError(t, err)
		results := map[sem.Mechanism]*Result{}
		problems := map[sem.Mechanism]*score.Problem{}
		for _, mechanism := range []sem.Mechanism{sem.BGe, sem.Spline} {
			p, err := score.NewProblem(d, score.ModelOptions{Mechanism: mechanism, Graphs: score.UniformGraphs}, tables.Constraints{})
			require.NoError(t, err)
			problems[mechanism] = p
			results[mechanism], err = RunExact(t.Context(), p, ExactConfig{})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, results[mechanism].Certificate.Verdict)
		}
		lines, splines := results[sem.BGe], results[sem.Spline]
		best := dgraph.NewGraph(5)
		for _, e := range lines.Graphs[0].Edges {
			best.Set(int(e[0][0]-'a'), int(e[1][0]-'a'), true)
		}
		gain, err := problems[sem.BGe].SplineGain(t.Context(), best)
		require.NoError(t, err)
		rise := float64(splines.LogEvidence - lines.LogEvidence)
		require.GreaterOrEqual(t, rise, gain+math.Log(float64(lines.Graphs[0].Prob))-1e-6, name)
		text := lines.ModelCheck.String()
		require.Equal(t, name == "noise", splines.ModelCheck.Verdict == modelcheck.Poor, "%s: %s", name, splines.ModelCheck)
		require.Equal(t, test.curved, strings.Contains(text, "curvature: "), "%s: %s", name, text)
		require.Equal(t, test.named, strings.Contains(text, fmt.Sprintf("--sem spline, with which a search finds a graph of a log evidence higher by %.0f", gain)), "%s: %s", name, text)
		require.Equal(t, test.named, strings.Contains(text, "spline"), "%s: %s", name, text)
		switch name {
		case "curves":
			require.Greater(t, rise, 100.0)
			require.Equal(t, [][2]string{{"a", "b"}, {"a", "d"}, {"b", "c"}, {"e", "d"}}, splines.Graphs[0].Edges)
			require.NotContains(t, splines.ModelCheck.String(), "curvature")
			require.Less(t, gain-rise, 5.0, "the search finds about the best graph")
		case "lines":
			require.Negative(t, rise)
		case "noise":
			require.Greater(t, gain, 3.0, "named by its evidence alone")
		}
	}
}

// TestSplineAnswers checks total effects, queries and Markov chains over graphs with splines for a
// curve whose values are known.
func TestSplineAnswers(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(5, 6))
	var rows [][]float64
	for range 400 {
		a := 10 + 2*random.NormFloat64()
		b := 3*math.Tanh(a-10) + 0.4*random.NormFloat64()
		rows = append(rows, []float64{a, b, b*b/4 + 0.3*random.NormFloat64()})
	}
	p := dagtest.Mixed(t, dagtest.CSV([]string{"a", "b", "c"}, rows), score.ModelOptions{Mechanism: sem.Spline})
	dir := t.TempDir()
	exact, err := RunExact(t.Context(), p, ExactConfig{Dir: dir, Seed: 1})
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"a", "b"}, {"b", "c"}}, exact.Graphs[0].Edges)
	for _, e := range exact.Effects {
		if e.From == "a" && e.To == "b" { // the cause is set to half a standard deviation above and below its mean
			require.InDelta(t, 3*math.Tanh(1), float64(e.Mean), 5*float64(e.SD))
			require.Less(t, float64(e.SD), 0.2)
		}
	}
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
	require.NoError(t, err)
	draws := score.Sample{}
	for _, graph := range dagtest.Draws(t, posterior, random, 400) {
		for range graph.Count {
			draws.Parents, draws.Thetas = append(draws.Parents, graph.Graph.ParentSets()), append(draws.Thetas, make([][]float64, 3))
		}
	}
	for text, want := range map[string]float64{"E(b | do(a=8))": 3 * math.Tanh(-2), "E(c | do(a=11))": 9*math.Pow(math.Tanh(1), 2)/4 + 0.04} {
		answer, err := query.Ask(p, t.Context(), text, draws, 400, random)
		require.NoError(t, err)
		require.InDelta(t, want, float64(answer.Expectation.Mean), 5*float64(answer.Expectation.SD)+0.02, text)
		require.Less(t, float64(answer.Expectation.SD), 0.3, text)
	}
	checkChains(t, p, exact)
}

// TestSplineProducts checks that splines find a function of two parents that is not a sum of
// functions of one parent each.
func TestSplineProducts(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var rows [][]float64
	for range 300 {
		a, b := random.NormFloat64(), random.NormFloat64()
		rows = append(rows, []float64{a, b, a*b + 0.3*random.NormFloat64()})
	}
	p := dagtest.Mixed(t, dagtest.CSV([]string{"a", "b", "c"}, rows), score.ModelOptions{Mechanism: sem.Spline})
	exact, err := RunExact(t.Context(), p, ExactConfig{})
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"a", "c"}, {"b", "c"}}, exact.Graphs[0].Edges)
	require.NotEqual(t, modelcheck.Poor, exact.ModelCheck.Verdict)
	draws := score.Sample{}
	for range 100 {
		draws.Parents, draws.Thetas = append(draws.Parents, []dgraph.Set{{}, {}, dgraph.SetOf(0, 1)}), append(draws.Thetas, make([][]float64, 3))
	}
	answer, err := query.Ask(p, t.Context(), "E(c | do(a=1.5, b=-1))", draws, 100, random)
	require.NoError(t, err)
	require.InDelta(t, -1.5, float64(answer.Expectation.Mean), 0.2)
	checkChains(t, p, exact)
}

func checkChains(t *testing.T, p *score.Problem, exact *Result) {
	t.Helper()
	chains, err := RunGraphChains(t.Context(), p, GraphChainsConfig{Chains: walk.ChainConfig{Chains: 3, Seed: 1}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, chains.Certificate.Verdict)
	a, b := exact.Matrix(), chains.Matrix()
	for _, e := range dgraph.OrderedPairs(3) {
		require.InDelta(t, a[e.From][e.To], b[e.From][e.To], 4*float64(chains.Certificate.WorstSE)+1e-3, e)
	}
}
