package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/varsel"
)

// Coefficients belong to the predictor of their name, or to the longest name that they are a level
// of, and are in the order of the predictors, those that are always in first.
func TestCoefficientOrder(t *testing.T) {
	v := &selection{
		result: &varsel.Result{Data: varsel.DataSummary{Predictors: []string{"a", "a=b", "c"}}},
		order:  []int{2, 1, 0}, places: map[string]int{"a": 0, "a=b": 1, "c": 2},
	}
	of := map[string]int{"(intercept)": -1, "a=x": 0, "a=b": 1, "a=b=c": 1, "c": 2, "cc": -1, "a=y=z": 0}
	for _, name := range []string{"(intercept)", "a=x", "a=b", "a=b=c", "c", "cc", "a=y=z"} {
		require.Equal(t, of[name], v.predictorOf(varsel.Coefficient{Name: name}), name)
		v.result.Coefficients = append(v.result.Coefficients, varsel.Coefficient{Name: name})
	}
	require.Equal(t, []int{0, 5, 4, 2, 3, 1, 6}, v.coefficientOrder())
}
