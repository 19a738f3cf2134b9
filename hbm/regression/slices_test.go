package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/likelihood"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/columnar"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// slicedFile writes a table of 190 rows in row groups of 40. y depends on x, whose values are far
// from zero, on labels f, on classes g in schools h and on groups n, which are numbers. Some cells
// of z are missing.
func slicedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.parquet")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	w, err := columnar.NewWriter(file, []columnar.Column{
		{Name: "y", Kind: columnar.Double}, {Name: "x", Kind: columnar.Double},
		{Name: "f", Kind: columnar.Text}, {Name: "g", Kind: columnar.Text}, {Name: "h", Kind: columnar.Text},
		{Name: "n", Kind: columnar.Int64}, {Name: "z", Kind: columnar.Double, Optional: true},
	}, nil)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(4, 8))
	for i := range 190 {
		if i > 0 && i%40 == 0 {
			w.EndGroup()
		}
		g, x := random.IntN(12), 1000+random.NormFloat64()
		f := "low"
		if i > 60 && random.IntN(3) == 0 { // not in the first row group
			f = "high"
		}
		n := int64(random.IntN(5) * 7)
		w.Double(50 + 0.7*(x-1000) + math.Sin(float64(g)) + 0.1*float64(n) + random.NormFloat64())
		w.Double(x)
		w.Text(f)
		w.Text(fmt.Sprintf("class %d", g))
		w.Text(fmt.Sprintf("school %d", g%4))
		w.Int64(n)
		if i%31 == 30 {
			w.Null()
		} else {
			w.Double(float64(i % 2))
		}
	}
	require.NoError(t, w.Close())
	return path
}

// A table read by slices has the columns, scales, groups and densities of the table in memory.
func TestSlicesAgreeWithTheTable(t *testing.T) {
	path := slicedFile(t)
	for _, formula := range []string{
		"y ~ x + f + (1 + x | g)", "y ~ x*f + (1 | h/g)", "y ~ x + (0 + f | n) + (z || g)", "y ~ 0 + x + (x | g)", "y ~ x + offset(z) + (1 | g:n)", "y ~ x + factor(n)", "y ~ z + I(x^2) + (1 | g) + (1 | n)",
	} {
		for _, choose := range []bool{false, true} {
			options := frame.Options{Formula: formula, DropMissing: true}
			whole, err := table.ReadFile(path)
			require.NoError(t, err)
			f, err := frame.New(whole, options)
			require.NoError(t, err)
			sliced, err := frame.BySlices(t.Context(), path, options)
			require.NoError(t, err)
			require.Equal(t, f.Rows(), sliced.Rows(), formula)
			require.Equal(t, f.DroppedRows, sliced.DroppedRows)
			require.Equal(t, f.Fingerprint, sliced.Fingerprint)
			require.Equal(t, f.Columns, sliced.Columns)
			require.Equal(t, f.Warnings, sliced.Warnings)
			for k, g := range f.Groupings {
				slice := sliced.Groupings[k]
				require.Equal(t, []any{g.Name, g.Levels, g.Counts, g.Columns}, []any{slice.Name, slice.Levels, slice.Counts, slice.Columns}, formula)
			}
			a, b := newRegression(t, f, Options{Select: choose}), newRegression(t, sliced, Options{Select: choose})
			require.Equal(t, len(a.Priors()), len(b.Priors()))
			require.InEpsilon(t, a.logJacobian, b.logJacobian, 1e-12)
			for index, mask := range a.space.masks {
				theta := make([]float64, a.Dim())
				for j := range theta {
					theta[j] = 0.4 * math.Sin(float64(3*j+index))
				}
				require.InEpsilon(t, a.joint().logMarginal(mask, theta), b.joint().logMarginal(mask, theta), 1e-9, "%s: %s", formula, a.FormulaOf(a.codes()[index]))
			}
			var one, other Result
			a.describe(&one, &posteriorSample{})
			b.describe(&other, &posteriorSample{})
			for j, c := range one.Data.Columns {
				got := other.Data.Columns[j]
				require.InDeltaSlice(t, []float64{float64(c.Mean), float64(c.Min), float64(c.Max)}, []float64{float64(got.Mean), float64(got.Min), float64(got.Max)}, 1e-9*math.Abs(float64(c.Max)))
			}
		}
	}
}

// A run that reads its table by slices has the answer of a run in memory. Predictions and checks
// need the rows, which such a run does not keep, and are errors.
func TestRunBySlices(t *testing.T) {
	testkit.Slow(t)
	path := slicedFile(t)
	var results [2]*Result
	for k, slices := range []bool{false, true} {
		dir := t.TempDir()
		record := &Record{Header: run.Header{Command: "hbm", Data: path}, Frame: frame.Options{Formula: "y ~ x + f + (1 | g)"}, Model: Options{Select: true}, Slices: slices, Seed: 1}
		r, err := record.Regression(t.Context())
		require.NoError(t, err)
		require.NoError(t, run.WriteRecord(dir, record))
		results[k], err = r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: record.FitConfig(r), Dir: dir})
		require.NoError(t, err)
		stored, err := OpenRun(dir)
		require.NoError(t, err)
		_, err = stored.Rows(nil)
		if slices {
			require.ErrorContains(t, err, "by slices: its rows are not in memory")
			_, err := r.Plates()
			require.ErrorContains(t, err, "need the rows of the table")
		} else {
			require.NoError(t, err)
		}
	}
	require.InDelta(t, float64(*results[0].LogEvidence), float64(*results[1].LogEvidence), 1e-6)
	require.Equal(t, len(results[0].Varying), len(results[1].Varying))
	for k, one := range results[0].Varying {
		require.InDelta(t, float64(one.Mean), float64(results[1].Varying[k].Mean), 1e-6)
		require.Equal(t, one.Rows, results[1].Varying[k].Rows)
		require.InDelta(t, float64(*one.Unpooled), float64(*results[1].Varying[k].Unpooled), 1e-6)
	}
	require.Nil(t, results[1].ModelCheck)
	require.Empty(t, results[1].Checks)
}

func TestSlicesRefuse(t *testing.T) {
	path := slicedFile(t)
	for want, options := range map[string]frame.Options{
		"want gaussian to read a table by slices": {Formula: "y ~ x + (1 | g)", Response: likelihood.LogisticKind},
		"fitted to all rows":                      {Formula: "y ~ scale(x) + (1 | g)"},
		"missing values":                          {Formula: "y ~ z + (1 | g)"},
		`no column "q"`:                           {Formula: "y ~ q + (1 | g)"},
		"smooth functions":                        {Formula: "y ~ s(x) + (1 | g)"},
		"is constant":                             {Formula: "y ~ I(x - x) + (1 | g)"},
	} {
		_, err := frame.BySlices(t.Context(), path, options)
		require.ErrorContains(t, err, want)
	}
}
