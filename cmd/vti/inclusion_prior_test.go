package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/varsel"
)

// vti varsel, exact and rjmcmc varsel take prior inclusion probabilities from a file, and name the
// file in their records and texts. Commands that need a prior by model size return an error.
func TestInclusionPriorCommand(t *testing.T) {
	emptyDir(t, "", "")
	require.NoError(t, os.WriteFile("prior.csv", []byte("predictor,probability\nx1,0.9\n*,0.2\n"), 0o644))
	answers := map[string]varsel.Result{}
	for _, command := range [][]string{{"varsel"}, {"exact"}, {"rjmcmc", "varsel"}} {
		args := append(command, testdata(t, "hald.csv"), "--target", "y", "--inclusion-prior", "prior.csv", "--out", command[0])
		out := mustRun(t, args...)
		require.Contains(t, out.stdout+out.stderr, "models: inclusion probabilities of prior.csv, 1.5 predictors expected")
		var result varsel.Result
		require.NoError(t, json.Unmarshal([]byte(readFile(t, command[0], "result.json")), &result))
		require.Equal(t, "prior.csv", result.InclusionPrior)
		require.Equal(t, varsel.Number(0.9), *result.Inclusion[0].Prior)
		require.Equal(t, varsel.Number(0.2), *result.Inclusion[3].Prior)
		require.Len(t, result.SizePrior, 5)
		answers[command[0]] = result
	}
	for j, in := range answers["exact"].Inclusion {
		require.InDelta(t, float64(in.Certified), float64(answers["varsel"].Inclusion[j].Certified), 1e-8)
		chains := answers["rjmcmc"].Inclusion[j]
		require.InDelta(t, float64(in.Certified), float64(chains.Certified), 5*float64(chains.SE)+1e-3)
	}
	require.Contains(t, readFile(t, "varsel", "run.json"), `"inclusion_prior"`)
	require.Contains(t, mustRun(t, "report", "varsel").stdout+readFile(t, "varsel", "report.html"), "inclusion probabilities of")

	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"exact", testdata(t, "hald.csv"), "--target", "y", "--inclusion-prior", "prior.csv", "--model-prior", "uniform"}, "want one of them"},
		{[]string{"exact", testdata(t, "hald.csv"), "--target", "y", "--model-prior", "inclusion"}, "want one for each of 4 predictors"},
		{[]string{"exact", testdata(t, "hald.csv"), "--target", "y", "--inclusion-prior", "none.csv"}, "none.csv"},
		{[]string{"varsel", testdata(t, "hald.csv"), "--target", "y", "--inclusion-prior", "prior.csv", "--interactions"}, "want --heredity none"},
		{[]string{"coloc", "exact", "varsel"}, "prior inclusion probabilities of their own"},
		{[]string{"calibrate", "varsel", "--inclusion-prior", "prior.csv", "--out", "study"}, "unknown flag"},
	} {
		got := vtiCommand(t, c.args...)
		require.NotZero(t, got.status)
		require.Contains(t, got.stderr, c.says)
	}
}
