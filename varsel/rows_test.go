package varsel

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

// finishedExact runs an exact selection on the table in text, and opens the stored run.
func finishedExact(t *testing.T, text string, design DesignOptions, model ModelOptions) (*StoredRun, *Problem) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "data.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	record := &Record{Header: run.Header{Command: "exact", Data: path}, Design: design, Model: model}
	data, err := record.Table()
	require.NoError(t, err)
	d, err := NewDesign(data, design)
	require.NoError(t, err)
	problem, err := NewProblem(d, model)
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(dir, record))
	_, err = RunExact(t.Context(), problem, nil, dir)
	require.NoError(t, err)
	stored, err := OpenRun(dir)
	require.NoError(t, err)
	return stored, problem
}

// linearTable returns a table of y = 2 + coefficients · x + noise, where the columns of x are
// standard normal.
func linearTable(random *rand.Rand, n int, coefficients []float64, sigma float64) string {
	var b strings.Builder
	for j := range coefficients {
		fmt.Fprintf(&b, "x%d,", j+1)
	}
	b.WriteString("y\n")
	for range n {
		y := 2 + sigma*random.NormFloat64()
		for _, c := range coefficients {
			x := random.NormFloat64()
			y += c * x
			fmt.Fprintf(&b, "%v,", x)
		}
		fmt.Fprintf(&b, "%v\n", y)
	}
	return b.String()
}

// normalPosterior returns the posterior of the coefficients of a model given σ, on the working
// scale. columns holds the coordinates of the coefficients, and factor the Cholesky factor of their
// precision. The mean solves precision · mean = right.
func normalPosterior(t *testing.T, p *Problem, asked exact.Problem, code []int32) (columns []int, right *mat.VecDense, factor mat.Cholesky) {
	t.Helper()
	columns = []int{0}
	for s, in := range code {
		if in == 1 {
			columns = append(columns, p.Design.Predictors[s].Coordinates...)
		}
	}
	variance := math.Pow(p.Model.Sigma/p.Design.Scaling.YSD, 2)
	precision := mat.NewSymDense(len(columns), nil)
	right = mat.NewVecDense(len(columns), nil)
	for a, ca := range columns {
		for b, cb := range columns[:a+1] {
			precision.SetSym(a, b, mat.Dot(p.Design.X.ColView(ca), p.Design.X.ColView(cb))/variance)
		}
		precision.SetSym(a, a, precision.At(a, a)+1/(asked.PriorSD[ca]*asked.PriorSD[ca]))
		y := mat.NewVecDense(p.Design.Rows(), p.Design.Y)
		right.SetVec(a, asked.PriorMean[ca]/(asked.PriorSD[ca]*asked.PriorSD[ca])+mat.Dot(p.Design.X.ColView(ca), y)/variance)
	}
	require.True(t, factor.Factorize(precision))
	return columns, right, factor
}

// TestPredictionsAreThoseOfTheMixture compares predictions with their closed form. Given σ, every
// model predicts a normal distribution, and the average over models is the mixture of these
// distributions.
func TestPredictionsAreThoseOfTheMixture(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	sigma := 1.5
	stored, problem := finishedExact(t, linearTable(random, 40, []float64{1, 0.4, 0}, sigma), DesignOptions{Target: "y"}, ModelOptions{Sigma: sigma})
	fresh, err := table.Parse("new.csv", []byte("x3,x1,x2\n0.5,2,-1\n-1,0,0\n3,-2.5,4\n"))
	require.NoError(t, err)
	rows, err := stored.Rows(fresh)
	require.NoError(t, err)
	require.Len(t, rows.Notes, 3)
	assert.Contains(t, rows.Notes[0], "x1: 2 of 3 rows are outside the range seen")
	result, err := predict.Summarise(t.Context(), rows, predict.Config{Seed: 1})
	require.NoError(t, err)

	scaling := problem.Design.Scaling
	working := sigma / scaling.YSD
	asked, err := problem.ExactProblem()
	require.NoError(t, err)
	answer, err := exact.Enumerate(t.Context(), asked)
	require.NoError(t, err)
	for i, x := range [][]float64{{2, -1, 0.5}, {0, 0, -1}, {-2.5, 4, 3}} {
		var mixture []distuv.Normal
		var weights []float64
		mean := 0.0
		for _, model := range answer.Models {
			columns, right, factor := normalPosterior(t, problem, asked, model.Code)
			row := mat.NewVecDense(len(columns), nil)
			for a, c := range columns {
				if c == 0 {
					row.SetVec(a, 1)
				} else {
					row.SetVec(a, (x[c-1]-scaling.Mean[c])/scaling.SD[c])
				}
			}
			var centre, spread mat.VecDense
			require.NoError(t, factor.SolveVecTo(&centre, right))
			require.NoError(t, factor.SolveVecTo(&spread, row))
			eta := mat.Dot(row, &centre)*scaling.YSD + scaling.YMean
			mixture = append(mixture, distuv.Normal{Mu: eta, Sigma: scaling.YSD * math.Sqrt(working*working+mat.Dot(row, &spread))})
			weights = append(weights, model.Probability)
			mean += model.Probability * eta
		}
		below := func(y float64) (p float64) {
			for k, m := range mixture {
				p += weights[k] * m.CDF(y)
			}
			return p
		}
		// There are 10,000 draws. Three checks of each of three rows at 4.5 standard errors give a
		// false alarm in one of 16,000 seeds.
		p, n := result.Predictions[i], 10000.0
		assert.InDelta(t, mean, float64(p.Mean), 4.5*float64(p.ExpectedSD)/math.Sqrt(n), "mean of row %d", i)
		assert.InDelta(t, 0.025, below(float64(p.Low)), 4.5*math.Sqrt(0.025*0.975/n))
		assert.InDelta(t, 0.975, below(float64(p.High)), 4.5*math.Sqrt(0.025*0.975/n))
	}
}

