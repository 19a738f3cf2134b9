package dag

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
)

// In one graph x → k → y, x → y with known parameters, simulated changes are what the mechanisms
// say.
func TestMixedEffectsOfAGraph(t *testing.T) {
	p := mixedTable(t, "x,k,y\n-1,a,0\n1,b,2\n0.25,a,1\n0,b,4\n-0.5,b,3.5\n", ModelOptions{Mechanism: Mixed})
	parents := []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(0, 1)}
	thetas := [][]float64{{0.3, math.Log(0.8)}, {0.4, -1.1}, {0.2, 0.5, 0.9, math.Log(0.6)}}
	effects := map[string]Effect{}
	d := drawn{}
	for range 200 {
		d.parents, d.thetas = append(d.parents, parents), append(d.thetas, thetas)
	}
	list, err := p.totalEffects(t.Context(), d, 200, randomOf(1))
	require.NoError(t, err)
	for _, e := range list {
		require.InDelta(t, 1, float64(e.Prob), 1e-12)
		effects[e.From+e.To] = e
	}
	require.Len(t, effects, 3)
	// levels a and b are at ±1/√2 of one contrast
	side := p.mixedTable().contrasts[1][1][0]
	odds := func(x float64) float64 { return 1 / (1 + math.Exp(-2*side*(0.4-1.1*x))) } // of b
	set := p.settings(0)
	shift := odds(set[1].value) - odds(set[0].value)
	k := effects["xk"].Changes
	require.Len(t, k, 1)
	require.Equal(t, "b", k[0].To)
	require.InDelta(t, shift, float64(k[0].Mean), 1e-12)
	y := effects["ky"].Changes
	require.Len(t, y, 1)
	require.Equal(t, Change{From: "b", Reference: "a"}, Change{From: y[0].From, Reference: y[0].Reference, To: y[0].To})
	require.InDelta(t, 2*side*0.9*p.Data.Scale[2], float64(y[0].Mean), 1e-9)
	// of x directly, and by the level that it makes more probable; 200 times 100 rows
	slope := 0.5 + 2*side*0.9*shift/(set[1].value-set[0].value)
	require.InDelta(t, slope*p.Data.Scale[2]/p.Data.Scale[0], float64(effects["xy"].Mean), 0.03)
	require.Nil(t, effects["xy"].Changes)
}

// Of numbers alone sizes are those of BGe, which are sums over paths: within 5 standard errors of
// the 200 draws that are simulated.
func TestMixedEffectsOfNumbersAreThoseOfBGe(t *testing.T) {
	s, err := Simulate(Simulation{Nodes: 4, Rows: 60, EdgeProbability: 0.6, Seed: 5})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, s.WriteCSV(&text))
	found := map[Mechanism][]Effect{}
	for _, mechanism := range []Mechanism{BGe, Mixed} {
		r, err := RunExact(t.Context(), mixedTable(t, text.String(), ModelOptions{Mechanism: mechanism}), ExactConfig{})
		require.NoError(t, err)
		found[mechanism] = r.Effects
	}
	compared := 0
	for _, a := range found[BGe] {
		for _, b := range found[Mixed] {
			if a.From != b.From || a.To != b.To || float64(a.Prob) < 0.2 {
				continue
			}
			compared++
			require.InDelta(t, float64(a.Mean), float64(b.Mean), 5*float64(a.SD)/math.Sqrt(200), "%s → %s", a.From, a.To)
			require.InEpsilon(t, float64(a.SD), float64(b.SD), 0.3, "%s → %s", a.From, a.To)
		}
	}
	require.Greater(t, compared, 3)
}
