package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/mixture"
)

// The first line after the description of the problem is the answer, and JSON has the same answer.
func TestMixture(t *testing.T) {
	testkit.Slow(t)
	rows := []string{"x"}
	for i := range 40 {
		rows = append(rows, fmt.Sprintf("%g", float64(i*i%37)/37+5*float64(i%2)+float64(i)/1000))
	}
	emptyDir(t, "data.csv", strings.Join(rows, "\n")+"\n")
	args := []string{"mixture", "data.csv", "--column", "x", "--max-components", "3", "--sweeps", "6000", "-q"}
	got := mustRun(t, append(args, "--out", "run")...)
	require.Contains(t, got.stdout, "Most probably 2 components")
	require.Contains(t, entries(t), "run/rows.csv")
	got = mustRun(t, append(args, "--out", "other", "--json")...)
	var result mixture.Result
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &result))
	require.Len(t, result.Rows, 40)
	require.Equal(t, 2, result.Given.Components)
	text := mustRun(t, "compare", "run", "other", "--out", "both").stdout
	require.Contains(t, text, "Total variation between the model probabilities: 0", "the same seed")
	require.Contains(t, text, "components of a mixture")
}

// Bad input leaves nothing behind and exits with status 2.
func TestMixtureRefusesBadInput(t *testing.T) {
	emptyDir(t, "data.csv", "x,c,t,w\n1,2,1,7\n2,2,1,1.5\n3.5,2,1,3\n4,2,2,2.9\n")
	for _, test := range []struct{ args, want string }{
		{"", "want the column of values"},
		{"--column z", "no column"},
		{"--column c", "constant"},
		{"--column x --max-components 9", "fewer than the 9 components"},
		{"--column x --family poisson", "got 3.5, want counts"},
		{"--column x --family cauchy", "unknown family"},
		{"--column x --family multivariate", "at least two columns"},
		{"--column x,t --family student", "takes one column"},
		{"--column x --df 3", "belong to the family student"},
		{"--column x,x", "named twice"},
	} {
		got := vtiCommand(t, append([]string{"mixture", "data.csv"}, strings.Fields(test.args)...)...)
		require.Equal(t, shell.StatusUsage, got.status, test.args)
		require.Contains(t, got.stderr, test.want)
		require.Equal(t, ".\ndata.csv", entries(t))
	}
}
