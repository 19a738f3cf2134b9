package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Total effects of linear mechanisms are (I − B)⁻¹, with B the weights by effect and cause; those
// of networks in their linear part are products of their weights.
func TestTotalEffectsOfAGraph(t *testing.T) {
	p, err := NewProblem(chainData(t, 30, DataOptions{}), ModelOptions{}, Constraints{})
	require.NoError(t, err)
	parents := []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(0, 1)}
	thetas := [][]float64{make([]float64, 4), {0.7, 0, 0, 0}, {-0.4, 1.5, 0, 0}}
	b := mat.NewDense(3, 3, []float64{1, 0, 0, -0.7, 1, 0, 0.4, -1.5, 1})
	var inverse mat.Dense
	require.NoError(t, inverse.Inverse(b))
	order := []int{0, 1, 2}
	for from := range 3 {
		effects := p.effectsOf(from, parents, thetas, order, descendants(from, parents, order), nil)
		require.InDeltaSlice(t, mat.Col(nil, from, &inverse), effects, 1e-12)
	}

	p, err = NewProblem(chainData(t, 30, DataOptions{}), ModelOptions{Mechanism: MLP, Hidden: 1}, Constraints{})
	require.NoError(t, err)
	l := p.layout()
	theta := func(weights ...float64) []float64 { // 2 (10 + w x) − 20, where no unit is off
		own := make([]float64, l.dim())
		copy(own, weights)
		own[l.b1()], own[l.w2()], own[l.b2()], own[l.weights()] = 100, 2, -200, -3
		return own
	}
	thetas = [][]float64{make([]float64, l.dim()), theta(0.7), theta(0, 0.5)}
	parents = []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1)}
	effects := p.effectsOf(0, parents, thetas, order, descendants(0, parents, order), randomOf(1))
	require.InDelta(t, 1.4, effects[1], 1e-9)
	require.InDelta(t, 1.4, effects[2], 1e-9)
}

// Intervals of 90% hold the true total effects of between 85 and 95% of all pairs in 200 simulated
// graphs. Of pairs with an effect they hold fewer, since the prior prefers few edges and the
// simulation does not draw from it.
func TestEffectIntervalsCover(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	covered, count, nonzero, nonzeroCovered := 0.0, 0.0, 0.0, 0.0
	random := randomOf(11)
	for seed := range uint64(200) {
		s, err := Simulate(Simulation{Nodes: 4, Rows: 100, Mechanism: Linear, Seed: 1000 + seed})
		require.NoError(t, err)
		d, err := NewData(tableOf(t, s.Names, s.Values), DataOptions{})
		require.NoError(t, err)
		p, err := NewProblem(d, ModelOptions{}, Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		graphs, err := posterior.Sample(t.Context(), random, 2000)
		require.NoError(t, err)
		effects, err := p.totalEffects(t.Context(), drawnFrom(spread(graphs, random), p.Families, p.exactParameters(p.Families, random)), fileDraws, random)
		require.NoError(t, err)
		order, _ := s.Truth.Order()
		for from := range 4 {
			truth := p.effectsOf(from, s.Truth.ParentSets(), s.thetas, order, descendants(from, s.Truth.ParentSets(), order), nil)
			for to, effect := range truth {
				low, high := 0.0, 0.0 // pairs that no draw has a path between
				for _, found := range effects {
					if found.From == d.Names[from] && found.To == d.Names[to] {
						low, high = float64(found.Q05), float64(found.Q95)
					}
				}
				if to != from {
					covered, count = covered+indicator(low <= effect && effect <= high), count+1
				}
				if effect != 0 && to != from {
					nonzero, nonzeroCovered = nonzero+1, nonzeroCovered+indicator(low <= effect && effect <= high)
				}
			}
		}
	}
	t.Logf("%.3f of all pairs are covered, of those with an effect %.3f", covered/count, nonzeroCovered/nonzero)
	require.InDelta(t, 0.9, covered/count, 0.05)
}
