package dag

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// edgesOf takes a table of three nodes with its missing cells filled in, and the log weight of this
// completion. For each graph of three nodes it appends the log weight to totals, and to the list in
// edges of each edge of the graph.
func edgesOf(t *testing.T, p *score.Problem, x *mat.Dense, logWeight float64, totals *[]float64, edges map[dgraph.Edge]*[]float64) {
	t.Helper()
	data, problem := *p.Data, *p
	data.X, data.Missing, problem.Data = x, nil, &data
	scores, err := problem.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	place, lists := map[dgraph.Family]float64{}, make([][]dgraph.Set, 3)
	for k, f := range scores.Families {
		place[f], lists[f.Node] = scores.LogEvidence[k]+p.Structure.Prior.LogWeight(f.Node, f.Parents), append(lists[f.Node], f.Parents)
	}
	testkit.EachGraph(lists, func(parents []dgraph.Set) bool {
		sum := logWeight
		for j, set := range parents {
			sum += place[dgraph.Family{Node: j, Parents: set}]
		}
		*totals = append(*totals, sum)
		for _, e := range dgraph.OrderedPairs(3) {
			if parents[e.To].Has(e.From) {
				*edges[e] = append(*edges[e], sum)
			}
		}
		return true
	})
}

// agreesWith compares edge probabilities from chains with sums over all graphs and all completions
// (ways to fill in the missing cells). It accepts differences of up to 4 standard errors.
func agreesWith(t *testing.T, p *score.Problem, seed uint64, completions func(visit func(x *mat.Dense, logWeight float64))) {
	t.Helper()
	var totals []float64
	edges := map[dgraph.Edge]*[]float64{}
	for _, e := range dgraph.OrderedPairs(3) {
		edges[e] = &[]float64{}
	}
	completions(func(x *mat.Dense, logWeight float64) { edgesOf(t, p, x, logWeight, &totals, edges) })
	r, err := RunGraphChains(t.Context(), p, GraphChainsConfig{Chains: walk.ChainConfig{Chains: 4, Rounds: 2, Seed: seed}, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Less(t, float64(r.Certificate.RHat), 1.02)
	got := r.Matrix()
	for _, e := range r.Edges {
		i, _ := p.Data.Node(e.From)
		j, _ := p.Data.Node(e.To)
		for _, one := range []struct {
			edge dgraph.Edge
			se   Number
		}{{dgraph.Edge{From: i, To: j}, e.ProbSE}, {dgraph.Edge{From: j, To: i}, e.ProbReverseSE}} {
			want := math.Exp(logsum.Of(*edges[one.edge]) - logsum.Of(totals))
			require.InDelta(t, want, got[one.edge.From][one.edge.To], 4*float64(one.se)+1e-9, "%v", one.edge)
		}
	}
}

// For categories, edge probabilities by Markov chains over graphs agree with a sum over all values
// of four missing cells. One of these cells is in a row with an intervention on another node. A
// fifth missing cell needs no sum, because an intervention sets its value.
func TestImputedCategories(t *testing.T) {
	text := "a,b,c,set,drug\nu,x,1,,0\nu,x,1,,0\nv,y,1,,0\nv,NA,2,,0\nu,x,NA,,0\nv,y,2,,0\nNA,y,2,,0\nu,x,1,b,0\nv,y,2,,0\nu,y,1,,0\nu,NA,1,c,0\nv,y,2,,0\nNA,x,2,,1\nu,x,1,,1\n"
	p, err := dagtest.Missing(t, text, tables.DataOptions{Discrete: []string{"c"}, Intervened: "set", Clamp: []string{"drug=a:v"}}, score.ModelOptions{})
	require.NoError(t, err)
	require.Equal(t, 4, p.Data.MissingCells())
	for row := 12; row < 14; row++ {
		require.Equal(t, 1.0, p.Data.X.At(row, 0))
		require.False(t, p.Data.Counts(row, 0))
	}
	_, err = dagtest.Missing(t, text, tables.DataOptions{Discrete: []string{"c"}, Exclude: []string{"set"}, Clamp: []string{"drug=a"}}, score.ModelOptions{})
	require.ErrorContains(t, err, `column "a", line 14: the node was set from outside and its value is missing`)
	agreesWith(t, p, 3, fourBinaryCells(p))
}

// For numbers, Markov chains over graphs agree with a sum over a grid of values of two missing
// cells. A third missing cell belongs to a node that an intervention sets to the node's least
// value.
func TestImputedNumbers(t *testing.T) {
	random, text := dagtest.Random(4), strings.Builder{}
	text.WriteString("a,b,c,drug\n")
	for row := range 14 {
		a := random.NormFloat64()
		b := a + 0.5*random.NormFloat64()
		cells := []string{fmt.Sprintf("%.4f", a), fmt.Sprintf("%.4f", b), fmt.Sprintf("%.4f", b+random.NormFloat64())}
		switch row {
		case 3:
			cells[1] = "NA"
		case 7:
			cells[0] = "NA"
		case 9:
			cells[1] = "NA"
		}
		text.WriteString(strings.Join(cells, ",") + fmt.Sprintf(",%d\n", row/9%2))
	}
	p, err := dagtest.Missing(t, text.String(), tables.DataOptions{Clamp: []string{"drug=b:low"}}, score.ModelOptions{})
	require.NoError(t, err)
	require.Equal(t, 2, p.Data.MissingCells())
	require.Equal(t, slices.Min(p.Data.OwnColumn(1)), p.Data.X.At(9, 1))
	agreesWith(t, p, 5, func(visit func(x *mat.Dense, logWeight float64)) {
		const step = 0.25
		for u := -6.0; u < 6; u += step {
			for v := -6.0; v < 6; v += step {
				x := mat.DenseCopyOf(p.Data.X)
				x.Set(3, 1, u)
				x.Set(7, 0, v)
				visit(x, 0)
			}
		}
	})
}

// With soft interventions, rows where a node has another mechanism, Markov chains over graphs agree
// with a sum over the values of missing cells. The other mechanism belongs to the node of the cell
// or to an effect of this node.
func TestImputedSoftInterventions(t *testing.T) {
	text := "a,b,c,soft\nu,x,1,\nu,x,1,\nv,y,1,\nv,NA,2,\nu,x,2,\nv,y,2,\nu,y,2,b\nu,NA,1,b\nv,x,2,b\nv,NA,1,b\nu,y,1,b\nNA,x,2,b\n"
	p, err := dagtest.Missing(t, text, tables.DataOptions{Discrete: []string{"c"}, SoftIntervened: "soft"}, score.ModelOptions{})
	require.NoError(t, err)
	require.Equal(t, 4, p.Data.MissingCells())
	agreesWith(t, p, 3, fourBinaryCells(p))

	random, numbers := dagtest.Random(6), strings.Builder{}
	numbers.WriteString("a,b,c,soft\n")
	for row := range 16 {
		a := random.NormFloat64()
		b, soft := a+0.5*random.NormFloat64(), ""
		if row > 8 {
			b, soft = 2-a+0.2*random.NormFloat64(), "b"
		}
		cells := []string{fmt.Sprintf("%.4f", a), fmt.Sprintf("%.4f", b), fmt.Sprintf("%.4f", b+random.NormFloat64()), soft}
		switch row {
		case 10:
			cells[1] = "NA"
		case 12:
			cells[0] = "NA"
		}
		numbers.WriteString(strings.Join(cells, ",") + "\n")
	}
	p, err = dagtest.Missing(t, numbers.String(), tables.DataOptions{SoftIntervened: "soft"}, score.ModelOptions{})
	require.NoError(t, err)
	agreesWith(t, p, 5, func(visit func(x *mat.Dense, logWeight float64)) {
		const step = 0.25
		for u := -6.0; u < 6; u += step {
			for v := -6.0; v < 6; v += step {
				x := mat.DenseCopyOf(p.Data.X)
				x.Set(10, 1, u)
				x.Set(12, 0, v)
				visit(x, 0)
			}
		}
	})
}

// The error states why imputation is impossible. Methods other than Markov chains refuse tables
// with missing cells to be imputed.
func TestImputationErrors(t *testing.T) {
	text := "a,b\n1.5,2\n2.5,NA\n3,4.5\n4,1\n5,2.5\n"
	p, err := dagtest.Missing(t, text, tables.DataOptions{}, score.ModelOptions{})
	require.NoError(t, err)
	_, err = RunExact(t.Context(), p, ExactConfig{})
	require.ErrorContains(t, err, "missing cells are drawn by chains over graphs alone")
	_, err = p.Resolve(score.Exact)
	require.ErrorContains(t, err, "missing cells are drawn by chains over graphs alone")
	method, err := p.Resolve(score.Auto)
	require.NoError(t, err)
	require.Equal(t, score.Chains, method)
	_, err = dagtest.Missing(t, text, tables.DataOptions{}, score.ModelOptions{Mechanism: sem.Linear})
	require.ErrorContains(t, err, "missing cells are drawn with bge and categorical mechanisms, not with linear")
	_, err = dagtest.Missing(t, "a,k\n1.5,x\n2.5,NA\n3,y\n4,x\n5,y\n", tables.DataOptions{}, score.ModelOptions{})
	require.ErrorContains(t, err, "not with mixed")
	_, err = dagtest.Missing(t, "a,b,s\n1.5,2,\n2.5,NA,b\n3,4.5,\n4,1,\n5,2.5,\n", tables.DataOptions{Intervened: "s"}, score.ModelOptions{})
	require.ErrorContains(t, err, "the node was set from outside and its value is missing")
	_, err = dagtest.Missing(t, "a,b\n1.5,NA\n2.5,NA\n3,NA\n4,1\n5,2.5\n", tables.DataOptions{}, score.ModelOptions{})
	require.ErrorContains(t, err, `column "b" has 2 cells of 5, want at least 3`)
	_, err = dagtest.Missing(t, text, tables.DataOptions{Discretize: tables.Discretization{Classes: 2}}, score.ModelOptions{})
	require.ErrorContains(t, err, "cut into classes")
}

// fourBinaryCells visits the 16 ways to fill in a table with four missing cells of two levels.
func fourBinaryCells(p *score.Problem) func(visit func(x *mat.Dense, logWeight float64)) {
	return func(visit func(x *mat.Dense, logWeight float64)) {
		for code := range 16 {
			x, left := mat.DenseCopyOf(p.Data.X), code
			for row, nodes := range p.Data.Missing {
				for _, j := range nodes {
					x.Set(row, j, float64(left%2))
					left /= 2
				}
			}
			visit(x, 0)
		}
	}
}
