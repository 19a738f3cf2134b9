package predict

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/columnar"
	"github.com/transdim/vti/likelihood"
)

// normalMean returns rows of y ~ N(μ, 1) under draws of μ from its posterior with a flat prior.
func normalMean(y []float64, draws int) *Rows {
	random := rand.New(rand.NewPCG(5, 5))
	mean := stat.Mean(y, nil)
	n := float64(len(y))
	r := &Rows{Y: y, Unit: "row", Response: likelihood.New(likelihood.GaussianKind, likelihood.Shape{})}
	beta := make([]float64, draws)
	for s := range beta {
		beta[s] = mean + random.NormFloat64()/math.Sqrt(n)
		r.Scale = append(r.Scale, 1)
	}
	ones := make([]float64, len(y))
	for i := range y {
		ones[i] = 1
		r.Places = append(r.Places, i+1)
	}
	r.Terms = []Term{{Name: "mean", X: ones, Draws: [][]float64{beta}}}
	return r
}

func someResponses(n int, sd float64) []float64 {
	random := rand.New(rand.NewPCG(9, 9))
	y := make([]float64, n)
	for i := range y {
		y[i] = 3 + sd*random.NormFloat64()
	}
	return y
}

// TestLeaveOneOutOfAMean compares leave-one-out predictions with a closed form: without row i the
// posterior variance of the mean is 1/(n−1).
func TestLeaveOneOutOfAMean(t *testing.T) {
	y := someResponses(30, 1)
	rows := normalMean(y, 8000)
	loo, err := LeaveOneOut(t.Context(), rows, 1)
	require.NoError(t, err)
	n, sum, sumPIT := float64(len(y)), 0.0, 0.0
	for i, v := range y {
		rest := distuv.Normal{Mu: (stat.Mean(y, nil)*n - v) / (n - 1), Sigma: math.Sqrt(1 + 1/(n-1))}
		sum += rest.LogProb(v)
		assert.InDelta(t, rest.LogProb(v), float64(loo.Rows[i].ELPD), 0.02)
		// The tolerances are for 8,000 draws. A false alarm in any row occurs in 1 of 500 runs.
		assert.InDelta(t, rest.CDF(v), float64(loo.Rows[i].PIT), 4*0.5/math.Sqrt(8000)*1.1)
		sumPIT += float64(loo.Rows[i].PIT)
	}
	assert.InDelta(t, sum, float64(loo.ELPD), 0.05)
	assert.InDelta(t, 1, float64(loo.P), 0.6, "one parameter")
	assert.Equal(t, 0, loo.Unreliable)
	assert.InDelta(t, 0.5, sumPIT/n, 0.2)

	result, err := Summarise(t.Context(), rows, Config{Level: 0.9, Seed: 1})
	require.NoError(t, err)
	p := result.Predictions[4]
	half := 1.6448536 * math.Sqrt(1+1/n)
	assert.InDelta(t, stat.Mean(y, nil)-half, float64(p.Low), 0.06)
	assert.InDelta(t, stat.Mean(y, nil)+half, float64(p.High), 0.06)
	assert.InDelta(t, 1/math.Sqrt(n), float64(p.ExpectedSD), 0.01)
	_, err = Summarise(t.Context(), rows, Config{Level: 1})
	require.ErrorContains(t, err, "got 1, want a number between 0 and 1")
	rows.Y = nil
	_, err = LeaveOneOut(t.Context(), rows, 1)
	require.ErrorIs(t, err, ErrNoResponse)
}

// TestCalibrationFindsWrongSpread checks predictions with standard deviation 1 for responses with
// standard deviations 1, 2 and ½.
func TestCalibrationFindsWrongSpread(t *testing.T) {
	for sd, want := range map[float64]string{1: "calibrated, as far as these rows tell", 2: "too sure", 0.5: "less sure than they could be"} {
		loo, err := LeaveOneOut(t.Context(), normalMean(someResponses(200, sd), 2000), 1)
		require.NoError(t, err)
		c := Calibrate(loo, nil, 1)
		assert.Contains(t, c.Verdict, want)
		assert.Equal(t, sd == 1, c.P >= notable, "%v", c.P)
	}
	// The tabulated quantiles of the limit distribution are the reference.
	assert.InDelta(t, 0.05, kolmogorov(1.3581), 1e-4)
	assert.InDelta(t, 0.01, kolmogorov(1.6276), 1e-4)
}

