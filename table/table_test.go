package table

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ExampleTable_Lookup() {
	t, err := Parse("trees.csv", []byte("height,species\n12.5,oak\n9,ash\n"))
	if err != nil {
		panic(err)
	}
	height, _ := t.Lookup("height")
	fmt.Println(height.Values)
	_, err = t.Lookup("hieght")
	fmt.Println(err)
	// Output:
	// [12.5 9]
	// trees.csv: no column "hieght"; the nearest is "height"
}

func TestLookupSuggests(t *testing.T) {
	table := parse(t, "map,tc,ldl,hdl,LTG\n1,2,3,4,5\n")
	for name, want := range map[string]string{
		"Map":    `no column "Map"; the nearest is "map"`,
		"tcl":    `the nearest is "tc"`,
		"mpa":    `the nearest is "map"`,
		"ldk":    `the nearest are "ldl"`,
		"bdl":    `the nearest are "ldl", "hdl"`,
		"ltg":    `the nearest is "LTG"`,
		"target": `the columns are "map", "tc", "ldl", "hdl", "LTG"`,
	} {
		_, err := table.Lookup(name)
		require.Error(t, err)
		if name == "ldk" {
			assert.Contains(t, err.Error(), `"ldl"`)
			continue
		}
		assert.Contains(t, err.Error(), want)
	}
}

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"übung", "ubung", 1}} {
		assert.Equal(t, test.want, editDistance(test.a, test.b), test)
		assert.Equal(t, test.want, editDistance(test.b, test.a), test)
	}
}

func TestDropMissing(t *testing.T) {
	table := parse(t, "x,g,z,bad\n1,a,NA,1\nNA,b,2,q\n3,NA,3,2\n4,c,4,3\n")
	missing, err := table.Missing([]string{"g", "z", "x"})
	require.NoError(t, err)
	assert.Equal(t, []MissingCount{{"g", 1}, {"z", 1}, {"x", 1}}, missing)

	_, _, err = table.Complete([]string{"g", "x"}, false)
	require.EqualError(t, err, `data.csv: missing values in 2 of 2 used columns (of 4 rows): "g" 1, "x" 1`)
	var refused *MissingError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, 2, refused.Complete)
	assert.False(t, refused.Empty())
	same, none, err := table.Complete([]string{}, false)
	require.NoError(t, err)
	assert.Same(t, table, same)
	assert.Zero(t, none)
	left, out, err := table.Complete([]string{"x", "g"}, true)
	require.NoError(t, err)
	assert.Equal(t, 2, out)
	assert.Equal(t, 2, left.Rows())
	_, _, err = parse(t, "a,b,c\nNA,1,1\n2,NA,1\n").Complete([]string{"a", "b", "c"}, true)
	require.EqualError(t, err, `data.csv: missing values in 2 of 3 used columns (of 2 rows): "a" 1, "b" 1; no row has all values`)
	_, _, err = parse(t, "a,b\nNA,1\n,NA\n").Complete([]string{"a", "b"}, true)
	require.EqualError(t, err, `data.csv: missing values in 2 of 2 used columns (of 2 rows): "a" 2 (it has no value at all: exclude it), "b" 1`)

	kept, dropped, err := table.DropMissing([]string{"x", "g"})
	require.NoError(t, err)
	assert.Equal(t, 2, dropped)
	assert.Equal(t, []float64{1, 4}, lookup(t, kept, "x").Values)
	assert.Equal(t, []string{"a", "c"}, lookup(t, kept, "g").Levels, "level b has no row left")
	assert.Equal(t, []int{0, 1}, lookup(t, kept, "g").Codes)
	assert.Equal(t, 1, lookup(t, kept, "z").Missing)
	assert.Equal(t, "line 5", kept.Place(1))
	assert.Equal(t, 4, table.Rows(), "the receiver is unchanged")

	_, err = kept.Lookup("bad")
	require.ErrorContains(t, err, `line 3, column "bad"`)
	_, _, err = table.DropMissing([]string{"bad"})
	require.Error(t, err)
}

func TestAsFactor(t *testing.T) {
	table := parse(t, "k\n10\n2\nNA\n10\n-1.5\n")
	f := lookup(t, table, "k").AsFactor()
	assert.Equal(t, []string{"-1.5", "2", "10"}, f.Levels)
	assert.Equal(t, []int{2, 1, -1, 2, 0}, f.Codes)
	assert.Equal(t, 1, f.Missing)
	assert.Same(t, f, f.AsFactor())
}

func TestKindString(t *testing.T) {
	assert.Equal(t, "numeric", Numeric.String())
	assert.Equal(t, "factor", Factor.String())
	assert.Equal(t, "table.Kind(7)", Kind(7).String())
}
