package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
)

func TestSets(t *testing.T) {
	s := dgraph.SetOf(3, 64, 127)
	require.Equal(t, []int{3, 64, 127}, s.List())
	require.Equal(t, 3, s.Len())
	require.True(t, s.Has(64))
	require.Equal(t, dgraph.SetOf(3, 127), s.Without(64))
	require.Equal(t, s, s.Toggle(5).Toggle(5))
	require.True(t, dgraph.SetOf(127).Within(s))
	require.False(t, dgraph.SetOf(126).Within(s))
	require.Equal(t, dgraph.SetOf(64), s.And(dgraph.SetOf(64, 65)))
	require.Equal(t, dgraph.SetOf(3), s.Minus(dgraph.SetOf(64, 127)))
	require.Negative(t, dgraph.SetOf(70).Compare(dgraph.SetOf(71)))
	require.Negative(t, dgraph.SetOf(127).Compare(dgraph.SetOf(0, 1)))
	require.Nil(t, dgraph.FromParents([]dgraph.Set{{}, dgraph.SetOf(0)}).Cycle())
	require.NotNil(t, dgraph.FromParents([]dgraph.Set{dgraph.SetOf(1), dgraph.SetOf(0)}).Cycle())
}
