// Package dagtest provides small tables and problems that tests of several packages for graphs
// share.
package dagtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

// Table returns a table of numbers with the given column names.
func Table(t *testing.T, names []string, rows [][]float64) *table.Table {
	t.Helper()
	parsed, err := table.Parse("test.csv", []byte(CSV(names, rows)))
	require.NoError(t, err)
	return parsed
}

// Chain returns data of a chain a → b → c with noise of standard deviation 1.
func Chain(t *testing.T, rows int, options tables.DataOptions) *tables.Data {
	t.Helper()
	d, err := tables.NewData(Table(t, []string{"a", "b", "c"}, ChainRows(rows)), options)
	require.NoError(t, err)
	return d
}

// ChainRows returns random rows of the chain a → b → c.
func ChainRows(rows int) [][]float64 {
	random := rand.New(rand.NewPCG(11, 12))
	values := make([][]float64, rows)
	for i := range values {
		a := random.NormFloat64()
		b := 0.8*a + random.NormFloat64()
		values[i] = []float64{a, b, -0.7*b + random.NormFloat64()}
	}
	return values
}

// CSVLine returns a row as a line of a CSV file.
func CSVLine(row []float64) string {
	var cells []string
	for _, x := range row {
		cells = append(cells, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return strings.Join(cells, ",")
}

// CSV returns a CSV file of numbers.
func CSV(names []string, rows [][]float64) string {
	var text strings.Builder
	text.WriteString(strings.Join(names, ",") + "\n")
	for _, row := range rows {
		text.WriteString(CSVLine(row) + "\n")
	}
	return text.String()
}

// Random returns a source of random numbers.
func Random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Categories simulates categorical nodes with the graph a → b ← c → d and 2, 3, 2 and 4 levels. If
// interventions is true, b is set by an intervention in some rows and d in others, and a column
// "set" names the node that is set.
func Categories(t *testing.T, random *rand.Rand, rows int, interventions bool) *tables.Data {
	t.Helper()
	var text strings.Builder
	text.WriteString("a,b,c,d,set\n")
	for i := range rows {
		set := ""
		if interventions {
			set = []string{"", "", "b", "d"}[i%4]
		}
		a, c := random.IntN(2), random.IntN(2)
		b := (a + 2*c*random.IntN(2) + random.IntN(2)) % 3
		d := (c + 2*random.IntN(2)) % 4
		if random.IntN(4) == 0 {
			d = random.IntN(4)
		}
		if set == "b" {
			b = random.IntN(3)
		}
		if set == "d" {
			d = random.IntN(4)
		}
		fmt.Fprintf(&text, "%s,%d,%s,%d,%s\n", []string{"no", "yes"}[a], b, []string{"x", "y"}[c], d, set)
	}
	parsed, err := table.Parse("categories.csv", []byte(text.String()))
	require.NoError(t, err)
	options := tables.DataOptions{Exclude: []string{"set"}, Discrete: []string{"b", "d"}}
	if interventions {
		options = tables.DataOptions{Intervened: "set", Discrete: []string{tables.EveryNode}}
	}
	d, err := tables.NewData(parsed, options)
	require.NoError(t, err)
	return d
}

// FarInterventions returns data of a graph v0 → v1 → v2 with a separate node v3. In some rows an
// intervention sets one of the nodes, or v1 and v3 together, at the given distance from the usual
// values of the nodes.
func FarInterventions(t *testing.T, random *rand.Rand, distance float64, options tables.DataOptions) *tables.Data {
	t.Helper()
	var text strings.Builder
	text.WriteString("v0,v1,v2,v3,set\n")
	for i := range 200 {
		set := []string{"", "", "", "v0", "v1", "v2", "v3", "v1; v3"}[i/25]
		value := func(name string, mean float64) float64 {
			if strings.Contains(set, name) {
				mean = distance
			}
			return mean + random.NormFloat64()
		}
		a := value("v0", 0)
		b := value("v1", 0.3*a)
		fmt.Fprintf(&text, "%g,%g,%g,%g,%s\n", a, b, value("v2", -0.3*b), value("v3", 0), set)
	}
	parsed, err := table.Parse("far.csv", []byte(text.String()))
	require.NoError(t, err)
	options.Intervened = "set"
	d, err := tables.NewData(parsed, options)
	require.NoError(t, err)
	return d
}

// Mixed returns the graph problem of a table in CSV. If the table has a column "set", it names the
// nodes that interventions set.
func Mixed(t *testing.T, text string, model score.ModelOptions) *score.Problem {
	t.Helper()
	parsed, err := table.Parse("mixed.csv", []byte(text))
	require.NoError(t, err)
	var options tables.DataOptions
	if slices.Contains(parsed.Names(), "set") {
		options.Intervened = "set"
	}
	d, err := tables.NewData(parsed, options)
	require.NoError(t, err)
	p, err := score.NewProblem(d, model, tables.Constraints{})
	require.NoError(t, err)
	return p
}

// Draws returns graphs drawn from a posterior. The argument count is their number.
func Draws(t testing.TB, p *score.Posterior, random *rand.Rand, count int) []score.Draw {
	t.Helper()
	draws, err := p.Sample(context.Background(), random, count)
	require.NoError(t, err)
	return draws
}

// Joint returns the probability of every combination of levels under the graph with the given
// parents. The conditional probabilities are posterior means computed from counts. The argument do
// holds the levels of nodes that an intervention sets, whose conditional probabilities are left
// out.
func Joint(d *tables.Data, parents []dgraph.Set, do map[int]float64) (probabilities []float64, codes [][]int) {
	cells := 1
	for _, levels := range d.Levels {
		cells *= len(levels)
	}
	for cell := range cells {
		levels, rest := make([]int, d.Nodes()), cell
		for j := range levels {
			levels[j], rest = rest%len(d.Levels[j]), rest/len(d.Levels[j])
		}
		product := 1.0
		for j, set := range parents {
			if x, fixed := do[j]; fixed {
				product *= dgraph.Indicator(levels[j] == int(x))
				continue
			}
			match, both, possible := 0.0, 0.0, 1.0
			for i := range set.Nodes() {
				possible *= float64(len(d.Levels[i]))
			}
			for row := range d.Rows() {
				same := d.Counts(row, j)
				for i := range set.Nodes() {
					same = same && int(d.X.At(row, i)) == levels[i]
				}
				match += dgraph.Indicator(same)
				both += dgraph.Indicator(same && int(d.X.At(row, j)) == levels[j])
			}
			product *= (both + 1/possible/float64(len(d.Levels[j]))) / (match + 1/possible)
		}
		probabilities, codes = append(probabilities, product), append(codes, levels)
	}
	return probabilities, codes
}

// Missing returns the graph problem of a table in CSV, whose missing values are imputed.
func Missing(t *testing.T, text string, options tables.DataOptions, model score.ModelOptions) (*score.Problem, error) {
	t.Helper()
	parsed, err := table.Parse("missing.csv", []byte(text))
	require.NoError(t, err)
	options.ImputeMissing = true
	d, err := tables.NewData(parsed, options)
	if err != nil {
		return nil, err
	}
	return score.NewProblem(d, model, tables.Constraints{})
}
