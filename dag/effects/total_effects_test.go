package effects

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// Total effects of linear mechanisms agree with the entries of (I − B)⁻¹, where B holds the weights
// by effect and cause. Total effects of networks whose ReLU units are all on agree with products of
// weights.
func TestTotalEffectsOfAGraph(t *testing.T) {
	p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	parents := []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(0, 1)}
	thetas := [][]float64{make([]float64, 4), {0.7, 0, 0, 0}, {-0.4, 1.5, 0, 0}}
	b := mat.NewDense(3, 3, []float64{1, 0, 0, -0.7, 1, 0, 0.4, -1.5, 1})
	var inverse mat.Dense
	require.NoError(t, inverse.Inverse(b))
	order := []int{0, 1, 2}
	for from := range 3 {
		effects := effectsOf(p, from, parents, thetas, order, score.Descendants(from, parents, order), nil)
		require.InDeltaSlice(t, mat.Col(nil, from, &inverse), effects, 1e-12)
	}

	p, err = score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 1}, tables.Constraints{})
	require.NoError(t, err)
	l := p.Layout()
	theta := func(weights ...float64) []float64 { // parameters of 2 relu(w x + 100) − 200, whose unit is on for all rows
		scaled := make([]float64, l.Dim())
		copy(scaled, weights)
		scaled[l.B1()], scaled[l.W2()], scaled[l.B2()], scaled[l.Weights()] = 100, 2, -200, -3
		return scaled
	}
	thetas = [][]float64{make([]float64, l.Dim()), theta(0.7), theta(0, 0.5)}
	parents = []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1)}
	effects := effectsOf(p, 0, parents, thetas, order, score.Descendants(0, parents, order), dagtest.Random(1))
	require.InDelta(t, 1.4, effects[1], 1e-9)
	require.InDelta(t, 1.4, effects[2], 1e-9)
}

// effectStudy counts how often central 90% intervals contain the true total effects, over many
// tables.
type effectStudy struct{ shares map[string][]float64 }

// add counts the pairs of nodes of one table in three groups: all pairs, pairs with a true effect,
// and pairs whose posterior probability of an effect is more than one half. The posterior
// distribution function of an effect that may be zero has a jump at zero. Where the true effect is
// zero, its quantile within the jump is drawn at random (a randomised probability integral
// transform), so that intervals contain exactly 90% under the prior.
func (s *effectStudy) add(t *testing.T, p *score.Problem, truth *dgraph.Graph, thetas [][]float64, random *rand.Rand) {
	t.Helper()
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
	require.NoError(t, err)
	d := score.SampleFrom(Spread(dagtest.Draws(t, posterior, random, 2000), random), p.Families, p.ExactParameters(p.Families)(random))
	order, _ := truth.Order()
	held, pairs := map[string]float64{}, map[string]float64{}
	for from := range truth.Nodes() {
		want := effectsOf(p, from, truth.ParentSets(), thetas, order, score.Descendants(from, truth.ParentSets(), order), nil)
		below, same, paths := make([]float64, len(want)), make([]float64, len(want)), make([]float64, len(want))
		for k, parents := range d.Parents {
			order, _ := dgraph.FromParents(parents).Order()
			under := score.Descendants(from, parents, order)
			for to, effect := range effectsOf(p, from, parents, d.Thetas[k], order, under, nil) {
				effect *= unit(p, from, to)
				below[to] += dgraph.Indicator(effect < want[to])
				same[to] += dgraph.Indicator(effect == want[to])
				paths[to] += dgraph.Indicator(under[to])
			}
		}
		for to, effect := range want {
			if to == from {
				continue
			}
			u := (below[to] + random.Float64()*same[to]) / FileDraws
			for group, in := range map[string]bool{"all": true, "true effect": effect != 0, "probable": paths[to] > FileDraws/2} {
				held[group] += dgraph.Indicator(in && u > 0.05 && u < 0.95)
				pairs[group] += dgraph.Indicator(in)
			}
		}
	}
	if s.shares == nil {
		s.shares = map[string][]float64{}
	}
	for group, count := range pairs {
		s.shares[group] = append(s.shares[group], held[group], count)
	}
}

