package table

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStack(t *testing.T) {
	first, err := Parse("old.csv", []byte("x,f,y\n1,a,3\n2,b,4\n"))
	require.NoError(t, err)
	second, err := Parse("new.csv", []byte("f,x,z\nc,7,1\na,8,2\n"))
	require.NoError(t, err)
	both, err := Stack(first, second, []string{"x", "f"})
	require.NoError(t, err)
	assert.Equal(t, 4, both.Rows())
	x, err := both.Lookup("x")
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 7, 8}, x.Values)
	f, err := both.Lookup("f")
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, f.Levels)
	assert.Equal(t, []int{0, 1, 2}, f.newLabels())
	_, err = both.CheckSeen(f, 2, false)
	require.EqualError(t, err, `new.csv: column "f" has labels that the run has not seen: "c" in line 2`)
	assert.Equal(t, "line 2", both.Place(2), "of its own table")

	_, err = Stack(first, second, []string{"x", "y"})
	require.ErrorContains(t, err, `new.csv: no column "y"`)
	_, err = Stack(first, second.With(Texts("x", []string{"one", "two"})), []string{"x"})
	require.ErrorContains(t, err, `column "x": got text ("one" in line 2), want numbers as in old.csv`)
	// Labels of the first table that look like numbers in the second stay labels.
	labelled, err := Stack(first, second.With(Numbers("f", []float64{3, 4})), []string{"f"})
	require.NoError(t, err)
	f, err = labelled.Lookup("f")
	require.NoError(t, err)
	assert.Equal(t, []string{"3", "4", "a", "b"}, f.Levels)
	// Numbers of the first table that are quoted in the second stay numbers.
	quoted, err := Parse("new.csv", []byte("x,z\n\"7\",1\nNA,2\n\"8.5\",3\n"))
	require.NoError(t, err)
	both, err = Stack(first, quoted, []string{"x"})
	require.NoError(t, err)
	x, err = both.Lookup("x")
	require.NoError(t, err)
	assert.Equal(t, Numeric, x.Kind)
	assert.Equal(t, 1, x.Missing)
	assert.Equal(t, []float64{7, 8.5}, []float64{x.Values[2], x.Values[4]})
	assert.Panics(t, func() { second.With(Numbers("f", []float64{3})) })
}
