package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/varsel/colocate"
)

// vti coloc says that two runs used one table, repeats a verdict that is not trusted, and returns
// an error for an invalid prior.
func TestColocCommand(t *testing.T) {
	emptyDir(t, "", "")
	mustRun(t, "exact", testdata(t, "hald.csv"), "--target", "y", "--out", "exact", "--quiet")
	mustRun(t, "varsel", testdata(t, "hald.csv"), "--target", "y", "--out", "run", "--quiet", "--no-report")

	var found colocate.Result
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "coloc", "exact", "run", "--json").stdout), &found))
	require.Len(t, found.Hypotheses, 5)
	sum := 0.0
	for _, h := range found.Hypotheses {
		sum += float64(h.Probability)
	}
	require.InDelta(t, 1, sum, 1e-12)
	require.Len(t, found.Notes, 1)
	require.Contains(t, found.Notes[0], "both runs use the same table")

	text := mustRun(t, "coloc", "exact", "run").stdout
	require.Contains(t, text, "the responses of the two runs share a predictor")
	require.Contains(t, text, "B: run (vti varsel, trusted)")

	for _, prior := range []string{"0", "1", "-1"} {
		got := vtiCommand(t, "coloc", "exact", "run", "--prior", prior)
		require.NotZero(t, got.status)
		require.Contains(t, got.stderr, "want a number between 0 and 1")
	}
	result := strings.ReplaceAll(readFile(t, "run", "result.json"), `"trusted"`, `"doubtful"`)
	require.NoError(t, os.WriteFile("run/result.json", []byte(result), 0o644))
	require.Contains(t, mustRun(t, "coloc", "exact", "run").stdout, "note: run is doubtful: so is what is said here")
}