// TestLeaveOneOutIsThatOfRefits compares leave-one-out densities by PSIS with the ratio of the
// evidence of all rows to the evidence of all rows but one, for the same priors. 51 numbers are
// compared to four standard errors plus a margin: a false alarm in one of 300 seeds.
func TestLeaveOneOutIsThatOfRefits(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	stored, problem := finishedExact(t, linearTable(random, 50, []float64{1, 0.3, 0, 0}, 1), DesignOptions{Target: "y"}, ModelOptions{})
	rows, err := stored.Rows(nil)
	require.NoError(t, err)
	loo, err := predict.LeaveOneOut(t.Context(), rows, 1)
	require.NoError(t, err)
	assert.Zero(t, loo.Unreliable)
	full, err := problem.ExactProblem()
	require.NoError(t, err)
	all, err := exact.Enumerate(t.Context(), full)
	require.NoError(t, err)
	n, dim := full.X.Dims()
	drawn, err := stored.readDraws()
	require.NoError(t, err)
	// standardError, below, gives the standard error of the log of a row's mean inverse density.
	response, columns := problem.Design.Response(), make([][]float64, dim)
	for j := range columns {
		columns[j] = problem.Design.Column(j)
	}
	standardError := func(row int) float64 {
		inverse := make([]float64, drawn.Len())
		for s := range inverse {
			values := drawn.Values(s)
			rest := response[row]
			for j := range dim {
				rest -= values[j] * columns[j][row]
			}
			inverse[s] = 1 / distuv.Normal{Sigma: values[dim]}.Prob(rest)
		}
		mean, sd := stat.MeanStdDev(inverse, nil)
		return sd / mean / math.Sqrt(float64(len(inverse)))
	}
	total, worst, variance := 0.0, 0.0, 0.0
	for i := range n {
		without := full
		without.X, without.Y = mat.NewDense(n-1, dim, nil), nil
		for k, at := 0, 0; k < n; k++ {
			if k != i {
				without.X.SetRow(at, full.X.RawRowView(k))
				without.Y = append(without.Y, full.Y[k])
				at++
			}
		}
		without.LogConstant = full.LogConstant * float64(n-1) / float64(n)
		rest, err := exact.Enumerate(t.Context(), without)
		require.NoError(t, err)
		elpd := all.LogEvidence - rest.LogEvidence
		total += elpd
		worst = math.Max(worst, math.Abs(elpd-float64(loo.Rows[i].ELPD)))
		se := standardError(i)
		variance += se * se
		assert.InDelta(t, elpd, float64(loo.Rows[i].ELPD), 4*se+0.002, "row %d, k̂ %.2f", i, float64(loo.Rows[i].KHat))
	}
	assert.InDelta(t, total, float64(loo.ELPD), 4*math.Sqrt(variance)+0.02)
	t.Logf("largest error of a row %.4f, of the sum %.4f", worst, math.Abs(total-float64(loo.ELPD)))
	calibration := predict.Calibrate(loo, nil, 1)
	assert.Equal(t, "calibrated, as far as these rows tell", calibration.Verdict)
}

