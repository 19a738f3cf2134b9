package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modelcheck"
)

// groups returns a table in which y is linear in x, with an intercept that varies by group. The
// column z has no effect. If counts is true, y is replaced by the integer part of exp(y/2).
func groups(counts bool) string {
	random := rand.New(rand.NewPCG(9, 10))
	text := "y,x,z,g\n"
	for g := range 12 {
		height := 1.2 * random.NormFloat64()
		for range 6 {
			x, z := random.NormFloat64(), random.NormFloat64()
			y := 1 + 0.8*x + height + 0.5*random.NormFloat64()
			if counts {
				y = math.Floor(math.Exp(y / 2))
			}
			text += fmt.Sprintf("%g,%g,%g,g%d\n", y, x, z, g)
		}
	}
	return text
}

var quickHbm = []string{"--steps", "60", "--batch", "256", "--flow-layers", "2", "--flow-blocks", "1", "--flow-hidden", "8", "--certify-draws", "4096", "--quiet"}

// hbmAnswer is the tested part of the JSON of a regression; docs/schema describes all of it.
type hbmAnswer struct {
	Command string  `json:"command"`
	Version string  `json:"version"`
	Seed    *uint64 `json:"seed"`
	Backend string  `json:"backend"`
	Family  string  `json:"family"`
	Data    struct {
		Rows    int    `json:"rows"`
		Formula string `json:"formula"`
		Groups  []struct {
			Name   string `json:"name"`
			Levels int    `json:"levels"`
		} `json:"groups"`
		Response string                `json:"response"`
		Columns  []frame.ColumnSummary `json:"columns"`
	} `json:"data"`
	Effects []regression.Summary `json:"effects"`
	SDs     []regression.Summary `json:"sds"`
	Varying []struct {
		Group   string  `json:"group"`
		Level   string  `json:"level"`
		Term    string  `json:"term"`
		Mean    float64 `json:"mean"`
		SD      float64 `json:"sd"`
		Q025    float64 `json:"q025"`
		Q975    float64 `json:"q975"`
		MeanSE  float64 `json:"mean_se"`
		SDSE    float64 `json:"sd_se"`
		Rows    int     `json:"rows"`
		Pooling float64 `json:"pooling"`
		// Unpooled is an estimate from the rows of one level alone.
		Unpooled *float64 `json:"unpooled"`
	} `json:"varying"`
	Priors        []regression.PriorSummary `json:"priors"`
	ELBO          *float64                  `json:"elbo"`
	LogEvidence   *float64                  `json:"log_evidence"`
	LogEvidenceSE *float64                  `json:"log_evidence_se"`
	Certificate   struct {
		Verdict       string   `json:"verdict"`
		KHat          float64  `json:"khat"`
		ESS           float64  `json:"ess"`
		RHat          *float64 `json:"rhat"`
		Draws         int      `json:"draws"`
		ModelsChecked int      `json:"models_checked"`
		Reasons       []string `json:"reasons"`
	} `json:"certificate"`
	Terms []struct {
		Term  string  `json:"term"`
		State string  `json:"state"`
		Prob  float64 `json:"prob"`
		SE    float64 `json:"se"`
		Q     float64 `json:"q"`
	} `json:"terms"`
	Models []struct {
		Code          string  `json:"code"`
		Formula       string  `json:"formula"`
		Q             float64 `json:"q"`
		Certified     float64 `json:"certified"`
		SE            float64 `json:"se"`
		LogEvidence   float64 `json:"log_evidence"`
		LogEvidenceSE float64 `json:"log_evidence_se"`
		KHat          float64 `json:"khat"`
	} `json:"models"`
	Checks     []regression.CheckSummary `json:"checks"`
	ModelCheck *modelcheck.Report        `json:"model_check"`
	Notes      []string                  `json:"notes"`
	Steps      int                       `json:"steps"`
	Seconds    struct {
		Train   float64 `json:"train"`
		Certify float64 `json:"certify"`
		Total   float64 `json:"total"`
	} `json:"seconds"`
	Weights int    `json:"weights"`
	RunDir  string `json:"run_dir"`
}

func decodeHbm(t *testing.T, text string) *hbmAnswer {
	t.Helper()
	var result hbmAnswer
	require.NoError(t, json.Unmarshal([]byte(text), &result))
	return &result
}

