package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
)

// TestCertifyByShards checks that several processes that share a certification (shards) give the
// same result as one process, except for times and the directory.
func TestCertifyByShards(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "none", "")
	mustRun(t, "simulate", "varsel", "--rows", "40", "--predictors", "10", "--effects", "2", "--likelihood", "logistic", "--seed", "1", "--out", "t.csv")
	mustRun(t, "varsel", "t.csv", "--target", "y", "--likelihood", "logistic", "--quiet", "--no-report", "--steps", "2", "--seed", "1", "--out", "run")
	require.NoError(t, os.CopyFS("shared", os.DirFS("run")))
	require.NoError(t, os.Remove(filepath.Join("shared", "run.json")))
	record, err := os.ReadFile(filepath.Join("run", "run.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("shared", "run.json"), record, 0o644))
	mustRun(t, "certify", "run", "--quiet", "--no-report")
	got := mustRun(t, "certify", "shared", "--quiet", "--shard", "1/2", "--json")
	var shard struct{ Shard, Shards, Computed, Read int }
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &shard))
	require.Equal(t, 1, shard.Shard)
	require.Positive(t, shard.Computed)
	t.Setenv("SLURM_ARRAY_TASK_ID", "0")
	require.Contains(t, mustRun(t, "certify", "shared", "--quiet", "--shards", "2").stdout, "shard 0 of 2: 0 pieces computed")
	mustRun(t, "certify", "shared", "--merge", "--quiet", "--no-report")
	read := func(dir string) (fields map[string]json.RawMessage) {
		content, err := os.ReadFile(filepath.Join(dir, "result.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(content, &fields))
		delete(fields, "seconds")
		delete(fields, "run_dir")
		return fields
	}
	require.Equal(t, read("run"), read("shared"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--shard", "2/2"}, `--shard: got "2/2", want I/N`},
		{[]string{"run", "--chains", "4"}, "--chains is not for run, which is a run of vti varsel"},
		{[]string{"run", "--shard", "0/2", "--merge"}, "none of the others can be"},
		{[]string{"."}, "not a run directory"},
		{nil, "expected one RUN, found 0 arguments"},
	} {
		got := vtiCommand(t, append([]string{"certify"}, c.args...)...)
		require.Equal(t, shell.StatusUsage, got.status, c.want)
		require.Contains(t, got.stderr, c.want)
	}
}