// coverage returns the share of the pairs of a group whose intervals contain the true effect, with
// its standard error over tables.
func (s *effectStudy) coverage(group string) (share, se float64) {
	held, pairs, squares := 0.0, 0.0, 0.0
	list := s.shares[group]
	for k := 0; k < len(list); k += 2 {
		held, pairs = held+list[k], pairs+list[k+1]
	}
	share = held / pairs
	for k := 0; k < len(list); k += 2 {
		squares += dgraph.Square(list[k] - share*list[k+1])
	}
	return share, math.Sqrt(squares) / pairs
}

// Where graphs and parameters are drawn from the prior, 90% intervals contain 90% of the true total
// effects, both for all pairs and for pairs whose effect is probable in the posterior, within 4
// standard errors. Among pairs selected by a true effect the share is smaller; the test only logs
// it.
func TestEffectIntervalsCoverUnderThePrior(t *testing.T) {
	testkit.Slow(t)
	const nodes, rows = 4, 100
	free := dgraph.FreeStructure(nodes)
	lists := make([][]dgraph.Set, nodes)
	for _, f := range free.Families() {
		lists[f.Node] = append(lists[f.Node], f.Parents)
	}
	var graphs []*dgraph.Graph
	var weights []float64
	testkit.EachGraph(lists, func(parents []dgraph.Set) bool {
		weight := 1.0
		for _, set := range parents {
			weight /= []float64{1, 3, 3, 1}[set.Len()] // divided by the number of sets of this size among three nodes
		}
		graphs, weights = append(graphs, dgraph.FromParents(parents)), append(weights, weight)
		return true
	})
	random, study := dagtest.Random(12), &effectStudy{}
	for range 200 {
		truth := graphs[pick.Index(weights, random.Float64())]
		thetas, intercepts, noise := make([][]float64, nodes), make([]float64, nodes), make([]float64, nodes)
		for j, set := range truth.ParentSets() {
			const scale = 0.5
			// the prior of the BGe score with k parents and scale t: σ² ~ IG((k + 3)/2, t/2), w ~
			// N(0, σ²/t), intercept ~ N(0, σ²)
			noise[j] = math.Sqrt(scale / 2 / stream.Gamma(float64(set.Len()+3)/2, random))
			thetas[j], intercepts[j] = make([]float64, nodes+1), noise[j]*random.NormFloat64()
			for i := range set.Nodes() {
				thetas[j][i] = noise[j] / math.Sqrt(scale) * random.NormFloat64()
			}
		}
		order, _ := truth.Order()
		values := make([][]float64, rows)
		for row := range values {
			values[row] = make([]float64, nodes)
			for _, j := range order {
				values[row][j] = intercepts[j] + noise[j]*random.NormFloat64()
				for i := range truth.ParentSets()[j].Nodes() {
					values[row][j] += thetas[j][i] * values[row][i]
				}
			}
		}
		d, err := tables.NewData(dagtest.Table(t, []string{"a", "b", "c", "d"}, values), tables.DataOptions{Scaling: tables.Unscaled})
		require.NoError(t, err)
		p, err := score.NewProblem(d, score.ModelOptions{Mechanism: sem.BGe}, tables.Constraints{})
		require.NoError(t, err)
		study.add(t, p, truth, thetas, random)
	}
	for _, group := range []string{"all", "probable"} {
		share, se := study.coverage(group)
		t.Logf("%s: %.3f ± %.3f", group, share, se)
		require.InDelta(t, 0.9, share, 4*se, group)
		require.Less(t, se, 0.02)
	}
	share, se := study.coverage("true effect")
	t.Logf("true effect: %.3f ± %.3f", share, se)
}

