package flows

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/testkit"
	"github.com/transdim/vti/space"
)

// The map from uniforms to families is exact: over an even grid of uniforms each family gets its
// probability to within the grid's spacing. Every family has some, nodes have equal shares of the
// even half.
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
	d := NewDesign(families, 4, guess)
	const count = 4_000
	uniforms := make([][]float64, count)
	for i := range uniforms {
		uniforms[i] = []float64{(float64(i) + 0.5) / count, 0, 0, 0, 0}
	}
	outputs, err := graph.MustNewExec(testkit.Backend(t), func(u *graph.Node) (*graph.Node, *graph.Node) {
		codes := d.Sample(nil, u)
		return codes, d.LogProb(nil, codes)
	}).Exec(uniforms)
	require.NoError(t, err)
	place := map[string]int{}
	for i, f := range families {
		place[space.Key(codeOf(4, f))] = i
	}
	share, nodes := make([]float64, len(families)), make([]float64, 4)
	for i, code := range outputs[0].Value().([][]int32) {
		family, known := place[space.Key(code)]
		require.True(t, known, code)
		share[family] += 1.0 / count
		nodes[code[0]] += 1.0 / count
		require.Zero(t, outputs[1].Value().([]float64)[i])
	}
	// by number of parents half of the draws are even
	even := map[int]float64{0: 1, 1: 3, 2: 3}
	for i, f := range families {
		want := (1/(3*even[f.Parents.Len()]) + guess[i]) / 8
		require.InDelta(t, want, share[i], 2*float64(len(families))/count)
	}
	require.InDeltaSlice(t, []float64{0.25, 0.25, 0.25, 0.25}, nodes, 0.005)
}
