package dag

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Draws of a coefficient with known noise have the mean and variance of the conjugate posterior:
// within 5 standard errors of 4,000 draws, a false alarm rate of 1e-6.
func TestExactParameters(t *testing.T) {
	p, err := NewProblem(chainData(t, 30, DataOptions{Scaling: Center}), ModelOptions{Sigma: 0.9, PriorSD: 1.2}, Constraints{})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	source := p.exactParameters(p.Families, random)
	for f, family := range p.Families {
		if family != (dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)}) {
			continue
		}
		values := make([]float64, 4000)
		for i := range values {
			values[i] = source(f)[0]
		}
		stats := newLinearStats(p.Data, 1)
		precision := stats.gram.At(0, 0)/(0.9*0.9) + 1/(1.2*1.2)
		mean, sd := stats.gram.At(0, 1)/(0.9*0.9)/precision, 1/math.Sqrt(precision)
		require.InDelta(t, mean, stat.Mean(values, nil), 5*sd/math.Sqrt(4000))
		require.InEpsilon(t, sd, stat.StdDev(values, nil), 5/math.Sqrt(2*4000))
	}
}

// With unknown noise and few rows, so that nothing is normal, draws of the coefficient and of log σ
// have the mean and variance that a sum over a grid of both gives: within 5 standard errors of
// 40,000 draws, a false alarm rate of 2e-6.
func TestExactParametersOfUnknownNoise(t *testing.T) {
	d := chainData(t, 4, DataOptions{})
	p, err := NewProblem(d, ModelOptions{PriorSD: 1.2}, Constraints{})
	require.NoError(t, err)
	f := dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)}
	l, stats := p.layout(), newLinearStats(d, 1)
	var total float64
	var want, squares, fourths [2]float64
	overGrid := func(visit func(values [2]float64, share float64)) {
		theta := make([]float64, l.dim())
		for weight := -6.0; weight < 6; weight += 0.02 {
			for logSigma := -8.0; logSigma < 8; logSigma += 0.04 {
				theta[0], theta[l.weights()] = weight, logSigma
				visit([2]float64{weight, logSigma}, math.Exp(stats.logJoint(l, f, theta, 1.2)))
			}
		}
	}
	overGrid(func(values [2]float64, share float64) {
		total += share
		for k, x := range values {
			want[k] += x * share
		}
	})
	overGrid(func(values [2]float64, share float64) {
		for k, x := range values {
			squares[k] += square(x-want[k]/total) * share / total
			fourths[k] += square(square(x-want[k]/total)) * share / total
		}
	})
	const draws = 40_000
	source := p.exactParameters([]dgraph.Family{f}, randomOf(8))
	values := [2][]float64{}
	for range draws {
		theta := source(0)
		values[0], values[1] = append(values[0], theta[0]), append(values[1], theta[l.weights()])
	}
	for k := range values {
		require.InDelta(t, want[k]/total, stat.Mean(values[k], nil), 5*math.Sqrt(squares[k]/draws))
		require.InDelta(t, squares[k], stat.Variance(values[k], nil), 5*math.Sqrt((fourths[k]-square(squares[k]))/draws))
	}
}

// The slope of a network is the difference quotient of its mean where no unit changes sides, and
// moments are those of their definitions.
func TestSlopeAndMoments(t *testing.T) {
	p, err := NewProblem(chainData(t, 50, DataOptions{}), ModelOptions{Mechanism: MLP, Hidden: 4}, Constraints{})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(3, 4))
	l := p.layout()
	theta := make([]float64, l.dim())
	for k, on := range l.mask(dgraph.Family{Node: 2, Parents: dgraph.SetOf(0, 1)}) {
		if on {
			theta[k] = random.NormFloat64()
		}
	}
	const step = 1e-7
	var want float64
	for row := range p.Data.Rows() {
		values := append([]float64(nil), p.Data.X.RawRowView(row)...)
		before := l.mean(theta, values)
		values[1] += step
		want += (l.mean(theta, values) - before) / step / float64(p.Data.Rows())
	}
	require.InDelta(t, want, p.slope(theta, dgraph.Edge{From: 1, To: 2}), 1e-5)

	var m moments
	values := make([]float64, 100)
	for i := range values {
		values[i] = random.ExpFloat64()
		m.add(values[i])
	}
	mean, spread := stat.Mean(values, nil), stat.PopStdDev(values, nil)
	var third, fourth float64
	for _, x := range values {
		third += math.Pow((x-mean)/spread, 3) / 100
		fourth += math.Pow((x-mean)/spread, 4) / 100
	}
	require.InDelta(t, spread, m.spread(), 1e-12)
	require.InDelta(t, third, m.standard(3), 1e-10)
	require.InDelta(t, fourth, m.standard(4), 1e-10)
}

// The checks find a node with heavy tails and pass one without.
func TestChecksFindHeavyTails(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	rows := make([][]float64, 300)
	for i := range rows {
		rows[i] = []float64{random.NormFloat64(), random.NormFloat64() / math.Sqrt(random.ExpFloat64())}
	}
	d, err := NewData(tableOf(t, []string{"normal", "heavy"}, rows), DataOptions{})
	require.NoError(t, err)
	p, err := NewProblem(d, ModelOptions{}, Constraints{})
	require.NoError(t, err)
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := NewPosterior(context.Background(), p.Structure, scores, nil)
	require.NoError(t, err)
	checks, err := p.checkNodes(t.Context(), posterior.mixture(), p.exactParameters(p.Families, random), random)
	require.NoError(t, err)
	require.Less(t, float64(checks[1].Kurtosis), 0.01)
	require.InDelta(t, 0.5, float64(checks[0].Kurtosis), 0.48)
	require.InDelta(t, 0.5, float64(checks[0].Skewness), 0.48)
}

// Exact means and variances of weights are those of draws, within 4 standard errors of 60,000: of
// 18 comparisons, a false alarm in 1 of 900.
func TestExactMoments(t *testing.T) {
	random := randomOf(77)
	for name, model := range map[string]ModelOptions{"unknown": {PriorSD: 1.2}, "known": {Sigma: 0.8}, "bge": {Mechanism: BGe}} {
		p, err := NewProblem(chainData(t, 12, DataOptions{}), model, Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		exact, source := p.exactMoments(posterior.mixture()), p.exactParameters(p.Families, random)
		for _, e := range []dgraph.Edge{{From: 0, To: 1}, {From: 2, To: 1}, {From: 0, To: 2}} {
			families := posterior.mixture().draws(random, func(f dgraph.Family) bool { return f.Node == e.To && f.Parents.Has(e.From) })
			const draws = 60000
			mean, variance := exact(e)
			var weights, squares []float64
			for range draws {
				weight := source(families())[e.From]
				weights, squares = append(weights, weight), append(squares, square(weight-mean))
			}
			got, sd := stat.MeanStdDev(weights, nil)
			require.InDelta(t, mean, got, 4*sd/math.Sqrt(draws), "%s: %v", name, e)
			got, sd = stat.MeanStdDev(squares, nil)
			require.InDelta(t, variance, got, 4*sd/math.Sqrt(draws), "%s: %v", name, e)
		}
	}
}