// A selection finds the terms that the data were simulated from, and writes the files that it
// names. The same seed gives the same numbers.
func TestHbmSelect(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", groups(false))
	args := append([]string{"hbm", "data.csv", "--formula", "y ~ x + (1 + x | g)", "--select"}, quickHbm...)
	out := mustRun(t, append(args, "--json", "--out", "first")...)
	require.Empty(t, out.stderr)
	first := decodeHbm(t, out.stdout)
	probability := map[string]float64{}
	for _, term := range first.Terms {
		probability[term.Term+" "+term.State] = term.Prob
	}
	assert.Greater(t, probability["(Intercept) varying by g"], 0.99)
	assert.Less(t, probability["x absent"], 1e-6)
	assert.InDelta(t, 1, probability["x absent"]+probability["x pooled"]+probability["x varying by g"], 1e-9)
	require.Len(t, first.Models, 2*3)
	assert.Equal(t, "y ~ 1 + x + (1 | g)", first.Models[0].Formula)
	require.Len(t, first.Varying, 24)
	require.Len(t, first.Effects, 2)
	assert.InDelta(t, 0.8, float64(first.Effects[1].Mean), 0.3)
	assert.Equal(t, "sigma", first.SDs[3].Name)
	assert.Zero(t, first.Weights, "nothing is trained for a gaussian response")
	for _, name := range []string{"run.json", "result.json", "effects.csv", "sds.csv", "varying.csv", "checks.csv", "terms.csv", "models.csv",
		"draws.csv", "draws.parquet", "report.html", "figures/caterpillar-1-g.svg", "figures/caterpillar-1-g.png", "figures/caterpillar-2-g.svg"} {
		info, err := os.Stat(filepath.Join("first", name))
		require.NoError(t, err)
		require.Positive(t, info.Size(), name)
	}
	require.Equal(t, first.Effects, decodeHbm(t, readFile(t, "first/result.json")).Effects)

	again := mustRun(t, "hbm", "--resume", "first", "--quiet")
	for _, want := range []string{"data.csv: 72 rows", "12 groups of g", "Terms: probability of each state", "varying by g", "Most probable models",
		"Population effects, averaged over models", "(Intercept) by g: difference from the population", "figures"} {
		assert.Contains(t, again.stdout, want)
	}
	resumed := decodeHbm(t, readFile(t, "first/result.json"))
	require.Equal(t, first.Terms, resumed.Terms)
	require.Equal(t, first.Effects, resumed.Effects)
	require.Equal(t, first.Varying, resumed.Varying)
}

// Counts with one grouping need no training. A repeated run gives the same answer.
func TestHbmPoisson(t *testing.T) {
	testkit.Slow(t)
	rows := strings.SplitAfter(groups(true), "\n")
	emptyDir(t, "data.csv", strings.Join(rows[:1+6*6], "")) // the rows of six groups
	result := decodeHbm(t, mustRun(t, "hbm", "data.csv", "-f", "y ~ x + (1 | g)", "-l", "poisson", "--json", "--out", "out").stdout)
	require.Empty(t, result.Terms)
	require.Empty(t, result.Models)
	require.Len(t, result.SDs, 1)
	require.InDelta(t, 0.4, float64(result.Effects[1].Mean), 0.2)
	require.Equal(t, "trusted", result.Certificate.Verdict)
	require.Nil(t, result.ELBO)
	require.NoFileExists(t, "out/posterior.vti")
	resumed := decodeHbm(t, mustRun(t, "hbm", "--resume", "out", "--json", "--quiet").stdout)
	require.Equal(t, result.Effects, resumed.Effects)
	require.Equal(t, result.Varying, resumed.Varying)
}

// For counts without a grouping a flow is trained. The same seed gives the same flow, and a run
// continues from its checkpoint.
func TestHbmWithoutGroups(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", groups(true))
	args := append([]string{"hbm", "data.csv", "-f", "y ~ x", "-l", "poisson", "--json", "--out", "out"}, quickHbm...)
	result := decodeHbm(t, mustRun(t, args...).stdout)
	require.Empty(t, result.SDs)
	require.InDelta(t, 0.4, float64(result.Effects[1].Mean), 0.2)
	require.InDelta(t, *result.LogEvidence, *result.ELBO, 1)
	require.Positive(t, result.Weights)
	mustRun(t, append(args[:len(args):len(args)], "--out", "again")...)
	require.True(t, readFile(t, "out/posterior.vti") == readFile(t, "again/posterior.vti"), "the checkpoints differ")
	require.FileExists(t, "out/trace.csv")
	resumed := decodeHbm(t, mustRun(t, "hbm", "--resume", "again", "--json", "--quiet").stdout)
	require.Equal(t, result.Effects, resumed.Effects)
}

