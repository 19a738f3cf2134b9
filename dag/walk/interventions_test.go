package walk

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// enumerated returns the posterior probabilities of edges by a loop over all graphs. It computes
// the density of each node in the rows that count for it, with the means of these rows, and does
// not use [tables.Data.Centers].
func enumerated(t *testing.T, p *score.Problem) [][]float64 {
	t.Helper()
	d := p.Data
	var families [][]dgraph.Set
	scores := map[dgraph.Family]float64{}
	for j := range d.Nodes() {
		var rows []int
		for row := range d.Rows() {
			if d.Counted[row][j] {
				rows = append(rows, row)
			}
		}
		columns := make([][]float64, d.Nodes())
		for i := range columns {
			for _, row := range rows {
				columns[i] = append(columns[i], d.X.At(row, i))
			}
			mean := stat.Mean(columns[i], nil)
			for k := range columns[i] {
				columns[i][k] -= mean
			}
		}
		var sets []dgraph.Set
		for _, f := range p.Families {
			if f.Node != j {
				continue
			}
			sets = append(sets, f.Parents)
			covariance := mat.NewSymDense(len(rows), nil)
			for a := range rows {
				covariance.SetSym(a, a, dgraph.Square(p.Model.Sigma))
			}
			for i := range f.Parents.Nodes() {
				covariance.SymRankOne(covariance, dgraph.Square(p.Model.PriorSD), mat.NewVecDense(len(rows), columns[i]))
			}
			normal, ok := distmv.NewNormal(make([]float64, len(rows)), covariance, nil)
			require.True(t, ok)
			scores[f] = normal.LogProb(columns[j])
		}
		families = append(families, sets)
	}
	var logs []float64
	var graphs []*dgraph.Graph
	testkit.EachGraph(families, func(parents []dgraph.Set) bool {
		sum := 0.0
		for j, set := range parents {
			sum += scores[dgraph.Family{Node: j, Parents: set}]
		}
		logs, graphs = append(logs, sum), append(graphs, dgraph.FromParents(parents))
		return true
	})
	total := logsum.Of(logs)
	var posterior []dgraph.Weighted
	for k, g := range graphs {
		posterior = append(posterior, dgraph.Weighted{Graph: g, Probability: math.Exp(logs[k] - total)})
	}
	return dgraph.EdgeProbabilities(d.Nodes(), posterior)
}

// A node that is set far from its natural values changes only its descendants. Exact sums agree
// with a loop over all 543 graphs, and chains agree with it within 4 of their standard errors.
// Without an intercept for the rows that count, shifts of the means would look like edges.
func TestInterventionsFarAway(t *testing.T) {
	truth := dgraph.FromParents([]dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1), {}})
	wrong := func(edges [][]float64) (sum float64) {
		for _, e := range dgraph.OrderedPairs(4) {
			if !truth.Adjacent(e.From, e.To) {
				sum += edges[e.From][e.To]
			}
		}
		return sum
	}
	for seed := range uint64(4) {
		d := dagtest.FarInterventions(t, rand.New(rand.NewPCG(seed, 31)), 8, tables.DataOptions{Scaling: tables.Center})
		p, err := score.NewProblem(d, score.ModelOptions{Sigma: 1, Graphs: score.UniformGraphs}, tables.Constraints{})
		require.NoError(t, err)
		exact := func() [][]float64 {
			scores, err := p.ExactScores(t.Context(), nil)
			require.NoError(t, err)
			posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
			require.NoError(t, err)
			return posterior.EdgeProbabilities()
		}
		want, got := enumerated(t, p), exact()
		for i := range want {
			require.InDeltaSlice(t, want[i], got[i], 1e-8)
		}
		sampled, err := SampleGraphs(p, t.Context(), ChainConfig{Seed: seed}, func(string) {})
		require.NoError(t, err)
		edges := sampled.Edges()
		for _, e := range dgraph.OrderedPairs(4) {
			require.InDelta(t, want[e.From][e.To], edges.Probabilities[e.From][e.To], 4*edges.Errors[e.From][e.To], "%v", e)
		}
		d.Centers = nil
		require.Less(t, wrong(got), 0.6, "false edges")
		require.Greater(t, wrong(exact()), 1.2, "without intercepts")
	}
}
