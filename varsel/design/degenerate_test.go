package design

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
)

const degenerate = "one,a,b,twice,minus,f,flag,y\n" +
	"1,1,2,5,-1,u,0,3\n" +
	"1,2,5,7,-2,v,1,4\n" +
	"1,4,3,11,-4,u,0,1\n" +
	"1,5,1,13,-5,v,1,7\n"

func TestDegenerate(t *testing.T) {
	data := parseTable(t, degenerate)
	_, err := New(data, Options{Target: "y"})
	require.EqualError(t, err, `data.csv: predictors that carry no information: "one" is constant; "twice" is "a" up to shift and scale; `+
		`"minus" is "a" up to shift and scale; "flag" is "f=v" up to shift and scale; exclude them or drop degenerate columns`)

	d, err := New(data, Options{Target: "y", DropDegenerate: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "f"}, d.PredictorNames())
	require.Len(t, d.Dropped, 4)
	assert.Equal(t, Dropped{Name: "one", Reason: "is constant"}, d.Dropped[0])

	// Of two equal columns, an always-in column stays, and an earlier selectable column is dropped.
	d, err = New(data, Options{Target: "y", DropDegenerate: true, Always: []string{"minus"}, Exclude: []string{"twice"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "f"}, d.PredictorNames())
	assert.Equal(t, []string{"(Intercept)", "minus"}, d.Names[:2])
	assert.Equal(t, `is "minus" up to shift and scale`, d.Dropped[1].Reason)
}

// If there are many degenerate columns, an error names only the first of them.
func TestManyDegenerateColumns(t *testing.T) {
	text := "y"
	for k := range 20 {
		text += fmt.Sprintf(",x%d", k)
	}
	for row := range 3 {
		text += fmt.Sprintf("\n%d%s", row*row, strings.Repeat(fmt.Sprintf(",%d", row), 20))
	}
	_, err := New(parseTable(t, text+"\n"), Options{Target: "y"})
	require.ErrorContains(t, err, `"x6" is "x0" up to shift and scale; and 13 more; exclude them`)
}

func TestDegenerateOnes(t *testing.T) {
	data := parseTable(t, degenerate)
	rest := []string{"twice", "minus", "flag"}
	_, err := New(data, Options{Target: "y", Always: []string{"one"}, Exclude: rest})
	require.ErrorContains(t, err, `"one" is constant, like the intercept; exclude them or drop degenerate columns (or leave out the intercept)`)
	_, err = New(data, Options{Target: "y", NoIntercept: true, Exclude: rest})
	require.ErrorContains(t, err, "a column of ones in place of the intercept must be always in")
	d, err := New(data, Options{Target: "y", NoIntercept: true, Always: []string{"one"}, Exclude: rest})
	require.NoError(t, err)
	assert.Zero(t, d.Scaling.Level)

	// Without a constant column, scaled copies are duplicates, and shifted copies are not.
	d, err = New(data, Options{Target: "y", NoIntercept: true, Exclude: []string{"one", "minus", "flag"}})
	require.NoError(t, err)
	assert.Equal(t, -1, d.Scaling.Level)
	_, err = New(data, Options{Target: "y", NoIntercept: true, Exclude: []string{"one", "twice", "flag"}})
	require.ErrorContains(t, err, `"minus" is "a" up to scale`)

	constantFactor := parseTable(t, "a,f,y\n1,u,2\n2,u,3\n")
	_, err = New(constantFactor, Options{Target: "y"})
	require.ErrorContains(t, err, `"f" is constant`)
}

// TestDuplicatesAmongMany requires that exactly the planted copies are found, among more columns
// than rows.
func TestDuplicatesAmongMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, dim = 30, 400
	columns := make([][]float64, dim)
	for j := range columns {
		values := make([]float64, rows)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		columns[j] = values
	}
	want := make([]int, dim)
	for j := range want {
		want[j] = -1
	}
	for _, pair := range [][2]int{{3, 200}, {200, 399}, {17, 18}} {
		for i, v := range columns[pair[0]] {
			columns[pair[1]][i] = 1e5 - 37*v
		}
		want[pair[1]] = pair[0]
	}
	want[399] = 3 // a copy of a copy is reported as a copy of the first
	for i, v := range columns[50] {
		columns[51][i] = v + 1e-4*math.Sin(float64(i)) // close, but not a copy
	}
	for j := range columns {
		columns[j] = direction(columns[j], true)
	}
	assert.Equal(t, want, duplicates(columns))
}

func TestRealDataIsNotDegenerate(t *testing.T) {
	for name, opt := range map[string]Options{
		"diabetes.csv": {Target: "y"}, "hald.csv": {Target: "y"}, "uscrime.csv": {Target: "y"}, "ozone.csv": {Target: "O3"},
		"boston.csv": {Target: "medv"}, "prostate.csv": {Target: "lpsa", Exclude: []string{"train"}},
		"pima.csv":                {Target: "type", Likelihood: likelihood.LogisticKind, Exclude: []string{"train"}},
		"biochemists.csv":         {Target: "art", Likelihood: likelihood.PoissonKind},
		"robust_vs/high_1000.csv": {Target: "y", Likelihood: likelihood.RobustKind, NoIntercept: true, NoStandardize: true, Always: []string{"x0"}},
	} {
		d, err := New(readTable(t, name), opt)
		require.NoError(t, err, name)
		assert.Empty(t, d.Dropped)
		assert.NotEmpty(t, d.Predictors)
	}
	// With default options, the error names the column of ones of this data set.
	_, err := New(readTable(t, "robust_vs/high_1000.csv"), Options{Target: "y"})
	require.ErrorContains(t, err, `"x0" is constant`)
}

func BenchmarkDuplicates(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	columns := make([][]float64, 4000)
	for j := range columns {
		columns[j] = make([]float64, 100)
		for i := range columns[j] {
			columns[j][i] = rng.NormFloat64()
		}
		columns[j] = direction(columns[j], true)
	}
	for b.Loop() {
		duplicates(columns)
	}
}