// TestHbmFamilies compares two variational families with the marginal family, in which effects of
// groups are integrated out. Evidences and means must agree. Runs continue from checkpoints.
func TestHbmFamilies(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "data.csv", groups(false))
	args := []string{"hbm", "data.csv", "-f", "y ~ x + (1 | g)", "--json", "--quiet"}
	marginal := decodeHbm(t, mustRun(t, append(args, "--steps", "60", "--certify-draws", "8192")...).stdout)
	require.Equal(t, "marginal", marginal.Family)
	for _, family := range []string{"pavi-f", "branch"} {
		got := decodeHbm(t, mustRun(t, append(args, "--family", family, "--steps", "300", "--out", family)...).stdout)
		require.Equal(t, family, got.Family)
		require.InDelta(t, *marginal.LogEvidence, *got.LogEvidence, 0.05+5**got.LogEvidenceSE)
		for i, want := range marginal.Effects {
			require.InDelta(t, float64(want.Mean), float64(got.Effects[i].Mean), 0.2*float64(want.SD), want.Name)
		}
		require.Len(t, got.Varying, 12)
		for _, name := range []string{"run.json", "result.json", "posterior.vti", "trace.csv", "varying.csv", "draws.csv", "draws.parquet", "figures/caterpillar-1-g.svg"} {
			require.FileExists(t, filepath.Join(family, name))
		}
		resumed := decodeHbm(t, mustRun(t, "hbm", "--resume", family, "--json", "--quiet").stdout)
		require.Equal(t, got.Effects, resumed.Effects)
		require.Equal(t, got.Varying, resumed.Varying)
	}
	out := mustRun(t, "hbm", "data.csv", "-f", "y ~ x + (1 | g)", "--family", "meanfield", "--steps", "100", "--members", "4", "--quiet")
	require.Contains(t, out.stdout, "(Intercept) by g: difference from the population")
}

// TestHbmInfer trains a network on simulated tables, and asks for an answer for a table that it was
// not trained on. Tables of another shape must be refused with the reason.
func TestHbmInfer(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", groups(false))
	lines := strings.SplitAfter(groups(false), "\n")
	// the rows of the first seven groups
	require.NoError(t, os.WriteFile("other.csv", []byte(strings.Join(lines[:43], "")), 0o644))
	require.NoError(t, os.WriteFile("factor.csv", []byte("y,x,g\n1,a,u\n2,b,u\n4,c,v\n3,a,v\n"), 0o644))
	quick := []string{"--json", "--quiet", "--certify-draws", "200"}
	args := append([]string{"hbm", "data.csv", "-f", "y ~ x + (1 | g)", "--family", "pavi-e", "--out", "model", "--amortize", "--steps", "20", "--batch", "4"}, quick...)
	trained := vtiCommand(t, args...)
	require.Contains(t, []int{0, shell.StatusUntrusted}, trained.status, trained.stderr)
	require.Len(t, decodeHbm(t, trained.stdout).Varying, 12)
	out := vtiCommand(t, append([]string{"hbm", "infer", "model", "other.csv", "--out", "answer"}, quick...)...)
	require.Contains(t, []int{0, shell.StatusUntrusted}, out.status, out.stderr)
	got := decodeHbm(t, out.stdout)
	require.Equal(t, "hbm infer", got.Command)
	require.Equal(t, 42, got.Data.Rows)
	require.Len(t, got.Varying, 7)
	// compared as text, in which NaN equals NaN
	require.Equal(t, fmt.Sprint(got.Effects), fmt.Sprint(decodeHbm(t, readFile(t, "answer/result.json")).Effects))
	text := vtiCommand(t, "hbm", "infer", "model", "other.csv", "--certify-draws", "200")
	require.Contains(t, strings.Join(strings.Fields(text.stdout), " "), "nothing was trained: effects are integrated out in closed form")

	mustRun(t, append([]string{"hbm", "data.csv", "-f", "y ~ x + (1 | g)", "--out", "once"}, quickHbm...)...)
	for want, args := range map[string][]string{
		"expected a run directory and a table, found 1 argument":        {"model"},
		"nosuch is not a run directory":                                 {"nosuch", "other.csv"},
		"once was not trained for other tables than its own":            {"once", "other.csv"},
		`factor.csv: a table of another shape: population effects were`: {"model", "factor.csv"},
	} {
		bad := vtiCommand(t, append([]string{"hbm", "infer"}, args...)...)
		require.Equal(t, shell.StatusUsage, bad.status, bad.stderr)
		require.Contains(t, bad.stderr, want)
	}
	bad := vtiCommand(t, "hbm", "--resume", "answer")
	require.Contains(t, bad.stderr, "answer is a run of vti hbm infer, which cannot be resumed by vti hbm")
}

