package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/predict"
)

// TestLeavingOutAgreesWithEvidences compares the predictive density of left-out rows, given the
// remaining rows, with the evidence of all rows divided by the evidence of the remaining rows. The
// two are equal if no prior depends on the table.
func TestLeavingOutAgreesWithEvidences(t *testing.T) {
	lines := []string{"id,x,z,y\n"}
	for i := range 12 {
		x := float64(i%5) - 2
		lines = append(lines, fmt.Sprintf("r%d,%g,%g,%g\n", i/2, x, math.Cos(float64(3*i)), 1.3*x+2*math.Sin(float64(7*i))))
	}
	lines[12] = "r5,6,0.3,14\n" // this row changes the posterior much
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
		// The density is a mean over 10,000 draws, in which it varies by a factor below ten, so
		// that its relative standard error is below 0.02.
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
	assert.Equal(t, shell.StatusUsage, got.status)
	assert.Contains(t, got.stderr, `no column "nosuch"`)
}

// TestGroupsOfTrialsAreThoseOfRows compares predictions of groups from counts of successes and from
// a table with a row for each trial.
func TestGroupsOfTrialsAreThoseOfRows(t *testing.T) {
	testkit.Long(t)
	counts, rows := "y,n,x,g\n", "y,x,g\n"
	for g := range 5 {
		for k := range 3 {
			n, x := 4+(g+k)%3, float64(k)-1
			y := (g*(k+2) + k) % (n + 1)
			counts += fmt.Sprintf("%d,%d,%g,g%d\n", y, n, x, g)
			for i := range n {
				rows += fmt.Sprintf("%d,%g,g%d\n", min(1, max(0, y-i)), x, g)
			}
		}
	}
	emptyDir(t, "counts.csv", counts)
	require.NoError(t, os.WriteFile("rows.csv", []byte(rows), 0o644))
	groups := func(table string, flags ...string) *predict.ByGroup {
		require.NoError(t, os.RemoveAll(table+".run"))
		mustRun(t, slices.Concat([]string{flags[0], table}, flags[1:], []string{"--likelihood", "logistic", "--out", table + ".run", "--quiet", "--no-report"})...)
		var found struct {
			Runs []predict.Ranked `json:"runs"`
		}
		require.NoError(t, json.Unmarshal([]byte(mustRun(t, "loo", table+".run", "--by", "g", "--json", "--quiet").stdout), &found))
		return found.Runs[0].ByGroup
	}
	for _, formulas := range []struct{ rows, counts []string }{
		{[]string{"hbm", "--formula", "y ~ x + (1 | g)"}, []string{"hbm", "--formula", "y | trials(n) ~ x + (1 | g)"}},
		{[]string{"varsel", "--target", "y", "--exclude", "g"}, []string{"varsel", "--target", "y", "--trials", "n", "--exclude", "g"}},
		{[]string{"varsel", "--formula", "y ~ x + I(x^2)"}, []string{"varsel", "--formula", "y | trials(n) ~ x + I(x^2)"}},
	} {
		want, got := groups("rows.csv", formulas.rows...), groups("counts.csv", formulas.counts...)
		require.Len(t, got.Groups, 5)
		for k, g := range got.Groups {
			require.Equal(t, want.Groups[k].Group, g.Group)
			require.Equal(t, want.Groups[k].Rows, g.Rows)
			require.InDelta(t, float64(want.Groups[k].ELPD), float64(g.ELPD), 0.1, "of thousands of draws each, with densities of 15 rows")
		}
	}
	// a new row is one trial, and needs neither the column of successes nor the column of trials
	require.NoError(t, os.WriteFile("new.csv", []byte("x\n0.5\n-1\n"), 0o644))
	require.Contains(t, mustRun(t, "predict", "counts.csv.run", "new.csv").stdout, "Predictions of 2 rows")
}