// TestCoverageOfNewResponses simulates 30 tables and predicts 40 new rows of each. On average over
// tables, intervals of level 0.8 must cover this share of the new responses, to within four
// standard errors: a false alarm in one of 15,000 seeds.
func TestCoverageOfNewResponses(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(11, 11))
	const tables, fresh = 30, 40
	shares := make([]float64, tables)
	for k := range shares {
		coefficients := make([]float64, 3)
		for j := range coefficients {
			if random.IntN(2) == 0 {
				coefficients[j] = random.NormFloat64()
			}
		}
		stored, _ := finishedExact(t, linearTable(random, 25, coefficients, 1), DesignOptions{Target: "y", NoStandardize: true}, ModelOptions{Sigma: 1})
		next, err := table.Parse("new.csv", []byte(linearTable(random, fresh, coefficients, 1)))
		require.NoError(t, err)
		rows, err := stored.Rows(next)
		require.NoError(t, err)
		result, err := predict.Summarise(t.Context(), rows, predict.Config{Level: 0.8, Seed: uint64(k)})
		require.NoError(t, err)
		shares[k] = float64(result.Observed.Covered)
	}
	mean, sd := stat.MeanStdDev(shares, nil)
	assert.InDelta(t, 0.8, mean, 4*sd/math.Sqrt(tables))
}

// TestRowsOfNewTables checks the linear predictors of new tables with factors, interactions,
// offsets and missing cells.
func TestRowsOfNewTables(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,f,b,o,y\n")
	random := rand.New(rand.NewPCG(3, 3))
	for i := range 30 {
		a, b, o := random.NormFloat64(), random.NormFloat64(), random.NormFloat64()
		fmt.Fprintf(&text, "%v,%s,%v,%v,%v\n", a, []string{"u", "v", "w"}[i%3], b, o, a+a*b+o+0.1*random.NormFloat64())
	}
	options := DesignOptions{Target: "y", Interactions: []string{"a:b"}, Offset: "o", NA: design.DropNA}
	stored, problem := finishedExact(t, text.String(), options, ModelOptions{})
	fitted, err := stored.Rows(nil)
	require.NoError(t, err)
	// The table of the run, read as a new table, gives the same linear predictors up to the offset.
	data, err := stored.Record.Table()
	require.NoError(t, err)
	again, err := stored.Rows(data)
	require.NoError(t, err)
	require.Equal(t, fitted.Len(), again.Len())
	require.Equal(t, problem.Design.Places, again.Places)
	x, y := make([]float64, fitted.Draws()), make([]float64, fitted.Draws())
	offset, err := data.Lookup("o")
	require.NoError(t, err)
	for i := range fitted.Len() {
		fitted.Predictor(i, x)
		again.Predictor(i, y)
		for s := range x {
			require.InDelta(t, x[s]+offset.Values[i], y[s], 1e-9)
		}
	}
	for name, test := range map[string]struct{ text, want string }{
		"missing columns": {"a,o\n1,1\n", `new.csv: no columns "f", "b"; the columns are a, o`},
		"missing column":  {"a,f,o\n1,u,1\n", `new.csv: no column "b"`},
		"unseen label":    {"a,f,b,o\n1,u,1,1\n1,z,1,1\n", `new.csv: column "f" has labels that the run has not seen: "z" in line 3`},
		"text":            {"a,f,b,o\nten,u,1,1\n", `column "a": got text ("ten" in line 2), want numbers`},
		"nothing left":    {"a,f,b,o\nNA,u,1,1\n", "every row misses a value"},
	} {
		t.Run(name, func(t *testing.T) {
			next, err := table.Parse("new.csv", []byte(test.text))
			require.NoError(t, err)
			_, err = stored.Rows(next)
			require.ErrorContains(t, err, test.want)
		})
	}
	next, err := table.Parse("new.csv", []byte("a,f,b,o,y\n1,u,1,1,NA\nNA,v,1,1,2\n"))
	require.NoError(t, err)
	rows, err := stored.Rows(next)
	require.NoError(t, err)
	assert.Equal(t, []int{2}, rows.Places)
	assert.Nil(t, rows.Y)
	assert.Contains(t, strings.Join(rows.Notes, "\n"), "1 row of new.csv with missing values has no prediction")
	ctx, cancel := gocontext.WithCancel(t.Context())
	cancel()
	_, err = predict.Summarise(ctx, rows, predict.Config{})
	require.ErrorIs(t, err, gocontext.Canceled)
}