// TestHbmInferSelection trains a network for a selection of terms on simulated tables. Its answer
// for another table must agree with sums over all models of that table, to 5 standard errors.
func TestHbmInferSelection(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "data.csv", groups(false))
	lines := strings.SplitAfter(groups(false), "\n")
	require.NoError(t, os.WriteFile("other.csv", []byte(strings.Join(lines[:43], "")), 0o644))
	formula := []string{"-f", "y ~ x + (1 | g)", "--select", "--json", "--quiet"}
	trained := vtiCommand(t, append([]string{"hbm", "data.csv", "--family", "pavi-e", "--out", "model", "--amortize", "--steps", "20"}, formula...)...)
	require.Contains(t, []int{0, shell.StatusUntrusted}, trained.status, trained.stderr)
	got := decodeHbm(t, mustRun(t, "hbm", "infer", "model", "other.csv", "--out", "answer", "--json", "--quiet").stdout)
	want := decodeHbm(t, mustRun(t, append([]string{"hbm", "other.csv"}, formula...)...).stdout)
	require.Equal(t, "trusted", got.Certificate.Verdict)
	require.Len(t, got.Terms, 4)
	for i, term := range want.Terms {
		require.Equal(t, term.State, got.Terms[i].State)
		require.InDelta(t, float64(term.Prob), float64(got.Terms[i].Prob), 1e-9+5*math.Hypot(float64(term.SE), float64(got.Terms[i].SE)))
	}
	require.FileExists(t, "answer/terms.csv")
	resumed := mustRun(t, "hbm", "--resume", "model", "--json", "--quiet", "--certify-draws", "4000")
	require.Equal(t, decodeHbm(t, trained.stdout).Terms, decodeHbm(t, resumed.stdout).Terms)
	require.NoError(t, os.WriteFile("narrow.csv", []byte("y,g\n1,u\n2,u\n4,v\n3,v\n"), 0o644))
	bad := vtiCommand(t, "hbm", "infer", "model", "narrow.csv")
	require.Equal(t, shell.StatusUsage, bad.status)
	require.Contains(t, bad.stderr, `no column "x"`)
}

func TestHbmBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no table":            {nil, "no table was given"},
		"no such file":        {[]string{"nosuch.csv", "-f", "y ~ x"}, "nosuch.csv: no such file"},
		"no formula":          {[]string{"data.csv"}, "no formula was given"},
		"bad formula":         {[]string{"data.csv", "-f", "y ~ x +"}, "formula, character 8: got the end, want a term\n  y ~ x +\n         ^"},
		"unknown column":      {[]string{"data.csv", "-f", "y ~ x + (1 | gg)"}, `formula, character 14: data.csv: no column "gg"; the nearest is "g"`},
		"not a count":         {[]string{"data.csv", "-f", "y ~ x", "-l", "poisson"}, "want a count (0, 1, 2, …) for a poisson likelihood"},
		"not 0 or 1":          {[]string{"data.csv", "-f", "y ~ x", "-l", "logistic"}, "want 0 or 1 for a logistic likelihood"},
		"bad likelihood":      {[]string{"data.csv", "-f", "y ~ x", "-l", "normal"}, "want gaussian, student, logistic, poisson, negbinomial, zero-inflated-poisson"},
		"rows as groups":      {[]string{"data.csv", "-f", "y ~ (1 | x)"}, "each of the 72 rows is a group of its own by x"},
		"nothing to select":   {[]string{"data.csv", "-f", "y ~ 1", "--select"}, "no term to select"},
		"many models":         {[]string{"data.csv", "-f", "y ~ x*z*exp(x)*exp(z) + (x*z | g)", "--select"}, "more than 65536 models"},
		"se of counts":        {[]string{"data.csv", "-f", "y ~ x", "-l", "poisson", "--se", "z"}, "known standard errors are for the gaussian likelihood"},
		"negative se":         {[]string{"data.csv", "-f", "y ~ x", "--se", "z"}, `want a positive number`},
		"foreign df":          {[]string{"data.csv", "-f", "y ~ x", "--df", "3"}, "--df is for --likelihood student"},
		"bad scale":           {[]string{"data.csv", "-f", "y ~ x", "--sd-scale", "0"}, `--sd-scale`},
		"bad prior":           {[]string{"data.csv", "-f", "y ~ x", "--sd-prior", "flat"}, "want half-normal, half-cauchy or exponential"},
		"prior of no term":    {[]string{"data.csv", "-f", "y ~ x + (1 | g)", "--prior", "b:z=normal(0,1)"}, `there is no such term; terms that can have a prior are ["x"]`},
		"bad prior of a term": {[]string{"data.csv", "-f", "y ~ x", "--prior", "b:x=normal(0)"}, "--prior: prior \"b:x=normal(0)\""},
		"models of one":       {[]string{"data.csv", "-f", "y ~ x", "--model-prior", "uniform"}, "--model-prior is for --select"},
		"bad flow":            {[]string{"data.csv", "-f", "y ~ x", "--flow", "realnvp"}, `found "realnvp"`},
		"foreign size":        {[]string{"data.csv", "-f", "y ~ x", "--flow", "affine", "--flow-bins", "4"}, "--flow-bins is no size of --flow affine"},
		"bad steps":           {[]string{"data.csv", "-f", "y ~ x", "--steps", "0"}, "expected a whole number from 1"},
		"missing":             {[]string{"holes.csv", "-f", "y ~ x"}, "--na drop leaves these rows out"},
		"out is taken":        {[]string{"data.csv", "-f", "y ~ x", "--out", "taken"}, "taken already holds a run"},
		"resume another run":  {[]string{"--resume", "taken"}, "taken is a run of vti varsel, which cannot be resumed by vti hbm"},
		"resume nothing":      {[]string{"--resume", "none"}, "none is not a run directory"},
		"unknown family":      {[]string{"data.csv", "-f", "y ~ x", "--family", "vae"}, `expected marginal, pavi-f, meanfield, branch, pavi-e, adavi, amortized-branch or joint, found "vae"`},
		"crossed for adavi":   {[]string{"schools.csv", "-f", "y ~ (1 | g) + (1 | h)", "--family", "adavi"}, "--family adavi: hbm: family adavi needs nested plates"},
		"select a family":     {[]string{"data.csv", "-f", "y ~ x", "--family", "joint", "--select"}, "family joint is of one model: to select terms use pavi-f or branch"},
		"encoding of branch":  {[]string{"data.csv", "-f", "y ~ x", "--family", "branch", "--encoding", "4"}, "--encoding does not go with --family branch"},
		"launch of a family":  {[]string{"data.csv", "-f", "y ~ x", "--family", "pavi-f", "--steps-per-launch", "4"}, "--steps-per-launch does not go with --family pavi-f"},
		"amortize branch":     {[]string{"data.csv", "-f", "y ~ x", "--family", "branch", "--amortize"}, "--amortize does not go with --family branch"},
		"members of joint":    {[]string{"data.csv", "-f", "y ~ x + (1 | g)", "--family", "joint", "--members", "2"}, "--family joint: family joint uses the whole table in each step: leave out the number of members"},
		"too many members":    {[]string{"data.csv", "-f", "y ~ x + (1 | g)", "--family", "pavi-f", "--members", "1000"}, "--family pavi-f: members of g in a step: got 1000, want at most "},
		"members of marginal": {[]string{"data.csv", "-f", "y ~ x", "--members", "4"}, "--members does not go with --family marginal"},
		"one group":           {[]string{"one.csv", "-f", "y ~ (1 | g)"}, "all rows are in one group of g"},
		"too many for counts": {[]string{"counts.csv", "-f", "y ~ (1 + a + b + c + d | g)", "-l", "poisson"}, "with the poisson likelihood at most 4 can"},
	} {
		t.Run(name, func(t *testing.T) {
			emptyDir(t, "data.csv", groups(false))
			require.NoError(t, os.Mkdir("taken", 0o755))
			for file, content := range map[string]string{
				"holes.csv": "y,x\n1,2\nNA,3\n4,1\n", "one.csv": "y,g\n1,a\n2,a\n4,a\n",
				"schools.csv":    "y,g,h\n1,a,u\n3,a,v\n2,b,u\n5,b,v\n",
				"counts.csv":     "y,a,b,c,d,g\n1,2,3,1,4,u\n3,1,5,2,2,u\n0,4,2,7,9,v\n2,2,2,3,1,v\n5,3,1,1,5,u\n",
				"taken/run.json": `{"command":"varsel","data":"x","fingerprint":"y"}`,
			} {
				require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
			}
			before := entries(t)
			got := vtiCommand(t, append([]string{"hbm"}, test.args...)...)
			require.Equal(t, shell.StatusUsage, got.status, got.stderr)
			require.Contains(t, got.stderr, test.want)
			require.Empty(t, got.stdout)
			require.Equal(t, before, entries(t), "something was written")
		})
	}
}
