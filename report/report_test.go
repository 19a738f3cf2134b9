package report

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel"
)

// exactRun makes the directory of a finished run of vti exact, in a folder whose name a page must
// not contain.
func exactRun(t *testing.T, table string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "secret-folder", "run")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	record := &varsel.Record{
		Header: run.Header{Command: "exact", Version: "test", Data: table, Flags: map[string][]string{"target": {"y"}, "out": {dir}, "quiet": {"true"}, "drop-degenerate": {"true"}}},
		Design: varsel.DesignOptions{Target: "y"},
	}
	problem, err := record.Problem()
	require.NoError(t, err)
	_, err = varsel.RunExact(context.Background(), problem, nil, dir)
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(dir, record))
	return dir
}

// A page contains the answer of its run, but not the path of the folder in which the run was made.
// Every picture of the page is also a file.
func TestFinish(t *testing.T) {
	table, err := filepath.Abs(filepath.Join("..", "testdata", "hald.csv"))
	require.NoError(t, err)
	dir := exactRun(t, table)
	require.NoError(t, SelectionPage.Finish(context.Background(), dir))
	content, err := os.ReadFile(filepath.Join(dir, File))
	require.NoError(t, err)
	page := string(content)
	require.Contains(t, page, "What explains y?")
	require.Contains(t, page, `vti exact hald.csv <span class="flag">--drop-degenerate</span> <span class="flag">--target</span>=y`)
	require.False(t, strings.Contains(page, "secret-folder"))
	require.False(t, strings.Contains(page, filepath.Dir(table)))
	require.False(t, regexp.MustCompile(`(src|href)="?(https?:)?//`).MatchString(page))
	body, _, _ := strings.Cut(page, "<script>")
	require.False(t, strings.Contains(body, "NaN"))
	pictures := strings.Count(page, "<svg class=\"picture\"")
	require.Greater(t, pictures, 6)
	figures, err := filepath.Glob(filepath.Join(dir, FiguresDir, "*.svg"))
	require.NoError(t, err)
	require.Len(t, figures, pictures)
	for _, figure := range figures {
		require.FileExists(t, strings.TrimSuffix(figure, ".svg")+".png")
	}
	again := filepath.Join(t.TempDir(), "again.html")
	require.NoError(t, SelectionPage.Write(context.Background(), again, nil, dir))
	same, err := os.ReadFile(again)
	require.NoError(t, err)
	require.True(t, page == string(same), "the same run gives the same page")
	_, d, err := SelectionPage.read(dir)
	require.NoError(t, err)
	require.Len(t, d.Answer, 3)
	require.Contains(t, d.Answer[0], "x1 (0.9")
}

// compareSelections compares two runs of vti exact.
func compareSelections(ctx context.Context, dirA, dirB string) (*Compared, error) {
	a, err := varsel.OpenRun(dirA)
	if err != nil {
		return nil, err
	}
	b, err := varsel.OpenRun(dirB)
	if err != nil {
		return nil, err
	}
	c, err := varsel.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	return Selections(c, a.Result.Data.Predictors), nil
}

// A page can show two runs about the same table side by side. For runs about different tables, or
// without a run, Write returns an error.
func TestSideBySide(t *testing.T) {
	hald, err := filepath.Abs(filepath.Join("..", "testdata", "hald.csv"))
	require.NoError(t, err)
	crime, err := filepath.Abs(filepath.Join("..", "testdata", "prostate.csv"))
	require.NoError(t, err)
	a, b := exactRun(t, hald), exactRun(t, hald)
	out := filepath.Join(t.TempDir(), "both.html")
	require.NoError(t, SelectionPage.Write(context.Background(), out, compareSelections, a, b))
	content, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(content), "A and B give every predictor the same probability to within 0.0001")
	other := filepath.Join(t.TempDir(), "other.csv")
	rows, err := os.ReadFile(crime)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, []byte(strings.Replace(string(rows), "lpsa", "y", 1)), 0o644))
	require.ErrorContains(t, SelectionPage.Write(context.Background(), out, compareSelections, a, exactRun(t, other)), "analyse different tables")
	require.ErrorContains(t, SelectionPage.Write(context.Background(), out, compareSelections), "got no run directory")
	require.ErrorContains(t, SelectionPage.Write(context.Background(), out, compareSelections, t.TempDir()), "is not a run directory")
}

// A density has the mass 1 and agrees with the normal distribution that its draws come from; for
// too few draws there is no density.
func TestDensity(t *testing.T) {
	random := stream.Rand(1, "density")
	values := make([]float64, 4000)
	for i := range values {
		values[i] = 3 + 2*random.NormFloat64()
	}
	x, y := density(values)
	mass, worst := 0.0, 0.0
	for k := range x {
		if k > 0 {
			mass += (y[k] + y[k-1]) / 2 * (x[k] - x[k-1])
		}
		z := (x[k] - 3) / 2
		worst = math.Max(worst, math.Abs(y[k]-math.Exp(-z*z/2)/(2*math.Sqrt(2*math.Pi))))
	}
	require.InDelta(t, 1, mass, 0.01)
	// At the mode, where both are largest, the standard error is the root of f R(K) / (n h) =
	// 0.0064 and the bias h² f″ / 2 = 0.003, with the width h = 0.34.
	require.Less(t, worst, 0.003+4*0.0064)
	x, _ = density(values[:10])
	require.Empty(t, x)
	x, _ = density(make([]float64, 100))
	require.Empty(t, x)
}

