package main

import (
	"encoding/json"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/varsel"
)

func TestCompareCommand(t *testing.T) {
	emptyDir(t, "", "")
	data := []string{testdata(t, "hald.csv"), "--target", "y", "--sigma", "2.5", "--quiet"}
	mustRun(t, append([]string{"exact", "--out", "exact"}, data...)...)
	mustRun(t, append([]string{"rjmcmc", "varsel", "--out", "chains", "--chains", "64", "--iterations", "400", "--burn-in", "300"}, data...)...)
	mustRun(t, append([]string{"varsel", "--out", "run", "--steps", "2000", "--batch", "128", "--layers", "3", "--blocks", "1", "--hidden", "16"}, data...)...)

	text := mustRun(t, "compare", "exact", "run", "--out", "a").stdout
	assert.Contains(t, text, "Total variation between the model probabilities: 0.0")
	assert.Contains(t, text, "no cross-entropy: A has no draws (exact)")

	got := mustRun(t, "compare", "chains", "run", "--out", "b", "--json")
	var c varsel.Comparison
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &c))
	assert.Equal(t, c.TotalVariation.Low, c.TotalVariation.High)
	assert.Less(t, float64(c.TotalVariation.High), 0.1)
	require.NotNil(t, c.CrossEntropy)
	assert.Zero(t, c.CrossEntropy.NonFinite)
	assert.Greater(t, float64(c.CrossEntropy.SE), 0.0)
	assert.InDelta(t, float64(c.CrossEntropy.OwnDraws), float64(c.CrossEntropy.Mean), 5*float64(c.CrossEntropy.SE)+0.3)
	assert.JSONEq(t, readFile(t, "b", varsel.ComparisonFile), got.stdout)

	// B's own draws, taken from the table's scale back to the working scale, have the density that they were written with. The
	// tolerance is that of the flow's float32.
	mustRun(t, "compare", "run", "run", "--out", "c", "--json")
	require.NoError(t, json.Unmarshal([]byte(readFile(t, "c", varsel.ComparisonFile)), &c))
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
	assert.Equal(t, statusUsage, again.status)
	assert.Contains(t, again.stderr, "a already holds a comparison")
	over := vtiCommand(t, "compare", "exact", "run", "--out", "run")
	assert.Equal(t, statusUsage, over.status)
	assert.Contains(t, over.stderr, "run already holds a run")
}

func TestCompareRefuses(t *testing.T) {
	emptyDir(t, "data.csv", "a,b,k,y\n1,2,1,3\n2,5,1,4.5\n4,3,2,1\n5,1,2,7\n7,2,1,6\n")
	require.NoError(t, os.WriteFile("other.csv", []byte("a,b,k,y\n1,2,1,3\n2,5,1,4.5\n4,3,2,1\n5,1,2,7\n7,2,1,6.5\n"), 0o644))
	exact := func(out string, args ...string) {
		mustRun(t, append([]string{"exact", "--quiet", "--out", out}, args...)...)
	}
	exact("base", "data.csv", "--target", "y")
	exact("other", "other.csv", "--target", "y")
	exact("target", "data.csv", "--target", "b")
	exact("fewer", "data.csv", "--target", "y", "--exclude", "k")
	exact("slab", "data.csv", "--target", "y", "--slab-scale", "1")
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
		assert.Equal(t, statusUsage, got.status)
		assert.Contains(t, got.stderr, want)
		assert.Equal(t, before, entries(t))
	}
	got := mustRun(t, "compare", "base", "slab")
	assert.Contains(t, got.stdout, "note: slab scale: 1.5 in A, 1 in B")
	assert.Contains(t, got.stdout, "no cross-entropy: B has no density (exact)")
}
