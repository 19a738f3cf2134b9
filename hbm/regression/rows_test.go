package regression

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// finished runs a regression on a table in testdata and opens the finished run.
func finished(t *testing.T, name string, options frame.Options) *StoredRun {
	t.Helper()
	dir := t.TempDir()
	path, err := filepath.Abs(filepath.Join("../../testdata", name))
	require.NoError(t, err)
	record := &Record{Header: run.Header{Command: "hbm", Data: path}, Frame: options, Seed: 1}
	r, err := record.Regression(t.Context())
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(dir, record))
	_, err = r.Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 1}, Dir: dir})
	require.NoError(t, err)
	stored, err := OpenRun(dir)
	require.NoError(t, err)
	return stored
}

// TestRowsOfKnownAndNewGroups predicts known subjects of the sleep study, and a new one. Known
// subjects must have the effects in the draws, and the new subject the variance of subjects.
func TestRowsOfKnownAndNewGroups(t *testing.T) {
	testkit.Slow(t)
	stored := finished(t, "sleepstudy.csv", frame.Options{Formula: "Reaction ~ Days + (Days | Subject)"})
	file, err := draws.Read(filepath.Join(stored.Dir, draws.ParquetFile))
	require.NoError(t, err)
	column := func(name string) []float64 {
		for j, other := range file.Coordinates {
			if other == name {
				values := make([]float64, file.Len())
				for s := range values {
					values[s] = file.Values(s)[j]
				}
				return values
			}
		}
		t.Fatalf("no draws of %s among %q", name, file.Coordinates)
		return nil
	}
	fresh, err := table.Parse("new.csv", []byte("Days,Subject\n4,308\n4,999\n20,999\n"))
	require.NoError(t, err)
	rows, err := stored.Rows(fresh)
	require.NoError(t, err)
	assert.Nil(t, rows.Y)
	assert.Equal(t, []string{"Days: 1 of 3 rows is outside the range seen, 0 to 9", "Subject: 999 not seen before: effects drawn with the variance of groups"}, rows.Notes)

	named, err := table.Parse("named.csv", []byte("Days,Subject\n4,308\n4,somebody new\n"))
	require.NoError(t, err)
	texts, err := stored.Rows(named)
	require.NoError(t, err, "groups seen as numbers, and a new one with another name")
	known, unknown := make([]float64, rows.Draws()), make([]float64, rows.Draws())
	texts.Predictor(0, unknown)
	rows.Predictor(0, known)
	require.Equal(t, known, unknown)
	rows.Predictor(1, unknown)
	intercept, slope, u, v := column("(Intercept)"), column("Days"), column("(Intercept) | Subject=308"), column("Days | Subject=308")
	for s, eta := range known {
		require.InDelta(t, intercept[s]+u[s]+4*(slope[s]+v[s]), eta, 1e-9)
	}
	population, err := stored.Population(fresh)
	require.NoError(t, err)
	alone := make([]float64, population.Draws())
	population.Predictor(0, alone)
	for s, eta := range alone {
		require.InDelta(t, intercept[s]+4*slope[s], eta, 1e-9)
	}
	// In each draw the linear predictor of the new subject on day 4 is normal around the
	// population, with the variance s0² + 2·4 ρ s0 s1 + 4² s1². The two checks together fail by
	// chance once in 8,000.
	s0, s1, rho := column("sd((Intercept) | Subject)"), column("sd(Days | Subject)"), column("cor((Intercept), Days | Subject)")
	standard := make([]float64, len(unknown))
	for s, eta := range unknown {
		variance := s0[s]*s0[s] + 8*rho[s]*s0[s]*s1[s] + 16*s1[s]*s1[s]
		standard[s] = (eta - intercept[s] - 4*slope[s]) / math.Sqrt(variance)
	}
	n := float64(len(standard))
	mean, sd := stat.MeanStdDev(standard, nil)
	assert.InDelta(t, 0, mean, 4/math.Sqrt(n))
	assert.InDelta(t, 1, sd, 4/math.Sqrt(2*n))

	result, err := predict.Summarise(t.Context(), rows, predict.Config{})
	require.NoError(t, err)
	assert.Greater(t, float64(result.Predictions[1].ExpectedSD), 2*float64(result.Predictions[0].ExpectedSD))
	loo, err := predict.LeaveOneOut(t.Context(), mustRows(t, stored), 1)
	require.NoError(t, err)
	assert.Equal(t, 180, len(loo.Rows))
	// The effective number of parameters P is below the 42 parameters, because 36 of them, the
	// effects of subjects, are shrunk.
	assert.Greater(t, float64(loo.P), 20.0)
	assert.Less(t, float64(loo.P), 42.0)

	for text, want := range map[string]string{
		"Days,Reaction\n1,2\n": `new.csv: no column "Subject"`,
		"Days,Subject\nx,1\n":  `column "Days": got text`,
	} {
		wrong, err := table.Parse("new.csv", []byte(text))
		require.NoError(t, err)
		_, err = stored.Rows(wrong)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.Remove(filepath.Join(stored.Dir, draws.ParquetFile)))
	_, err = stored.Rows(nil)
	require.ErrorContains(t, err, "holds no draws.parquet")
}

