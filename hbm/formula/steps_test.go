package formula

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

func TestStepsInFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"y ~ mo(x)":                               "y ~ 1 + mo(x)",
		"y ~ mo(`a b`) + z + (1|g)":               "y ~ 1 + mo(`a b`) + z + (1 | g)",
		`y ~ mo(x, 'low', "a 'b'") - 1`:           `y ~ 0 + mo(x, "low", "a 'b'")`,
		`y ~ mo(x, "0", "1", "2") + mo(z) + s(v)`: `y ~ 1 + mo(x, "0", "1", "2") + mo(z) + v + s(v)`,
		"y ~ mo + z":                              "y ~ 1 + mo + z",
	} {
		f, err := Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, f.String())
		again, err := Parse(f.String())
		require.NoError(t, err)
		assert.Equal(t, f.String(), again.String())
	}
	for text, want := range map[string]string{
		"y ~ mo(x)*z":               "mo(x) stands as a population term of its own",
		"y ~ z + (mo(x) | g)":       "mo(x) stands as a population term of its own",
		"y ~ s(mo(x))":              "mo(x) stands as a population term of its own",
		"y ~ offset(mo(x))":         "mo(x) stands as a population term of its own",
		"mo(y) ~ x":                 "mo(y) stands as a population term of its own",
		"y ~ z + (1 | mo(g))":       "a group is a column as it is, without mo()",
		"y ~ mo(x, 3)":              `got "3", want labels in quotes from the lowest to the highest`,
		`y ~ mo(x, "a")`:            "one label has no order",
		`y ~ mo(x, "a", "a")`:       `label "a" twice`,
		`y ~ mo(x) + mo(x, "1")`:    "one label has no order",
		`y ~ mo(x) + mo(x,"1","2")`: "mo(x) twice",
	} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, want, text)
	}
	f, err := Parse(`y ~ mo(x, "low", "high")`)
	require.NoError(t, err)
	assert.Equal(t, []string{"low", "high"}, f.Terms[1][0].Order())
	assert.Equal(t, []string{"x"}, f.Labels())
	assert.Equal(t, "mo(x)", f.Terms[1].Name())
	assert.True(t, f.Terms[1].Monotonic())
	assert.False(t, f.Terms[0].Monotonic())
}

// An ordered predictor has a column for each step, also if a value has no rows. Rows to be
// predicted may have values between two whole numbers.
func TestStepColumns(t *testing.T) {
	data, err := table.Parse("data.csv", []byte("x,l,c\n2,mid,1\n5,low,1\n3,mid,1\n2,high,1\n3.5,low,1\n"))
	require.NoError(t, err)
	columns := func(text string, seen int) ([]Column, error) {
		f, err := Parse("y ~ " + text)
		require.NoError(t, err)
		return f.Terms[1].Expand(data, f.Terms, seen, false)
	}
	got, err := columns("mo(x)", 4)
	require.NoError(t, err)
	assert.Equal(t, []Column{
		{Name: "mo(x)", Values: []float64{0, 1, 1, 0, 1}, Step: "2 to 3"},
		{Name: "mo(x)", Values: []float64{0, 1, 0, 0, 0.5}, Step: "3 to 4"},
		{Name: "mo(x)", Values: []float64{0, 1, 0, 0, 0}, Step: "4 to 5"},
	}, got)
	got, err = columns(`mo(l, "none", "low", "mid", "high")`, 5)
	require.NoError(t, err)
	assert.Equal(t, []Column{
		{Name: "mo(l)", Values: []float64{1, 1, 1, 1, 1}, Step: "none to low"},
		{Name: "mo(l)", Values: []float64{1, 0, 1, 1, 0}, Step: "low to mid"},
		{Name: "mo(l)", Values: []float64{0, 0, 0, 1, 0}, Step: "mid to high"},
	}, got)
	for text, want := range map[string]string{
		"mo(x)":                "line 6: mo(x): got 3.5, want a whole number",
		"mo(l)":                `column "l" holds labels, ["high" "low" "mid"], whose order is not known: want mo(l, "lowest", …, "highest")`,
		`mo(l, "low", "high")`: `line 2: mo(l, "low", "high"): got "mid", want one of ["low" "high"]`,
		"mo(c)":                `column "c" is 1 in every row`,
		`mo(c, "0", "1", "2")`: `column "c" is 1 in every row`,
	} {
		_, err := columns(text, 5)
		assert.ErrorContains(t, err, want)
	}
	_, err = columns("mo(x)", 1)
	assert.ErrorContains(t, err, `column "x" is 2 in every row`)
	_, err = columns("mo(x)", 3)
	require.NoError(t, err)
	data, err = table.Parse("data.csv", []byte("x\n1\n3\n4\n"))
	require.NoError(t, err)
	_, err = columns("mo(x)", 2)
	assert.ErrorContains(t, err, "line 4: mo(x): 4 lies beyond the values seen, 1 to 3")
	data, err = table.Parse("data.csv", []byte("x\n1\n40\n"))
	require.NoError(t, err)
	_, err = columns("mo(x)", 2)
	assert.ErrorContains(t, err, "39 steps from 1 to 40, want at most 20")
}
