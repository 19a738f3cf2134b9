package main

import (
	"encoding/json"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/varsel"
)

func TestCompareCommand(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "", "")
	data := []string{testdata(t, "hald.csv"), "--target", "y", "--sigma", "2.5", "--quiet"}
	mustRun(t, append([]string{"exact", "--out", "exact"}, data...)...)
	mustRun(t, append([]string{"rjmcmc", "varsel", "--out", "chains", "--chains", "64", "--iterations", "400", "--burn-in", "300"}, data...)...)
	mustRun(t, append([]string{"varsel", "--out", "run", "--steps", "2000", "--batch", "128", "--flow-layers", "3", "--flow-blocks", "1", "--flow-hidden", "16"}, data...)...)

	text := mustRun(t, "compare", "exact", "run", "--out", "a").stdout
	assert.Contains(t, text, "Total variation between the model probabilities: 0\n")
	assert.Contains(t, text, "Cross-entropy of A's draws under B's density")

	got := mustRun(t, "compare", "chains", "run", "--out", "b", "--json")
	var c varsel.Comparison
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &c))
	assert.Equal(t, c.TotalVariation.Low, c.TotalVariation.High)
	assert.Less(t, float64(c.TotalVariation.High), 0.1)
	require.NotNil(t, c.CrossEntropy)
	assert.Zero(t, c.CrossEntropy.NonFinite)
	assert.Greater(t, float64(c.CrossEntropy.SE), 0.0)
	assert.InDelta(t, float64(c.CrossEntropy.OwnDraws), float64(c.CrossEntropy.Mean), 5*float64(c.CrossEntropy.SE)+0.3)
	assert.JSONEq(t, readFile(t, "b", compare.File), got.stdout)

	// Compare a run with itself. Its stored draws are mapped from the scale of the table back to
	// the working scale, where they must have the log densities that the run stored. The tolerance
	// is the precision of a flow in float32.
	mustRun(t, "compare", "run", "run", "--out", "c", "--json")
	require.NoError(t, json.Unmarshal([]byte(readFile(t, "c", compare.File)), &c))
	assert.InDelta(t, float64(c.CrossEntropy.OwnDraws), float64(c.CrossEntropy.Mean), 1e-3)
	assert.Zero(t, float64(c.TotalVariation.High))
	assert.Empty(t, c.Disagreements)

	file, err := os.Open("a/models.png")
	require.NoError(t, err)
	defer file.Close()
	image, err := png.Decode(file)
	require.NoError(t, err)
	assert.Greater(t, image.Bounds().Dx(), 500)
	assert.True(t, strings.Contains(readFile(t, "a/models.svg"), "</svg>"))

	again := vtiCommand(t, "compare", "exact", "run", "--out", "a")
	assert.Equal(t, shell.StatusUsage, again.status)
	assert.Contains(t, again.stderr, "a already holds a comparison")
	require.NoError(t, os.WriteFile("comparison.json", []byte("{}"), 0o600))
	mustRun(t, "compare", "exact", "run") // into a new directory, whatever this one holds
	over := vtiCommand(t, "compare", "exact", "run", "--out", "run")
	assert.Equal(t, shell.StatusUsage, over.status)
	assert.Contains(t, over.stderr, "run already holds a run")
}

func TestCompareRefuses(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", "a,b,k,y\n1,2,1,3\n2,5,1,4.5\n4,3,2,1\n5,1,2,7\n7,2,1,6\n")
	require.NoError(t, os.WriteFile("other.csv", []byte("a,b,k,y\n1,2,1,3\n2,5,1,4.5\n4,3,2,1\n5,1,2,7\n7,2,1,6.5\n"), 0o644))
	exact := func(out string, args ...string) {
		mustRun(t, append([]string{"exact", "--quiet", "--out", out}, args...)...)
	}
	exact("base", "data.csv", "--target", "y")
	exact("other", "other.csv", "--target", "y")
	exact("target", "data.csv", "--target", "b")
	exact("fewer", "data.csv", "--target", "y", "--exclude", "k")
	exact("slab", "data.csv", "--target", "y", "--prior-sd", "1")
	require.NoError(t, os.CopyFS("unfinished", os.DirFS("base")))
	require.NoError(t, os.Remove("unfinished/result.json"))
	for other, want := range map[string]string{
		"other":      "base and other analyse different tables",
		"target":     `base explains "y" and target explains "b"`,
		"fewer":      `only in base: ["k"]; only in fewer: []`,
		"unfinished": "unfinished holds no result.json: the run has not finished",
		"nowhere":    "nowhere is not a run directory",
	} {
		before := entries(t)
		got := vtiCommand(t, "compare", "base", other)
		assert.Equal(t, shell.StatusUsage, got.status)
		assert.Contains(t, got.stderr, want)
		assert.Equal(t, before, entries(t))
	}
	got := mustRun(t, "compare", "base", "slab")
	assert.Contains(t, got.stdout, "note: slab_scale: 1.5 in A, 1 in B")
	assert.Contains(t, got.stdout, "no cross-entropy: B has no density (exact)")
}