func mustRows(t *testing.T, stored *StoredRun) *predict.Rows {
	t.Helper()
	rows, err := stored.Rows(nil)
	require.NoError(t, err)
	return rows
}

// A run whose rows count successes, or have weights, takes each row of another table as one trial.
// It then has the predictors of a run with a row for each trial. A new row needs no response.
func TestRowsOfCounts(t *testing.T) {
	tables := map[string]string{
		"k | trials(n) ~ scale(x) + (1 | g)":  "k,n,x,g\n3,4,1,a\n1,3,2.5,b\n2,3,-1,c\n0,2,0.5,a\n3,3,2,d\n",
		"y ~ scale(x) + (1 | g)":              "y,x,g\n1,1,a\n1,1,a\n1,1,a\n0,1,a\n1,2.5,b\n0,2.5,b\n0,2.5,b\n1,-1,c\n1,-1,c\n0,-1,c\n0,0.5,a\n0,0.5,a\n1,2,d\n1,2,d\n1,2,d\n",
		"y | weights(w) ~ scale(x) + (1 | g)": "y,w,x,g\n1,3,1,a\n0,1,1,a\n1,1,2.5,b\n0,2,2.5,b\n1,2,-1,c\n0,1,-1,c\n0,2,0.5,a\n1,3,2,d\n",
	}
	var draws [][]float64
	for formula, text := range tables {
		dir := t.TempDir()
		path := filepath.Join(dir, "data.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		record := &Record{Header: run.Header{Command: "hbm", Data: path}, Seed: 1, Frame: frame.Options{Formula: formula, Response: likelihood.LogisticKind}}
		r, err := record.Regression(t.Context())
		require.NoError(t, err)
		require.NoError(t, run.WriteRecord(dir, record))
		_, err = r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 1}, Dir: dir})
		require.NoError(t, err)
		stored, err := OpenRun(dir)
		require.NoError(t, err)
		fresh, err := table.Parse("new", []byte("x,g\n2,a\n0,c\n"))
		require.NoError(t, err)
		rows, err := stored.Rows(fresh)
		require.NoError(t, err)
		require.Equal(t, 2, rows.Len())
		require.Nil(t, rows.Y)
		population, err := stored.Population(fresh)
		require.NoError(t, err)
		means := make([]float64, 0, 4)
		for _, one := range []*predict.Rows{rows, population} {
			for row := range 2 {
				eta := make([]float64, one.Draws())
				one.Predictor(row, eta)
				means = append(means, stat.Mean(eta, nil))
			}
		}
		draws = append(draws, means)
	}
	require.InDeltaSlice(t, draws[0], draws[1], 0.15)
	require.InDeltaSlice(t, draws[0], draws[2], 0.15)
}

// The test generates a table with the square of x and an offset. Given the linear predictors with
// this square, the model check finds no misfit. Given predictors without it, the check names the
// square.
func TestCheckModel(t *testing.T) {
	const n = 120
	random := stream.Rand(1, "test")
	x, o, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], o[i] = random.NormFloat64(), 100*random.NormFloat64()
		y[i] = 500 + 3*x[i]*x[i] + o[i] + random.NormFloat64()
	}
	data, err := table.New("test", table.Numbers("x", x), table.Numbers("o", o), table.Numbers("y", y))
	require.NoError(t, err)
	frame, err := frame.New(data, frame.Options{Formula: "y ~ x + offset(o)"})
	require.NoError(t, err)
	r, err := New(frame, Options{})
	require.NoError(t, err)
	require.Equal(t, formula.InterceptName, frame.Columns[0].Name)
	for _, square := range []float64{3, 0} {
		s := &posteriorSample{predictors: r.newKept(1500)}
		for draw := range 1500 {
			eta := make([]float64, n)
			for i := range eta {
				eta[i] = (500 + square*x[i]*x[i] - r.yMean) / r.ySD
			}
			s.predictors.add(draw, eta, response{Row: r.rowLikelihood(), sigma: 1 / r.ySD})
		}
		report, err := r.checkModel(t.Context(), s, 1)
		require.NoError(t, err)
		if square > 0 {
			require.Equal(t, modelcheck.Good, report.Verdict, "%v", report)
		} else {
			require.Contains(t, report.String(), "curvature: a square along x")
		}
	}
}
