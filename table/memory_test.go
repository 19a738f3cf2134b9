package table_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

func ExampleNew() {
	t, err := table.New("trees",
		table.Numbers("height", []float64{12.5, 9, math.NaN()}),
		table.Texts("species", []string{"oak", "ash", "oak"}))
	if err != nil {
		panic(err)
	}
	species, _ := t.Lookup("species")
	fmt.Println(t.Rows(), t.Names(), species.Levels, species.Codes)
	// Output: 3 [height species] [ash oak] [1 0 1]
}

// TestNewIsTheTableOfTheFile compares a table in memory with the table of a file with the same
// cells.
func TestNewIsTheTableOfTheFile(t *testing.T) {
	values, texts := []float64{1, math.NaN(), 2.5}, []string{"b", "NA", "a"}
	made, err := table.New("memory", table.Numbers("x", values), table.Texts("g", texts))
	require.NoError(t, err)
	read, err := table.Parse("file", []byte("x,g\n1,b\nNA,NA\n2.5,a\n"))
	require.NoError(t, err)
	for _, name := range made.Names() {
		m, err := made.Lookup(name)
		require.NoError(t, err)
		r, err := read.Lookup(name)
		require.NoError(t, err)
		require.Equal(t, r.Missing, m.Missing)
		require.Equal(t, r.Levels, m.Levels)
		for row := range made.Rows() {
			assert.Equal(t, r.Text(row), m.Text(row))
		}
	}
	assert.Equal(t, "row 2", made.Place(1))
	values[0], texts[0] = 7, "c"
	x, _ := made.Lookup("x")
	assert.Equal(t, 1.0, x.Values[0], "the caller's slice is the caller's")

	kept, dropped, err := made.DropMissing([]string{"x"})
	require.NoError(t, err)
	assert.Equal(t, 1, dropped)
	assert.Equal(t, "row 3", kept.Place(1))
}

func TestNewFingerprint(t *testing.T) {
	print := func(columns ...*table.Column) string {
		made, err := table.New("t", columns...)
		require.NoError(t, err)
		return made.Fingerprint
	}
	base := print(table.Numbers("x", []float64{1, 2}), table.Texts("g", []string{"a", "b"}))
	assert.Equal(t, base, print(table.Numbers("x", []float64{1, 2}), table.Texts("g", []string{"a", "b"})))
	for _, other := range []string{
		print(table.Numbers("x", []float64{1, 3}), table.Texts("g", []string{"a", "b"})),
		print(table.Numbers("x", []float64{1, math.NaN()}), table.Texts("g", []string{"a", "b"})),
		print(table.Numbers("z", []float64{1, 2}), table.Texts("g", []string{"a", "b"})),
		print(table.Numbers("x", []float64{1, 2}), table.Texts("g", []string{"ab", "b"})),
		print(table.Texts("g", []string{"a", "b"}), table.Numbers("x", []float64{1, 2})),
	} {
		assert.NotEqual(t, base, other)
	}
}

func TestNewRefuses(t *testing.T) {
	x := table.Numbers("x", []float64{1, 2})
	for want, columns := range map[string][]*table.Column{
		"got no columns": nil,
		`got 1 row in column "g", want 2 as in column "x"`:   {x, table.Texts("g", []string{"a"})},
		"column 2 of 2 has no name":                          {x, table.Numbers("", []float64{1, 2})},
		`the name "x" stands for both column 1 and column 2`: {x, table.Texts("x", []string{"a", "b"})},
		`row 2, column "y": got +Inf, want a finite number`:  {x, table.Numbers("y", []float64{1, math.Inf(1)})},
		"want at least one row":                              {table.Numbers("x", nil)},
	} {
		_, err := table.New("t", columns...)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "t: ")
	}
}