// The approximate density of the parameters is not compared if it was never fitted, because the
// answer came from model probabilities alone.
func TestCompareWithoutDensity(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "", "")
	mustRun(t, "simulate", "varsel", "--rows", "60", "--predictors", "24", "--effects", "2", "--seed", "1", "--out", "data.csv")
	for _, seed := range []string{"1", "2"} {
		mustRun(t, "varsel", "data.csv", "--target", "y", "--seed", seed, "--quiet", "--no-report", "--out", "run"+seed)
	}
	text := mustRun(t, "compare", "run1", "run2").stdout
	assert.Contains(t, text, "no cross-entropy: the answer of B needed no density")
	assert.NotContains(t, text, "Cross-entropy of A's draws")
}

// TestCompareGraphs compares a run of vti dag by a flow with vti exact dag: the total variation
// distance of the posteriors over graphs must be below 0.02. Runs with other settings get a note.
func TestCompareGraphs(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", collider(80))
	mustRun(t, "exact", "dag", "data.csv", "--sem", "linear", "--quiet", "--out", "exact")
	mustRun(t, "dag", "data.csv", "--quiet", "--structure", "flow", "--steps", "150", "--batch", "128", "--out", "run")
	mustRun(t, "dag", "data.csv", "--quiet", "--structure", "flow", "--steps", "20", "--batch", "64", "--sigma", "1", "--out", "sigma")
	got := mustRun(t, "compare", "exact", "run", "--out", "a", "--json")
	var c dag.Comparison
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &c))
	require.NotNil(t, c.TotalVariation)
	assert.Less(t, float64(c.TotalVariation.High), 0.02)
	assert.Len(t, c.Edges, 6)
	assert.InDelta(t, 0, float64(c.LogEvidence.Difference), 0.02)
	assert.Empty(t, c.Notes)
	assert.JSONEq(t, readFile(t, "a", compare.File), got.stdout)
	assert.FileExists(t, "a/edges.csv")
	assert.FileExists(t, "a/models.svg")

	text := mustRun(t, "compare", "exact", "sigma", "--out", "b").stdout
	assert.Contains(t, text, "note: sigma: 0 in A, 1 in B")
	assert.Contains(t, text, "a->c")

	mustRun(t, tiny("varsel", "data.csv", "--target", "c", "--out", "selection")...)
	other := vtiCommand(t, "compare", "run", "selection")
	assert.Equal(t, shell.StatusUsage, other.status)
	assert.Contains(t, other.stderr, "run is about graphs and selection about variable selection: there is nothing to compare")
}

// Regressions of one response with different formulas have comparable evidences and parameters.
func TestCompareRegressions(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "", "")
	sleep := testdata(t, "sleepstudy.csv")
	for out, formula := range map[string]string{"slopes": "Reaction ~ Days + (Days | Subject)", "intercepts": "Reaction ~ Days + (1 | Subject)", "logs": "log(Reaction) ~ Days + (1 | Subject)"} {
		mustRun(t, "hbm", sleep, "--formula", formula, "--quiet", "--out", out)
	}
	got := mustRun(t, "compare", "slopes", "intercepts", "--out", "a", "--json")
	var c regression.Comparison
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &c))
	require.NotNil(t, c.LogEvidence)
	assert.Greater(t, float64(c.LogEvidence.Difference), 10.0, "slopes vary: REML's log likelihoods differ by 21")
	assert.Nil(t, c.TotalVariation)
	require.NotEmpty(t, c.Estimates)
	assert.Equal(t, "Days", c.Estimates[1].Name)
	assert.InDelta(t, 0, float64(c.Estimates[1].Shift), 0.3)
	assert.InDelta(t, 1.68/0.81, float64(c.Estimates[1].Ratio), 0.4)
	text := mustRun(t, "compare", "slopes", "intercepts", "--out", "b").stdout
	assert.Contains(t, text, "note: formula: Reaction ~ Days + (Days | Subject) in A, Reaction ~ Days + (1 | Subject) in B")
	assert.Contains(t, text, "Log evidence: ")
	assert.NoFileExists(t, "b/models.csv")
	other := vtiCommand(t, "compare", "slopes", "logs")
	assert.Contains(t, other.stderr, "slopes explains Reaction and logs explains log(Reaction)")
}
