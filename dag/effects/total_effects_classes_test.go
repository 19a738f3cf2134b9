package effects

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// In every graph of an equivalence class, total effects computed from weights along paths agree
// with IDA, the intervention calculus when the graph is unknown (Maathuis, Kalisch and Bühlmann
// 2009). The effect of x on y by IDA is the coefficient of x in a regression of y on x and the
// parents of x, and zero if y is a parent of x. The data are from a graph of the class, so that the
// two differ only by sampling error: at most 5 standard errors of 20,000 rows.
func TestTotalEffectsAgainstAdjustment(t *testing.T) {
	const nodes, rows = 4, 20000
	families := make([][]dgraph.Set, nodes)
	for j := range families {
		for set := range 1 << nodes {
			if set>>j&1 == 0 {
				families[j] = append(families[j], dgraph.SetOf(slices.Collect(dgraph.Members(uint64(set)))...))
			}
		}
	}
	for name, truth := range map[string][]dgraph.Set{
		"chain":    {{}, dgraph.SetOf(0), dgraph.SetOf(1), dgraph.SetOf(2)},
		"collider": {{}, dgraph.SetOf(0), dgraph.SetOf(1, 3), {}},
		"triangle": {{}, dgraph.SetOf(0), dgraph.SetOf(0, 1), dgraph.SetOf(1)},
		"diamond":  {{}, dgraph.SetOf(0), dgraph.SetOf(0), dgraph.SetOf(1, 2)},
	} {
		random := dagtest.Random(5)
		order, _ := dgraph.FromParents(truth).Order()
		values := make([][]float64, rows)
		for r := range values {
			row := make([]float64, nodes)
			for _, j := range order {
				row[j] = random.NormFloat64()
				for i := range truth[j].Nodes() {
					row[j] += (0.6 + 0.1*float64(j)) * row[i]
				}
			}
			values[r] = row
		}
		d, err := tables.NewData(dagtest.Table(t, []string{"x0", "x1", "x2", "x3"}, values), tables.DataOptions{})
		require.NoError(t, err)
		p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		forms := p.Forms()
		class, members := dgraph.FromParents(truth).CPDAG().Key(), 0
		testkit.EachGraph(families, func(parents []dgraph.Set) bool {
			g := dgraph.FromParents(parents)
			if g.CPDAG().Key() != class {
				return true
			}
			members++
			thetas := make([][]float64, nodes)
			for j, set := range parents {
				thetas[j] = make([]float64, nodes)
				means, _ := forms[j].Moments(set)
				for k, i := range set.List() {
					thetas[j][i] = means[k]
				}
			}
			order, _ := g.Order()
			for x := range nodes {
				effects := effectsOf(p, x, parents, thetas, order, score.Descendants(x, parents, order), nil)
				for y := range nodes {
					if y == x {
						continue
					}
					want := 0.0
					if !parents[x].Has(y) {
						want = adjusted(t, d, x, y, parents[x].List())
					}
					require.InDelta(t, want, effects[y], 5*1.5/141, fmt.Sprintf("%s: %d on %d given %v", name, x, y, parents))
				}
			}
			return true
		})
		require.Greater(t, members, map[string]int{"collider": 1, "chain": 3, "triangle": 2, "diamond": 1}[name], name)
	}
}

// adjusted returns the coefficient of x in a regression of y on x and others, for scaled columns.
func adjusted(t *testing.T, d *tables.Data, x, y int, others []int) float64 {
	t.Helper()
	regressors := append([]int{x}, others...)
	cov := mat.NewSymDense(len(regressors), nil)
	right := mat.NewVecDense(len(regressors), nil)
	for a, i := range regressors {
		for b := a; b < len(regressors); b++ {
			cov.SetSym(a, b, stat.Covariance(mat.Col(nil, i, d.X), mat.Col(nil, regressors[b], d.X), nil))
		}
		right.SetVec(a, stat.Covariance(mat.Col(nil, i, d.X), mat.Col(nil, y, d.X), nil))
	}
	var weights mat.VecDense
	require.NoError(t, weights.SolveVec(cov, right))
	return weights.AtVec(0)
}
