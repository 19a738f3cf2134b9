package varsel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/exact"
)

// Columns p and q are the two columns of poly(x, 2) in R 4.2, to 15 digits.
const formulaTable = `y,x,z,f,p,q,n
1,1,4,a,-0.441611780141717,0.497302402411723,1
2,3,2.5,b,-0.180988434484310,-0.179944948241186,2
4,2,8,a,-0.311300107313014,0.100878228559967,1
3,5,1,c,0.0796349111731,-0.394788310686970,3
6,4,3,b,-0.0506767616556,-0.345167127989630,2
5,7.5,0.5,c,0.405414093246016,-0.0130869053266,1
2,2,6,a,-0.311300107313014,0.100878228559967,4
7,9,7,b,0.600881602488,0.562736929046,1
1,6,5,c,0.209946584002,-0.328808496332,2
`

// evidences returns the log evidences of all models of a table, with the names of the predictors.
func evidences(t *testing.T, data *table.Table, options DesignOptions, model ModelOptions) (names []string, logs []float64) {
	t.Helper()
	design, err := NewDesign(data, options)
	require.NoError(t, err)
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	var codes [][]int32
	for _, code := range space.All(problem.Posterior().Space().Cards()) {
		codes = append(codes, slices.Clone(code))
	}
	logs, err = problem.forms().LogEvidences(t.Context(), codes)
	require.NoError(t, err)
	return design.PredictorNames(), logs
}

// Models of the terms of a formula have the same evidences as models of the columns, groups and
// interactions that the terms describe.
func TestFormulasAreColumnsGroupsAndInteractions(t *testing.T) {
	data := parseTable(t, formulaTable)
	for text, by := range map[string]DesignOptions{
		"y ~ poly(x, 2) + z": {Target: "y", Exclude: []string{"x", "f", "n"}, Groups: []PredictorGroup{{Name: "poly", Columns: []string{"p", "q"}}}},
		"y ~ z*x + f":        {Target: "y", Exclude: []string{"p", "q", "n"}, Interactions: []string{"x:z"}},
		"y ~ factor(n) + x":  {Target: "y", Exclude: []string{"z", "f", "p", "q"}, Factors: []string{"n"}},
		"y ~ . - p - f - n":  {Target: "y", Exclude: []string{"p", "f", "n"}},
		"y ~ 0 + x + z":      {Target: "y", Exclude: []string{"f", "p", "q", "n"}, NoIntercept: true},
	} {
		options, err := DesignOptions{}.WithFormula(text)
		require.NoError(t, err)
		for _, slab := range []exact.Slab{{}, {Kind: exact.FixedG, Rows: true}} {
			want, wanted := evidences(t, data, by, ModelOptions{Slab: slab})
			got, logs := evidences(t, data, options, ModelOptions{Slab: slab})
			require.Len(t, got, len(want), "%s: %q and %q", text, got, want)
			slices.Sort(logs) // terms are in another order than columns
			slices.Sort(wanted)
			assert.InDeltaSlice(t, wanted, logs, 1e-7, text)
		}
	}
}

// The columns of a factor span the same space under any reference level or contrasts. Under a
// g-prior the evidence of a model does then not depend on the coding.
func TestCodingsSpanTheSameSpace(t *testing.T) {
	data, model := parseTable(t, formulaTable), ModelOptions{Slab: exact.Slab{Kind: exact.FixedG, Rows: true}}
	var first []float64
	for _, f := range []string{"f", "C(f, sum)", "C(f, helmert)", `C(f, reference="c")`} {
		options, err := DesignOptions{}.WithFormula("y ~ x*" + f)
		require.NoError(t, err)
		names, logs := evidences(t, data, options, model)
		require.Len(t, names, 3)
		if first == nil {
			first = logs
		}
		// The columns of x:f span the same space only if x and f are in the model too.
		for i, code := range space.All([]int{2, 2, 2}) {
			if code[2] == 0 || code[0]+code[1] == 2 {
				assert.InDelta(t, first[i], logs[i], 1e-9, f)
			}
		}
	}
}

func TestFormulaHeredity(t *testing.T) {
	data := parseTable(t, formulaTable)
	options, err := DesignOptions{Always: []string{"z"}}.WithFormula("y ~ x*f + x:z + z")
	require.NoError(t, err)
	design, err := NewDesign(data, options)
	require.NoError(t, err)
	assert.Equal(t, []string{"x", "f", "x:f", "x:z"}, design.PredictorNames())
	assert.Equal(t, []int{0, 1}, design.Predictors[2].Parents)
	assert.Equal(t, []int{0}, design.Predictors[3].Parents)
	assert.True(t, design.Predictors[3].AlwaysParent)
	assert.Len(t, design.Predictors[2].Coordinates, 2)
	options, err = DesignOptions{}.WithFormula("y ~ x*z*q")
	require.NoError(t, err)
	design, err = NewDesign(data, options)
	require.NoError(t, err)
	_, err = NewProblem(design, ModelOptions{})
	require.ErrorContains(t, err, "x:z:q is a product of three columns: got heredity ")
	_, err = NewProblem(design, ModelOptions{Heredity: NoHeredity})
	require.NoError(t, err)
}
