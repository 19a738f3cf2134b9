package sem

import (
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
)

// The mask marks exactly the parameters that a node with its parents uses, with biases and without,
// and with known and unknown noise.
func TestMasks(t *testing.T) {
	l := Layout{Nodes: 3, Mechanism: MLP, Hidden: 2, Bias: true}
	require.Equal(t, 3*2+2+2+1+1, l.Dim())
	on := func(f dgraph.Family) (list []int) {
		for k, used := range l.Mask(f) {
			if used {
				list = append(list, k)
			}
		}
		return list
	}
	require.Equal(t, []int{11}, on(dgraph.Family{Node: 1}), "only log σ")
	require.Equal(t, []int{2, 3, 6, 7, 8, 9, 10, 11}, on(dgraph.Family{Node: 0, Parents: dgraph.SetOf(1)}))
	l.Sigma, l.Bias = 1, false
	require.Empty(t, on(dgraph.Family{Node: 1}))
	require.Equal(t, []int{0, 1, 4, 5, 6, 7}, on(dgraph.Family{Node: 1, Parents: dgraph.SetOf(0, 2)}))
	l.Mechanism = Linear
	require.Equal(t, []int{0, 2}, on(dgraph.Family{Node: 1, Parents: dgraph.SetOf(0, 2)}))
}