// For data that are not from the prior, with weights of ±0.3 to 0.7 and half of all edges, the 90%
// intervals contain 85 to 95% of the true effects, for all pairs and for probable effects.
func TestEffectIntervalsCover(t *testing.T) {
	testkit.Slow(t)
	random, study := dagtest.Random(11), &effectStudy{}
	for seed := range uint64(200) {
		s, err := sem.Simulate(sem.Simulation{Nodes: 4, Rows: 100, Mechanism: sem.Linear, Seed: 1000 + seed})
		require.NoError(t, err)
		d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
		require.NoError(t, err)
		p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		study.add(t, p, s.Truth, s.Thetas, random)
	}
	for _, group := range []string{"all", "probable", "true effect"} {
		share, se := study.coverage(group)
		t.Logf("%s: %.3f ± %.3f", group, share, se)
		if group != "true effect" {
			require.InDelta(t, 0.9, share, 0.05, group)
		}
	}
}

// The stated errors of mean total effects agree with the differences between 60 samples: the
// distance from the mean over all samples, divided by the stated error, has a standard deviation of
// about 1. The estimate of this standard deviation has a relative error of 9 percent, and the test
// allows 4 times as much. With 6 pairs it fails by chance once in 2,000 runs.
func TestErrorsOfTotalEffects(t *testing.T) {
	p, err := score.NewProblem(dagtest.Chain(t, 12, tables.DataOptions{}), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
	require.NoError(t, err)
	random, means, errors := dagtest.Random(5), map[string][]float64{}, map[string][]float64{}
	for range 60 {
		const draws = 300
		graphs, err := posterior.Sample(t.Context(), random, draws)
		require.NoError(t, err)
		sample := score.Sample{}
		source := p.ExactParameters(p.Families)(random)
		for _, g := range graphs {
			for range g.Count {
				one := score.SampleFrom([][]int{g.Families}, p.Families, source)
				sample.Parents, sample.Thetas = append(sample.Parents, one.Parents...), append(sample.Thetas, one.Thetas...)
			}
		}
		list, err := TotalEffects(p, t.Context(), sample, draws, random.Uint64())
		require.NoError(t, err)
		for _, e := range list {
			means[e.From+e.To], errors[e.From+e.To] = append(means[e.From+e.To], float64(e.Mean)), append(errors[e.From+e.To], float64(e.MeanSE))
		}
	}
	require.Len(t, means, 6)
	for pair, pairMeans := range means {
		center, z := stat.Mean(pairMeans, nil), make([]float64, len(pairMeans))
		for k, mean := range pairMeans {
			z[k] = (mean - center) / errors[pair][k]
		}
		require.InDelta(t, 1, stat.StdDev(z, nil), 4*0.092, pair)
	}
}

// A requested pair is in the answer although no draw has a path between its nodes. The mean of its
// effect is zero, but has no standard error, because the effect may be nonzero in other graphs.
func TestEffectsThatWereAskedFor(t *testing.T) {
	p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	p.Asked = []dgraph.Edge{{From: 2, To: 0}}
	parents := []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1)}
	thetas := [][]float64{make([]float64, 4), {0.7, 0, 0, 0}, {0, 1.5, 0, 0}}
	sample := score.Sample{Parents: [][]dgraph.Set{parents, parents}, Thetas: [][][]float64{thetas, thetas}}
	list, err := TotalEffects(p, t.Context(), sample, 2, 1)
	require.NoError(t, err)
	require.Len(t, list, 4)
	asked := list[3]
	require.Equal(t, [2]string{p.Data.Names[2], p.Data.Names[0]}, [2]string{asked.From, asked.To})
	require.Zero(t, asked.Prob)
	require.Positive(t, float64(asked.ProbSE))
	require.True(t, math.IsNaN(float64(asked.MeanSE)))
}
