package tables_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/table"
)

func TestScalings(t *testing.T) {
	raw := dagtest.ChainRows(50)
	for _, scaling := range []tables.Scaling{tables.Standardize, tables.GlobalScale, tables.Center, tables.Unscaled} {
		d := dagtest.Chain(t, 50, tables.DataOptions{Scaling: scaling})
		var variance float64
		for j := range d.Names {
			column := mat.Col(nil, j, d.X)
			mean, sd := stat.MeanStdDev(column, nil)
			variance += sd * sd / 3
			if scaling != tables.Unscaled {
				require.InDelta(t, 0, mean, 1e-12)
			}
			if scaling == tables.Standardize {
				require.InDelta(t, 1, sd, 1e-12)
			}
			for i, x := range column {
				require.InDelta(t, raw[i][j], x*d.Scale[j]+d.Shift[j], 1e-12)
			}
		}
		if scaling == tables.GlobalScale {
			require.InDelta(t, 1, variance, 1e-12)
		}
		var back tables.Scaling
		require.NoError(t, back.UnmarshalText([]byte(scaling.String())))
		require.Equal(t, scaling, back)
	}
	require.ErrorContains(t, new(tables.Scaling).UnmarshalText([]byte("zscore")), "want standardize, global, center or none")
}

func TestBadData(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		options tables.DataOptions
		want    string
	}{
		"constants":            {"a,b\n1,2\n1,3\n1,4\n", tables.DataOptions{}, `got 1 column that varies, want at least two as nodes: column "a" is constant (1)`},
		"nearly constant":      {"a,b\n1,2\n1.00000000000001,3\n1,4\n", tables.DataOptions{}, `column "a" is constant to 12 digits (1.0000000000000033)`},
		"one class":            {"a,b\n1,2\n2,2\n3,2\n4,1\n", tables.DataOptions{Discretize: tables.Discretization{Classes: 2}}, `column "b" is cut into one class (all), as most of its values are equal`},
		"huge":                 {"a,b\n1e300,2\n-1e300,3\n1e299,4\n", tables.DataOptions{}, `column "a": its spread is too large or too small to work with (values from -1e+300 to 1e+300)`},
		"tiny":                 {"a,b\n1e-300,2\n-1e-300,3\n1e-299,4\n", tables.DataOptions{}, `column "a": its spread is too large or too small`},
		"few rows":             {"a,b\n1,2\n1,3\n", tables.DataOptions{}, "got 2 rows, want at least 3"},
		"missing":              {"a,b\n1,2\n2,\n3,4\n", tables.DataOptions{}, `missing values in 1 of 2 used columns (of 3 rows): "b" 1`},
		"no value":             {"a,b,c\n1,2,\n2,3,\n3,4,\n", tables.DataOptions{DropMissing: true}, `"c" 3 (it has no value at all: exclude it)`},
		"mixed":                {"a,b\n1,2\n2,low\n3,4\n", tables.DataOptions{Discrete: []string{"a"}}, `line 3, column "b": got "low", want a finite number`},
		"log":                  {"a,b\n1,2\n2,-3\n3,4\n", tables.DataOptions{Log: true}, `column "b", line 3: got -3, want a positive number to take the logarithm of`},
		"unknown column":       {"alpha,b\n1,2\n2,3\n3,5\n", tables.DataOptions{Exclude: []string{"alpah"}}, `no column "alpah"; the nearest is "alpha"`},
		"one node":             {"a,b\n1,2\n2,3\n3,5\n", tables.DataOptions{Exclude: []string{"b"}}, "got 1 column as nodes of 2"},
		"unknown intervention": {"alpha,b,s\n1,2,\n2,3,alpa\n3,5,\n", tables.DataOptions{Intervened: "s"}, `column "s", line 3: no node "alpa"; the nearest are ["alpha"]`},
		"always set":           {"a,b,s\n1,2,a\n2,3,a\n3,5,\n", tables.DataOptions{Intervened: "s"}, `node "a" is set from outside in 2 of 3 rows, want at least 3 in which it is not`},
		"excluded and read":    {"a,b,s\n1,2,a\n", tables.DataOptions{Intervened: "s", Exclude: []string{"s"}}, "excluded and also names interventions"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := table.Parse("x.csv", []byte(c.content))
			require.NoError(t, err)
			_, err = tables.NewData(parsed, c.options)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Columns that mix numbers and texts are categories if options name them as such, and a note states
// which cells are texts.
func TestMixedColumns(t *testing.T) {
	parsed, err := table.Parse("x.csv", []byte("a,b,c\n1,2,1\n0,low,NA\n1,2,1\n0,NA,1\n0,low,0\n1,none,0\n"))
	require.NoError(t, err)
	for _, discrete := range [][]string{{tables.EveryNode}, {"a", "b", "c"}} {
		d, err := tables.NewData(parsed, tables.DataOptions{Discrete: discrete, DropMissing: true})
		require.NoError(t, err)
		require.Equal(t, []string{"2", "low", "none"}, d.Levels[1])
		require.Equal(t, []float64{0, 0, 1, 2}, mat.Col(nil, 1, d.X))
		require.Equal(t, []string{`column "b" mixes numbers with text ("low" in line 3, "none" in line 7): each is a level of the category; write NA where a value is missing`}, d.Notes())
	}
}

func TestReadTiersAndTruth(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	tiers, err := tables.ReadTiers(write("tiers", "# first\na, b\n\nc\n"))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a", "b"}, {"c"}}, tiers)
	_, err = tables.ReadTiers(write("none", "#\n"))
	require.ErrorContains(t, err, "got an empty file")

	d := dagtest.Chain(t, 10, tables.DataOptions{})
	truth := func(content string) (*dgraph.Graph, error) {
		parsed, err := table.Parse("truth.csv", []byte(content))
		require.NoError(t, err)
		return dgraph.ReadAdjacency(parsed, d.Names)
	}
	want := dgraph.FromParents([]dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1)})
	for _, content := range []string{"node,a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n", "a,b,c\n0,1,0\n0,0,1\n0,0,0\n", "node,c,a,b\nc,0,0,0\nb,1,0,0\na,0,0,1\n"} {
		g, err := truth(content)
		require.NoError(t, err)
		require.True(t, want.Equal(g), content)
	}
	for content, message := range map[string]string{
		"node,a,b,c\na,0,2,0\nb,0,0,1\nc,0,0,0\n": `column "b", line 2: got "2", want 0 or 1`,
		"node,a,b,c\na,1,0,0\nb,0,0,1\nc,0,0,0\n": `an edge from "a" to itself`,
		"node,a,b\na,0,1\nb,0,0\n":                `no row for node "c"`,
		"node,a,b,c\na,0,1,0\n":                   "got 1 row and 3 columns, want a square matrix",
		"node,a,b,c\na,0,1,0\nb,0,0,0\nx,0,0,0\n": `no row for node "c"`,
	} {
		_, err := truth(content)
		require.ErrorContains(t, err, message)
	}
}
