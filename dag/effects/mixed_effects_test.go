package effects

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/lab/dagtest"
)

// In a graph with the edges x → k, k → y and x → y and known parameters, simulated effects agree
// with effects computed by hand from the mechanisms. The effects of x on k and of k on y have no
// simulation error.
func TestMixedEffectsOfAGraph(t *testing.T) {
	p := dagtest.Mixed(t, "x,k,y\n-1,a,0\n1,b,2\n0.25,a,1\n0,b,4\n-0.5,b,3.5\n", score.ModelOptions{Mechanism: sem.Mixed})
	parents := []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(0, 1)}
	thetas := [][]float64{{0.3, math.Log(0.8)}, {0.4, -1.1}, {0.2, 0.5, 0.9, math.Log(0.6)}}
	effects := map[string]Effect{}
	d := score.Sample{}
	for range 200 {
		d.Parents, d.Thetas = append(d.Parents, parents), append(d.Thetas, thetas)
	}
	list, err := TotalEffects(p, t.Context(), d, 200, 1)
	require.NoError(t, err)
	for _, e := range list {
		require.InDelta(t, 1, float64(e.Prob), 1e-12)
		effects[e.From+e.To] = e
	}
	require.Len(t, effects, 3)
	// the contrast of the two levels a and b has the values ±1/√2; side is the value of level b
	side := p.MixedTable().Contrasts[1][1][0]
	odds := func(x float64) float64 { return 1 / (1 + math.Exp(-2*side*(0.4-1.1*x))) } // probability of level b
	set := settings(p, 0)
	shift := odds(set[1].value) - odds(set[0].value)
	k := effects["xk"].Changes
	require.Len(t, k, 1)
	require.Equal(t, "b", k[0].To)
	require.InDelta(t, shift, float64(k[0].Mean), 1e-12)
	y := effects["ky"].Changes
	require.Len(t, y, 1)
	require.Equal(t, Change{From: "b", Reference: "a"}, Change{From: y[0].From, Reference: y[0].Reference, To: y[0].To})
	require.InDelta(t, 2*side*0.9*p.Data.Scale[2], float64(y[0].Mean), 1e-9)
	// the direct effect of x on y plus its effect through k, simulated with 200 draws of 100 rows
	slope := 0.5 + 2*side*0.9*shift/(set[1].value-set[0].value)
	require.InDelta(t, slope*p.Data.Scale[2]/p.Data.Scale[0], float64(effects["xy"].Mean), 0.03)
	require.Nil(t, effects["xy"].Changes)
}
