package score

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

func tableOf(t *testing.T, names []string, rows [][]float64) *table.Table {
	t.Helper()
	parsed, err := table.Parse("test.csv", []byte(csvOf(names, rows)))
	require.NoError(t, err)
	return parsed
}

func chainData(t *testing.T, rows int, options tables.DataOptions) *tables.Data {
	t.Helper()
	d, err := tables.NewData(tableOf(t, []string{"a", "b", "c"}, chainRows(rows)), options)
	require.NoError(t, err)
	return d
}

func chainRows(rows int) [][]float64 {
	random := rand.New(rand.NewPCG(11, 12))
	values := make([][]float64, rows)
	for i := range values {
		a := random.NormFloat64()
		b := 0.8*a + random.NormFloat64()
		values[i] = []float64{a, b, -0.7*b + random.NormFloat64()}
	}
	return values
}

func csvLine(row []float64) string {
	var cells []string
	for _, x := range row {
		cells = append(cells, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return strings.Join(cells, ",")
}

func csvOf(names []string, rows [][]float64) string {
	var text strings.Builder
	text.WriteString(strings.Join(names, ",") + "\n")
	for _, row := range rows {
		text.WriteString(csvLine(row) + "\n")
	}
	return text.String()
}

func randomOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func sampleOf(t testing.TB, p *Posterior, random *rand.Rand, count int) []Draw {
	t.Helper()
	draws, err := p.Sample(context.Background(), random, count)
	require.NoError(t, err)
	return draws
}

func mixedTable(t *testing.T, text string, model ModelOptions) *Problem {
	t.Helper()
	parsed, err := table.Parse("mixed.csv", []byte(text))
	require.NoError(t, err)
	var options tables.DataOptions
	if slices.Contains(parsed.Names(), "set") {
		options.Intervened = "set"
	}
	d, err := tables.NewData(parsed, options)
	require.NoError(t, err)
	p, err := NewProblem(d, model, tables.Constraints{})
	require.NoError(t, err)
	return p
}