// The probability integral transforms of equal counts are spread at random, so that the transforms
// of calibrated counts are uniform.
func TestCalibrationOfCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3))
	poisson := likelihood.New(likelihood.PoissonKind, likelihood.Shape{})
	rows := &Rows{Response: poisson, Discrete: true, Unit: "row"}
	ones, zeros := make([]float64, 300), make([]float64, 500)
	for i := range ones {
		ones[i] = 1
		rows.Places = append(rows.Places, i+1)
		rows.Y = append(rows.Y, poisson.Draw(0, 1, random))
	}
	for range zeros {
		rows.Scale = append(rows.Scale, 1)
	}
	rows.Terms = []Term{{X: ones, Draws: [][]float64{zeros}}}
	loo, err := LeaveOneOut(t.Context(), rows, 1)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, float64(Calibrate(loo, loo.Spikes(rows), 1).P), notable)
	assert.Less(t, float64(Calibrate(loo, nil, 1).P), notable, "without it they are not")
}

func TestCompareRanksRuns(t *testing.T) {
	y := someResponses(60, 1)
	good, err := LeaveOneOut(t.Context(), normalMean(y, 1000), 1)
	require.NoError(t, err)
	rows := normalMean(y, 1000)
	for s := range rows.Scale {
		rows.Scale[s] = 4
	}
	bad, err := LeaveOneOut(t.Context(), rows, 1)
	require.NoError(t, err)
	ranked, err := Compare([]Ranked{{RunDir: "bad", LOO: bad}, {RunDir: "good", LOO: good}})
	require.NoError(t, err)
	assert.Equal(t, "good", ranked[0].RunDir)
	assert.Zero(t, ranked[0].Difference)
	assert.InDelta(t, float64(bad.ELPD-good.ELPD), float64(ranked[1].Difference), 1e-9)
	assert.Positive(t, ranked[1].DifferenceSE)
	other, err := LeaveOneOut(t.Context(), normalMean(y[1:], 1000), 1)
	require.NoError(t, err)
	_, err = Compare([]Ranked{{RunDir: "a", LOO: good}, {RunDir: "b", LOO: other}})
	require.ErrorContains(t, err, " rows and ")
	_, err = Compare(nil)
	require.Error(t, err)
}

// The file of draws holds the draws that the predictions summarise.
func TestFilesHoldPredictions(t *testing.T) {
	rows := normalMean(someResponses(5, 1), 100)
	result, err := Summarise(t.Context(), rows, Config{Seed: 3})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "draws.parquet")
	require.NoError(t, WriteDraws(t.Context(), path, rows, 3))
	file, err := columnar.Open(path)
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, 500, file.Rows(0))
	expected, err := file.Read(2, 0)
	require.NoError(t, err)
	responses, err := file.Read(3, 0)
	require.NoError(t, err)
	assert.InDelta(t, float64(result.Predictions[2].Mean), stat.Mean(expected.Numbers[200:300], nil), 1e-12)
	assert.InDelta(t, stat.Mean(rows.Y, nil), stat.Mean(responses.Numbers, nil), 0.25)
	require.NoError(t, result.WriteCSV(filepath.Join(t.TempDir(), "predictions.csv")))
}

// The score of a censored time is the log probability of a longer time. Comparisons of predictions
// with responses leave out censored times.
func TestCensoredTimesArePredicted(t *testing.T) {
	exponential := likelihood.New(likelihood.ExponentialKind, likelihood.Shape{})
	rows := &Rows{Response: exponential, Survival: true, Unit: "row", Places: []int{1, 2, 3}, Y: []float64{1, -2, 0.5}}
	zeros := make([]float64, 4000)
	rows.Scale = append(rows.Scale, zeros...)
	rows.Terms = []Term{{X: []float64{1, 1, 1}, Draws: [][]float64{zeros}}}
	loo, err := LeaveOneOut(t.Context(), rows, 1)
	require.NoError(t, err)
	assert.Nil(t, loo.R2)
	assert.InDelta(t, -2, float64(loo.Rows[1].ELPD), 1e-12, "log of the probability of a longer time")
	assert.InDelta(t, -1, float64(loo.Rows[0].ELPD), 1e-12)
	// There are 4,000 draws, and the bound is 4 standard errors: a false alarm in 16,000 runs.
	assert.InDelta(t, 1-math.Exp(-2)/2, float64(loo.Rows[1].PIT), 4*0.5/math.Sqrt(4000))
	spikes := loo.Spikes(rows)
	assert.Zero(t, spikes[0])
	assert.InDelta(t, math.Exp(-2), spikes[1], 1e-12)

	result, err := Summarise(t.Context(), rows, Config{})
	require.NoError(t, err)
	assert.Equal(t, 2, result.Observed.Rows)
	assert.Nil(t, result.Predictions[1].Observed)
	path := filepath.Join(t.TempDir(), "predictions.csv")
	require.NoError(t, result.WriteCSV(path))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.SplitSeq(strings.TrimSpace(string(written)), "\n") {
		assert.Equal(t, 8, strings.Count(line, ","), line)
	}
	rows.Y = []float64{-1, -2, -0.5}
	result, err = Summarise(t.Context(), rows, Config{})
	require.NoError(t, err)
	assert.Nil(t, result.Observed)
}