// TestLinks checks that the directions of links come from equivalence classes if the data cannot
// distinguish graphs of a class, and otherwise from the probabilities of edges.
func TestLinks(t *testing.T) {
	result := &dag.Result{Data: dag.DataSummary{Nodes: []string{"a", "b", "c"}}, Edges: []dag.Edge{
		{From: "a", To: "b", Prob: 0.9, ProbReverse: 0.1, ClassForward: 0.1, ClassUndirected: 0.9},
		{From: "b", To: "c", Prob: 0.35, ProbReverse: 0.3, ClassForward: 0.4, ClassUndirected: 0.25},
		{From: "a", To: "c", Prob: 0.1, ProbReverse: 0.1, ProbNone: 0.8},
	}}
	directed := func(list []link) (out []bool) {
		for _, l := range list {
			out = append(out, l.directed)
		}
		return out
	}
	require.Equal(t, []bool{false, true}, directed(links(result, 0.5, true)))
	require.Equal(t, []bool{true, false}, directed(links(result, 0.5, false)))
	require.Len(t, links(result, 0.1, true), 3)
	p, err := drawGraph("graph", "Graph", result.Data.Nodes, links(result, 0.1, true))
	require.NoError(t, err)
	svg := p.Inline()
	for _, label := range []string{">1.00<", ">0.35<", ">0.20<", ">a<", ">b<", ">c<", "direction determined", "direction open"} {
		require.Contains(t, svg, label)
	}
	require.NotContains(t, svg, "no number")
	p, err = drawGraph("graph", "Graph", result.Data.Nodes, links(result, 0.9, true))
	require.NoError(t, err)
	require.NotContains(t, p.Inline(), "direction determined")
}

// If there are many links, almost certain links have no number.
func TestNumbersOfManyLinks(t *testing.T) {
	result := &dag.Result{}
	for k := range manyLinks + 2 {
		result.Data.Nodes = append(result.Data.Nodes, fmt.Sprint("v", k))
		if k > 0 {
			result.Edges = append(result.Edges, dag.Edge{From: "v0", To: fmt.Sprint("v", k), Prob: 1, ClassForward: 1})
		}
	}
	result.Edges[3].Prob = 0.9
	p, err := drawGraph("graph", "Graph", result.Data.Nodes, links(result, 0.1, true))
	require.NoError(t, err)
	require.NotContains(t, p.Inline(), ">1.00<")
	require.Contains(t, p.Inline(), ">0.90<")
	require.Contains(t, p.Inline(), "no number: above 0.99")
}

func TestWords(t *testing.T) {
	require.Equal(t, "none", list(nil))
	require.Equal(t, "a", list([]string{"a"}))
	require.Equal(t, "a, b and c", list([]string{"a", "b", "c"}))
	require.Equal(t, "a, b, c, d, e and 3 more", list(strings.Split("abcdefgh", "")))
	require.Equal(t, "1 row", document.Counted(1, "row"))
	require.Equal(t, "12\u202f345 rows", document.Counted(12345, "row"))
	require.Equal(t, "−1.234 ± 0.020", plusMinus(-1.2341, 0.0196))
	require.Equal(t, "1.23", plusMinus(1.2341, 0))
	require.Equal(t, "a-b-c", document.Identifier("A b", "c"))
	require.Equal(t, `'a b'`, rundir.Quoted("a b"))
	require.Equal(t, `'it'\''s'`, rundir.Quoted("it's"))
}

// Pages show paths without their folders.
func TestWithoutFolder(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("home", "truth.csv"))
	require.NoError(t, err)
	require.Equal(t, "truth.csv", withoutFolder(path))
	require.Equal(t, "y ~ a/b", withoutFolder("y ~ a/b"))
}

// Of more links than can be drawn, the most probable are drawn, with the nodes that they join. The
// answer counts all links.
func TestPlacedLinks(t *testing.T) {
	result := &dag.Result{}
	for k := range 2 * mostLinks {
		a, b := fmt.Sprint("a", k), fmt.Sprint("b", k)
		result.Data.Nodes = append(result.Data.Nodes, a, b)
		result.Edges = append(result.Edges, dag.Edge{From: a, To: b, Prob: dag.Number(1 - float64(k)/1000)})
	}
	list := links(result, 0.5, false)
	require.Len(t, list, 2*mostLinks)
	nodes, drawn := placed(result.Data.Nodes, list)
	require.Len(t, drawn, mostLinks)
	require.Equal(t, result.Data.Nodes[:2*mostLinks], nodes)
	for k, l := range drawn {
		require.Equal(t, []string{fmt.Sprint("a", k), fmt.Sprint("b", k)}, []string{nodes[l.from], nodes[l.to]})
	}
	nodes, drawn = placed(result.Data.Nodes, list[:10])
	require.Len(t, nodes, len(result.Data.Nodes))
	require.Len(t, drawn, 10)
}
