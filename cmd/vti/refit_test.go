package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/predict"
)

// What a posterior without some rows says of them is a ratio of evidences, p(y) over p(y of the
// others), where no prior depends on the table.
func TestLeavingOutAgreesWithEvidences(t *testing.T) {
	lines := []string{"id,x,z,y\n"}
	for i := range 12 {
		x := float64(i%5) - 2
		lines = append(lines, fmt.Sprintf("r%d,%g,%g,%g\n", i/2, x, math.Cos(float64(3*i)), 1.3*x+2*math.Sin(float64(7*i))))
	}
	lines[12] = "r5,6,0.3,14\n" // moves the posterior by itself
	emptyDir(t, "data.csv", strings.Join(lines, ""))
	flags := []string{"--target", "y", "--exclude", "id", "--no-standardize", "--no-intercept", "--sigma", "2", "--model-prior", "uniform", "--json", "--quiet", "--no-report"}
	evidence := func(out string, rows []string) float64 {
		require.NoError(t, os.WriteFile(out+".csv", []byte(strings.Join(rows, "")), 0o644))
		return *decode(t, mustRun(t, append([]string{"exact", out + ".csv", "--out", out}, flags...)...).stdout).LogEvidence
	}
	all := evidence("all", lines)
	var found struct {
		Runs []predict.Ranked `json:"runs"`
	}
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "loo", "all", "--by", "id", "--refit", "--json", "--quiet").stdout), &found))
	groups := found.Runs[0].ByGroup
	require.Len(t, groups.Groups, 6)
	for k, g := range groups.Groups[:5] {
		others := append(append([]string{}, lines[:1+2*k]...), lines[3+2*k:]...)
		want := all - evidence(fmt.Sprintf("without-%d", k), others)
		// of 10,000 draws, with which densities of two rows differ by less than a factor of ten:
		// the standard error is below 0.02
		assert.InDelta(t, want, float64(g.ELPD), 0.08, g.Group)
		assert.Equal(t, "exact", g.Verdict)
	}
	loo := found.Runs[0].LOO
	require.Equal(t, 1, loo.Refits)
	assert.Equal(t, 0, loo.Unreliable)
	last := loo.Rows[11]
	assert.True(t, last.Refit)
	assert.InDelta(t, all-evidence("last", lines[:12]), float64(last.ELPD), 0.5, "in the tail of the draws")

	got := vtiCommand(t, "loo", "all", "--by", "nosuch")
	assert.Equal(t, statusUsage, got.status)
	assert.Contains(t, got.stderr, `no column "nosuch"`)
}
