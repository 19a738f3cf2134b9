package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/shell"
)

// The first line after the description of the problem is the answer, and JSON has the same answer.
func TestChangepoints(t *testing.T) {
	rows := []string{"week,cases"}
	for i, count := range []string{"2", "1", "3", "2", "0", "2", "1", "9", "8", "11", "7", "10", "9", "8"} {
		rows = append(rows, fmt.Sprintf("%d,%s", i, count))
	}
	emptyDir(t, "cases.csv", strings.Join(rows, "\n")+"\n")
	got := mustRun(t, "changepoints", "cases.csv", "--time", "week", "--value", "cases", "--model", "rate", "--mean-changes", "1", "--out", "run", "-q")
	require.Contains(t, got.stdout, "Most probably 1 change")
	byRow := mustRun(t, "changepoints", "cases.csv", "--value", "cases", "--model", "rate", "--mean-changes", "1", "-q")
	require.Contains(t, byRow.stdout, "together most likely at 8.") // rows count from 1
	require.Contains(t, got.stdout, "at week 7.")
	require.Contains(t, got.stdout, "TRUSTED: an exact sum")
	require.Contains(t, entries(t), "run/curve.csv")
	got = mustRun(t, "changepoints", "cases.csv", "--time", "week", "--value", "cases", "--model", "rate", "--mean-changes", "1", "--out", "other", "-q", "--json")
	var result changepoint.Result
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &result))
	require.Equal(t, 1, result.Given.Changes)
	require.Greater(t, float64(result.Counts[1].Probability), 0.5)
}

// Bad input leaves nothing behind and exits with status 2.
func TestChangepointsRefusesBadInput(t *testing.T) {
	emptyDir(t, "data.csv", "t,y,c\n1,2,1\n2,2,-3\n3,2,4\n4,2,1\n")
	for _, test := range []struct{ args, want string }{
		{"--time t --value y", "constant"},
		{"--time t --value c --model rate", "got -3, want counts"},
		{"--time nothing", "no column"},
		{"--value y --model slop", "unknown model"},
		{"--time t --value c --max-changes 7", "can hold at most 3 changes"},
		{"", "want the column of the moments"},
	} {
		got := vtiCommand(t, append([]string{"changepoints", "data.csv"}, strings.Fields(test.args)...)...)
		require.Equal(t, shell.StatusUsage, got.status, test.args)
		require.Contains(t, got.stderr, test.want)
		require.Equal(t, ".\ndata.csv", entries(t))
	}
	// These values have no noise, which is found only after the run directory has been created. The
	// directory must be removed again.
	rows := []string{"t,y"}
	for i := range 40 {
		rows = append(rows, fmt.Sprintf("%d,%d", i, i/20))
	}
	emptyDir(t, "steps.csv", strings.Join(rows, "\n")+"\n")
	got := vtiCommand(t, "changepoints", "steps.csv", "--time", "t", "--value", "y")
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "equal up to rounding")
	require.NotContains(t, entries(t), "run.json")
	got = vtiCommand(t, "changepoints", "steps.csv", "--time", "t", "--value", "y", "--out", "there")
	require.Equal(t, shell.StatusUsage, got.status)
	require.NotContains(t, entries(t), "run.json")
}
