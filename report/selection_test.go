package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/varsel"
)

// TestCoefficientOrder checks that coefficients are in the order of their predictors, after the
// coefficients that are in every model.
func TestCoefficientOrder(t *testing.T) {
	v := &selection{
		result: &varsel.Result{Data: varsel.DataSummary{Predictors: []string{"a", "a=b", "c"}}},
		order:  []int{2, 1, 0}, places: map[string]int{"a": 0, "a=b": 1, "c": 2},
	}
	predictorOf := map[string]string{"a=x": "a", "a=b": "a=b", "a=b=c": "a=b", "c": "c", "a=y=z": "a"}
	for _, name := range []string{"(intercept)", "a=x", "a=b", "a=b=c", "c", "cc", "a=y=z"} {
		v.result.Coefficients = append(v.result.Coefficients, varsel.Coefficient{Name: name, Predictor: predictorOf[name]})
	}
	require.Equal(t, []int{0, 5, 4, 2, 3, 1, 6}, v.coefficientOrder())
}

// A few predictors are shown in the order of the table. Of many predictors a terminal shows only
// the most probable.
func TestOrderOfPredictors(t *testing.T) {
	rows := func(probabilities ...varsel.Number) *document.Table {
		r := &varsel.Result{}
		for k, p := range probabilities {
			name := fmt.Sprint("x", k)
			r.Data.Predictors = append(r.Data.Predictors, name)
			r.Inclusion = append(r.Inclusion, varsel.Inclusion{Name: name, Certified: p})
			r.Coefficients = append(r.Coefficients, varsel.Coefficient{Name: name, Predictor: name})
		}
		sections := selectionDocument(&source{}, r).Sections
		return sections[slices.IndexFunc(sections, func(s *document.Section) bool { return s.ID == "coefficients" })].Tables[0]
	}
	first := func(t *document.Table) (names []string) {
		for _, row := range t.Rows[1:4] {
			names = append(names, row[0])
		}
		return names
	}
	few := rows(0.1, 0.9, 0.5)
	require.Equal(t, []string{"x0", "x1", "x2"}, first(few))
	require.Zero(t, few.Printed)
	many := make([]varsel.Number, 100)
	many[70], many[20], many[5] = 0.3, 0.9, 0.3
	table := rows(many...)
	require.Equal(t, []string{"x20", "x5", "x70"}, first(table))
	require.Equal(t, printedPredictors, table.Printed)
}
