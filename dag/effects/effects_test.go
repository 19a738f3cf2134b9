package effects

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
)

// The slope of a network, averaged over rows, agrees with difference quotients of the mean of the
// node. The statistics of residuals agree with their definitions.
func TestSlopeAndMoments(t *testing.T) {
	p, err := score.NewProblem(dagtest.Chain(t, 50, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 4}, tables.Constraints{})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(3, 4))
	l := p.Layout()
	theta := make([]float64, l.Dim())
	for k, on := range l.Mask(dgraph.Family{Node: 2, Parents: dgraph.SetOf(0, 1)}) {
		if on {
			theta[k] = random.NormFloat64()
		}
	}
	const step = 1e-7
	var want float64
	for row := range p.Data.Rows() {
		values := append([]float64(nil), p.Data.X.RawRowView(row)...)
		before := l.Mean(theta, values)
		values[1] += step
		want += (l.Mean(theta, values) - before) / step / float64(p.Data.Rows())
	}
	require.InDelta(t, want, slope(p, theta, dgraph.Edge{From: 1, To: 2}), 1e-5)

	values := make([]float64, 100)
	for i := range values {
		values[i] = random.ExpFloat64()
	}
	mean, spread := stat.Mean(values, nil), stat.PopStdDev(values, nil)
	var third, fourth float64
	for _, x := range values {
		third += math.Pow((x-mean)/spread, 3) / 100
		fourth += math.Pow((x-mean)/spread, 4) / 100
	}
	computed := statistics(values)
	require.InDeltaSlice(t, []float64{spread, third, fourth}, computed[:], 1e-10)
}

// The checks of residuals find a node with heavy tails, and nothing for a node with normal noise,
// also if there are so many rows that only some are checked.
func TestChecksFindHeavyTails(t *testing.T) {
	for _, count := range []int{300, 2*checkRows + 1} {
		t.Run(strconv.Itoa(count), func(t *testing.T) { checkHeavyTails(t, count) })
	}
}

func checkHeavyTails(t *testing.T, count int) {
	random := rand.New(rand.NewPCG(5, 6))
	rows := make([][]float64, count)
	for i := range rows {
		rows[i] = []float64{random.NormFloat64(), random.NormFloat64() / math.Sqrt(random.ExpFloat64())}
	}
	d, err := tables.NewData(dagtest.Table(t, []string{"normal", "heavy"}, rows), tables.DataOptions{})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := score.NewPosterior(context.Background(), p.Structure, scores, nil)
	require.NoError(t, err)
	checks, err := CheckNodes(p, t.Context(), posterior.Mixture(), p.ExactParameters(p.Families), 5)
	require.NoError(t, err)
	require.Less(t, float64(checks[1].Kurtosis), 0.01)
	require.InDelta(t, 0.5, float64(checks[0].Kurtosis), 0.48)
	require.InDelta(t, 0.5, float64(checks[0].Skewness), 0.48)
}

// Exact means and variances of the weights of edges agree with 60,000 draws, within 4 standard
// errors. With 18 comparisons this fails by chance with 1 of 900 seeds.
func TestExactMoments(t *testing.T) {
	random := dagtest.Random(77)
	for name, model := range map[string]score.ModelOptions{"unknown": {PriorSD: 1.2}, "known": {Sigma: 0.8}, "bge": {Mechanism: sem.BGe}} {
		p, err := score.NewProblem(dagtest.Chain(t, 12, tables.DataOptions{}), model, tables.Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		exact, source := ExactMoments(p, posterior.Mixture()), p.ExactParameters(p.Families)(random)
		for _, e := range []dgraph.Edge{{From: 0, To: 1}, {From: 2, To: 1}, {From: 0, To: 2}} {
			families := posterior.Mixture().Draws(random, posterior.Mixture().With(e.From, posterior.Mixture().OfNodes(p.Data.Nodes())[e.To]))
			const draws = 60000
			mean, variance, _ := exact(e)
			var weights, squares []float64
			for range draws {
				theta, _ := source(families())
				weight := theta[e.From]
				weights, squares = append(weights, weight), append(squares, dgraph.Square(weight-mean))
			}
			got, sd := stat.MeanStdDev(weights, nil)
			require.InDelta(t, mean, got, 4*sd/math.Sqrt(draws), "%s: %v", name, e)
			got, sd = stat.MeanStdDev(squares, nil)
			require.InDelta(t, variance, got, 4*sd/math.Sqrt(draws), "%s: %v", name, e)
		}
	}
}
