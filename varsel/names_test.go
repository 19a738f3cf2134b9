package varsel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

// A column may have the name of the intercept, of the noise scale, of a level of a factor, or of a
// position in a list. It keeps its prior and has a separate row in the results.
func TestColumnsWithNamesOfOthers(t *testing.T) {
	source := correlatedColumns(30, 4)
	data, err := table.New("names",
		table.Numbers("y", source[0]), table.Numbers("(Intercept)", source[1]), table.Numbers("sigma", source[2]),
		table.Texts("g", slices.Repeat([]string{"a", "b", "b"}, 10)), table.Numbers("g=b", source[3]), table.Numbers("coef.1", source[4]))
	require.NoError(t, err)
	for _, model := range []ModelOptions{{}, {Prior: Prior{MaxSize: 2}, Codes: ListCodes}} {
		design, err := NewDesign(data, DesignOptions{Target: "y", Always: []string{"coef.1"}})
		require.NoError(t, err)
		problem, err := NewProblem(design, model)
		require.NoError(t, err)
		require.Equal(t, []string{"((Intercept))", "coef.1", "(Intercept)", "sigma", "g=b", "(g=b)"}, design.Names)
		require.Equal(t, 0, design.Intercept)
		for j, sd := range problem.Target.SD[:design.Dim()] {
			require.Equal(t, map[bool]float64{true: interceptSD, false: 1.5}[j == 0], sd, design.Names[j])
		}
		names := problem.coordinateNames()
		require.Contains(t, names, "(sigma)")
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "%q", names)

		exact, err := RunExact(t.Context(), problem, nil, "")
		require.NoError(t, err)
		var rows []string
		for _, c := range exact.Coefficients {
			rows = append(rows, c.Name)
		}
		require.Equal(t, append(slices.Clone(design.Names), "(sigma)"), rows)
		intercept := exact.Coefficients[0]
		require.InDelta(t, stat.Mean(source[0], nil), float64(intercept.MeanGivenIn), 3*float64(intercept.SDGivenIn))
	}
}

// correlatedColumns returns n columns after a column that depends on the first of them.
func correlatedColumns(rows, n int) [][]float64 {
	random := stream.Rand(1, "names")
	columns := make([][]float64, n+1)
	for j := range columns {
		columns[j] = stream.Normals(random, rows)
	}
	for i := range rows {
		columns[0][i] += 2 * columns[1][i]
	}
	return columns
}
