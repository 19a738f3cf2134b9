package varsel

import (
	gocontext "context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/run"
)

func haldProblem(t testing.TB, model ModelOptions) *Problem {
	t.Helper()
	design, err := NewDesign(readTable(t, "hald.csv"), DesignOptions{Target: "y", Likelihood: model.Likelihood})
	require.NoError(t, err)
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	return problem
}

func openDevice(t testing.TB) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

// smallFit returns settings of a training that takes a second.
func smallFit() vti.Config {
	return vti.Config{Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 16}, Steps: 200, Batch: 256, Seed: 5}
}

// The answers of enumeration, certified variational inference and reversible-jump chains agree.
func TestThreeWaysAgree(t *testing.T) {
	device, problem := openDevice(t), haldProblem(t, ModelOptions{Sigma: 2.5})
	exact, err := RunExact(t.Context(), problem, nil, "")
	require.NoError(t, err)
	certified, err := Run(t.Context(), device, problem, RunConfig{Fit: smallFit(), Certify: vti.CertifyConfig{Draws: 1 << 14}, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, certified.Certificate.Verdict, certified.Certificate.Reasons)
	sampled, err := RunChains(t.Context(), device, problem, rjmcmc.Config{Chains: 64, BurnIn: 400, Iterations: 400, Seed: 3}, t.TempDir())
	require.NoError(t, err)
	require.NotEqual(t, vti.Failed, sampled.Diagnostics.Verdict)
	require.Equal(t, 400/rjmcmc.DefaultThin, sampled.Diagnostics.Draws)
	requireCertified(t, exact, certified)

	// Four numbers are compared to five standard errors: a false alarm in one of 4e5 runs.
	for s, want := range exact.Inclusion {
		got := sampled.Inclusion[s]
		assert.Equal(t, want.Name, got.Name)
		assert.InDelta(t, float64(want.Certified), float64(got.Certified), 5*float64(got.SE)+1e-5, want.Name)
	}
	requireCoefficients(t, exact, sampled)
}

// With unknown noise, certified answers and the posterior of σ agree with enumeration, too.
func TestCertifiedAgreesWithUnknownNoise(t *testing.T) {
	problem := haldProblem(t, ModelOptions{})
	exact, err := RunExact(t.Context(), problem, nil, "")
	require.NoError(t, err)
	certified, err := Run(t.Context(), openDevice(t), problem, RunConfig{Fit: smallFit(), Certify: vti.CertifyConfig{Draws: 1 << 14}, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, "sigma", certified.Coefficients[len(certified.Coefficients)-1].Name)
	requireCertified(t, exact, certified)
	// the moments come from closed forms, not from draws, and are the same up to rounding
	require.Len(t, certified.Coefficients, len(exact.Coefficients))
	for k, want := range exact.Coefficients {
		got := certified.Coefficients[k]
		require.Equal(t, want.Name, got.Name)
		require.Equal(t, want.Prior, got.Prior)
		for i, number := range []Number{want.Mean, want.SD, want.Q025, want.Q975, want.MeanGivenIn, want.SDGivenIn, want.Q025GivenIn, want.Q975GivenIn} {
			found := []Number{got.Mean, got.SD, got.Q025, got.Q975, got.MeanGivenIn, got.SDGivenIn, got.Q025GivenIn, got.Q975GivenIn}[i]
			require.InDelta(t, float64(number), float64(found), 1e-9*(1+math.Abs(float64(number))), want.Name)
		}
		require.Zero(t, got.MeanGivenInSE)
		require.Zero(t, got.SDGivenInSE)
	}
}

// requireCertified compares a certified answer with an exact answer. About 40 numbers are compared
// to 5 standard errors, which gives a false alarm in one of 4e4 runs.
func requireCertified(t *testing.T, exact, certified *Result) {
	t.Helper()
	require.True(t, certified.Certificate.Complete)
	require.InDelta(t, float64(*exact.LogEvidence), float64(*certified.LogEvidence), 5*float64(*certified.LogEvidSE)+1e-4)
	assert.InDelta(t, float64(*certified.LogEvidence), -float64(*certified.Loss), 1, "the loss, in the same units, bounds the evidence")
	models := map[string]ModelReport{}
	for _, m := range exact.Models {
		models[m.Code] = m
	}
	require.Len(t, certified.Models, len(models))
	for _, m := range certified.Models {
		want := models[m.Code]
		assert.Equal(t, want.Size, m.Size)
		assert.InDelta(t, float64(want.Certified), float64(m.Certified), 5*float64(m.SE)+1e-5, "model %s", m.Code)
		// the evidence of a model with untrusted weights is not checked
		if m.KHat == nil || float64(*m.KHat) < 0.7 {
			assert.InDelta(t, float64(*want.LogEvidence), float64(*m.LogEvidence), 5*float64(*m.LogEvidenceSE)+1e-3, "model %s", m.Code)
		}
	}
	for s, want := range exact.Inclusion {
		got := certified.Inclusion[s]
		assert.InDelta(t, float64(want.Certified), float64(got.Certified), 5*float64(got.SE)+1e-5, want.Name)
	}
	requireCoefficients(t, exact, certified)
}

// requireCoefficients compares the posteriors of coefficients to a twentieth of a standard
// deviation, which is several standard errors for thousands of effective draws.
func requireCoefficients(t *testing.T, exact, estimated *Result) {
	t.Helper()
	require.Len(t, estimated.Coefficients, len(exact.Coefficients))
	for j, want := range exact.Coefficients {
		got, width := estimated.Coefficients[j], float64(want.Q975-want.Q025)
		assert.Equal(t, want.Name, got.Name)
		assert.InDelta(t, float64(want.Mean), float64(got.Mean), 0.06*float64(want.SD), want.Name)
		assert.InEpsilon(t, float64(want.SD), float64(got.SD), 0.06, want.Name)
		assert.InDelta(t, float64(want.Q025), float64(got.Q025), 0.06*width, want.Name)
		assert.InDelta(t, float64(want.Q975), float64(got.Q975), 0.06*width, want.Name)
	}
}

// The files of a run agree with its result.
func TestFilesOfARun(t *testing.T) {
	problem, dir := haldProblem(t, ModelOptions{}), t.TempDir()
	leftover := filepath.Join(dir, ".draws.csv.1.vti-part")
	require.NoError(t, os.WriteFile(leftover, []byte("half"), 0o644))
	result, err := Run(t.Context(), openDevice(t), problem, RunConfig{Fit: smallFit(), Certify: vti.CertifyConfig{Draws: 1 << 12}, Dir: dir})
	require.NoError(t, err)
	require.NoFileExists(t, leftover)

	content, err := os.ReadFile(filepath.Join(dir, rundir.ResultFile))
	require.NoError(t, err)
	var read Result
	require.NoError(t, json.Unmarshal(content, &read))
	result.ModelCheck.Fitted = nil // fitted values are in a separate file
	require.Equal(t, result, &read)

	rows := func(name string) [][]string {
		file, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		defer file.Close()
		rows, err := csv.NewReader(file).ReadAll()
		require.NoError(t, err)
		return rows
	}
	cell := func(text string) float64 {
		value, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return value
	}
	inclusion := rows("inclusion.csv")
	require.Equal(t, []string{"name", "q", "certified", "se"}, inclusion[0])
	require.Len(t, inclusion, 1+len(result.Inclusion))
	for i, want := range result.Inclusion {
		require.Equal(t, want.Name, inclusion[1+i][0])
		require.InDelta(t, float64(*want.Q), cell(inclusion[1+i][1]), 0)
		require.InDelta(t, float64(want.Certified), cell(inclusion[1+i][2]), 0)
		require.InDelta(t, float64(want.SE), cell(inclusion[1+i][3]), 0)
	}
	models := rows("models.csv")
	require.Len(t, models, 1+len(result.Models))
	for i, want := range result.Models {
		require.Equal(t, []string{want.Code, strconv.Itoa(want.Size)}, models[1+i][:2])
		require.InDelta(t, float64(*want.LogEvidence), cell(models[1+i][5]), 0)
		require.Empty(t, models[1+i][7], "a closed form has no k̂")
	}
	coefficients := rows("coefficients.csv")
	require.Len(t, coefficients, 1+len(result.Coefficients))
	require.Equal(t, "sigma", coefficients[len(coefficients)-1][0])

	trace := rows(rundir.TraceFile)
	require.Equal(t, "200", trace[len(trace)-1][0])
	require.InDelta(t, float64(*result.Loss), cell(trace[len(trace)-1][1]), 0)

	// The means of the draws are the means of the coefficients.
	require.FileExists(t, filepath.Join(dir, draws.CSVFile))
	parquet, err := draws.Read(filepath.Join(dir, draws.ParquetFile))
	require.NoError(t, err)
	columns := len(result.Coefficients)
	require.Len(t, parquet.Theta, resampled*columns)
	for j, want := range result.Coefficients {
		require.Equal(t, want.Name, parquet.Header.Coordinates[j])
		var mean float64
		for i := range resampled {
			mean += parquet.Theta[i*columns+j] / resampled
		}
		require.InDelta(t, float64(want.Mean), mean, 0.03*float64(want.SD), want.Name)
	}
}

func TestResultsThatAreNotFinite(t *testing.T) {
	dir := t.TempDir()
	result := &Result{
		Origin: run.Origin{Command: "varsel"}, Loss: new(Number(math.NaN())), Inclusion: []Inclusion{{Name: "a,\"b\"", Q: new(Number(0.5)), Certified: Number(math.NaN()), SE: Number(math.Inf(1))}},
		Models: []ModelReport{{Code: "1", Size: 1, LogEvidence: new(Number(math.Inf(-1)))}},
	}
	require.NoError(t, result.writeTables(dir))
	content, err := os.ReadFile(filepath.Join(dir, "inclusion.csv"))
	require.NoError(t, err)
	require.Equal(t, "name,q,certified,se\n\"a,\"\"b\"\"\",0.5,,\n", string(content))
	content, err = os.ReadFile(filepath.Join(dir, "models.csv"))
	require.NoError(t, err)
	require.Equal(t, "code,size,q,certified,se,log_evidence,log_evidence_se,khat\n1,1,,0,0,,,\n", string(content))
	content, err = os.ReadFile(filepath.Join(dir, rundir.ResultFile))
	require.NoError(t, err)
	var read Result
	require.NoError(t, json.Unmarshal(content, &read))
	require.True(t, math.IsNaN(float64(read.Inclusion[0].SE)))
	require.Nil(t, read.Loss, "null leaves a pointer nil")
}

func TestExitStatus(t *testing.T) {
	for verdict, want := range map[vti.Verdict]int{vti.Trusted: 0, vti.Doubtful: 0, vti.Failed: 3} {
		require.Equal(t, want, (&Result{Certificate: &CertificateReport{Verdict: verdict}}).ExitStatus())
		require.Equal(t, want, (&Result{Diagnostics: &ChainReport{Verdict: verdict}}).ExitStatus())
	}
	require.Zero(t, (&Result{}).ExitStatus())
}

// A cancelled run can be resumed, and then ends like an uninterrupted run. If it was cancelled
// before its first checkpoint, it starts from the beginning.
func TestRunResumes(t *testing.T) {
	testkit.Slow(t)
	device, problem := openDevice(t), haldProblem(t, ModelOptions{Sigma: 2.5})
	config := func(dir string) RunConfig {
		fit := smallFit()
		fit.LogEvery = 20
		return RunConfig{Fit: fit, Certify: vti.CertifyConfig{Draws: 1 << 12}, Dir: dir}
	}
	whole, err := Run(t.Context(), device, problem, config(t.TempDir()))
	require.NoError(t, err)

	cfg := config(t.TempDir())
	ctx, cancel := gocontext.WithCancel(t.Context())
	cfg.Fit.Progress = func(info vti.Info) {
		if info.Step == 120 {
			cancel()
		}
	}
	_, err = Run(ctx, device, problem, cfg)
	require.ErrorIs(t, err, gocontext.Canceled)
	cfg.Fit.Resume = true
	resumed, err := Run(t.Context(), device, problem, cfg)
	require.NoError(t, err)
	whole.RunDir, whole.Seconds, resumed.RunDir, resumed.Seconds = "", run.Seconds{}, "", run.Seconds{}
	require.Equal(t, whole, resumed)
	// A run that is resumed with no training left takes the loss from the trace.
	again, err := Run(t.Context(), device, problem, cfg)
	require.NoError(t, err)
	again.RunDir, again.Seconds = "", run.Seconds{}
	require.Equal(t, whole, again)

	cfg = config(t.TempDir())
	cfg.Fit.Resume = true
	fresh, err := Run(t.Context(), device, problem, cfg)
	require.NoError(t, err)
	fresh.RunDir, fresh.Seconds = "", run.Seconds{}
	require.Equal(t, whole, fresh)
}
