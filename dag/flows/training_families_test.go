package flows

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/testkit"
)

// The map from uniforms to families is exact: over an even grid of uniforms each family gets its
// probability to within the grid's spacing. Every family has some, nodes have equal shares of the
// even half, and LogProb agrees.
func TestDesign(t *testing.T) {
	s := dgraph.FreeStructure(4)
	s.MaxParents = 2
	families := s.Families()
	random := rand.New(rand.NewPCG(1, 2))
	guess := make([]float64, len(families))
	for i := range guess {
		guess[i] = random.ExpFloat64()
	}
	var byNode [4]float64
	for i, f := range families {
		byNode[f.Node] += guess[i]
	}
	for i, f := range families {
		guess[i] /= byNode[f.Node]
	}
	d := NewDesign(families, guess)
	const count = 100_000
	uniforms := make([][]float64, count)
	for i := range uniforms {
		uniforms[i] = []float64{(float64(i) + 0.5) / count}
	}
	outputs, err := graph.MustNewExec(testkit.Backend(t), func(u *graph.Node) (*graph.Node, *graph.Node) {
		codes := d.Sample(nil, u)
		return codes, d.LogProb(nil, codes)
	}).Exec(uniforms)
	require.NoError(t, err)
	share, nodes := make([]float64, len(families)), make([]float64, 4)
	logProbs := outputs[1].Value().([]float64)
	for i, code := range outputs[0].Value().([][]int32) {
		share[code[0]] += 1.0 / count
		nodes[families[code[0]].Node] += 1.0 / count
		require.Equal(t, d.logProb[code[0]], logProbs[i])
	}
	for i := range families {
		require.InDelta(t, math.Exp(d.logProb[i]), share[i], 2*float64(len(families))/count)
		require.Positive(t, share[i])
	}
	require.InDeltaSlice(t, []float64{0.25, 0.25, 0.25, 0.25}, nodes, 0.005)
}
