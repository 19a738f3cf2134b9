package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
)

const studyOfTables = `
command = "exact"
seed = 1
[simulate]
problem = "varsel"
seeds = 2
flags = {predictors = 3, effects = 1, rows = 30}
[flags]
target = "y"
[grid]
prior-sd = [0.5, 1.5]
`

func TestStudy(t *testing.T) {
	t.Setenv(mainVariable, "1") // the tasks of a study are processes
	emptyDir(t, "plan.toml", studyOfTables)
	got := vtiCommand(t, "study", "plan", "plan.toml")
	require.Equal(t, shell.StatusOK, got.status, got.stderr)
	require.Contains(t, got.stdout, "4 tasks of vti exact")
	require.Contains(t, got.stdout, "1 task to run; by the pilot tasks, each takes")
	got = vtiCommand(t, "study", "submit", "plan.toml", "--slurm", "--print")
	require.Equal(t, shell.StatusOK, got.status, got.stderr)
	require.Contains(t, got.stdout, "#SBATCH --array=0\n")
	got = vtiCommand(t, "study", "run", "plan.toml", "--jobs", "2")
	require.Equal(t, shell.StatusOK, got.status, got.stderr)
	require.Contains(t, got.stdout, "4 tasks: 4 done, 0 failed, 0 missing; 3 had ended before")
	got = vtiCommand(t, "study", "collect", "plan.toml", "--out", "results.parquet", "--json")
	require.Equal(t, shell.StatusOK, got.status, got.stderr)
	var summary struct {
		Done     int
		Verdicts map[string]int
		Files    map[string]int
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &summary))
	require.Equal(t, 4, summary.Done)
	require.Equal(t, map[string]int{"exact": 4}, summary.Verdicts)
	require.Equal(t, 12, summary.Files["results.inclusion.parquet"])
	got = vtiCommand(t, "report", "plan.toml")
	require.Equal(t, shell.StatusOK, got.status, got.stderr)
	page, err := os.ReadFile(filepath.Join("plan.study", "report.html"))
	require.NoError(t, err)
	for _, want := range []string{"Of 4 tasks 4 are done", "prior-sd", "Probabilities of all answers", "Memory of tasks"} {
		require.Contains(t, string(page), want)
	}
	require.NotContains(t, string(page), "data_seed")
	got = vtiCommand(t, "study", "status", "plan.toml", "--json")
	require.JSONEq(t, `{"schema": "vti/study-status/1", "tasks": 4, "done": 4, "failed": 0, "missing": 0, "working": 0}`, got.stdout)
}

// If a task fails, the message names it, and the command has an exit status for it.
func TestStudyReportsFailures(t *testing.T) {
	t.Setenv(mainVariable, "1")
	emptyDir(t, "plan.toml", "command = \"exact\"\ntables = {files = [\"*.csv\"]}\nflags = {target = \"y\"}")
	require.NoError(t, os.WriteFile("a.csv", []byte("y,x\n1,2\n2,3\n4,1\n3,3\n"), 0o644))
	require.NoError(t, os.WriteFile("b.csv", []byte("y,x\n1,2\n2\n"), 0o644))
	got := vtiCommand(t, "study", "run", "plan.toml")
	require.Equal(t, shell.StatusFailure, got.status)
	require.Contains(t, got.stderr, "vti: 1 task failed")
	require.Equal(t, shell.StatusOK, vtiCommand(t, "report", "plan.toml").status)
	page, err := os.ReadFile(filepath.Join("plan.study", "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "Tasks without an answer")
	require.Contains(t, string(page), "b.csv")
	got = vtiCommand(t, "study", "status", "plan.toml")
	require.Contains(t, got.stdout, "2 tasks: 1 done, 1 failed, 0 missing")
	require.Contains(t, got.stdout, "failed: b.csv: line 3")
}

func TestStudyMistakes(t *testing.T) {
	emptyDir(t, "plan.toml", "")
	plan := func(text string) {
		require.NoError(t, os.WriteFile("plan.toml", []byte(text), 0o644))
	}
	const simulate = "\nsimulate = {problem = \"varsel\", seeds = 2}\n"
	for text, want := range map[string]string{
		`command = "compare"` + simulate:                                                        `command: expected varsel, exact`,
		`command = "exact"` + simulate + `flags = {targt = "y"}`:                                "flag targt: vti exact has none of that name",
		`command = "exact"` + simulate + `grid = {out = ["y"]}`:                                 "flag out: every task sets it itself",
		`command = "exact"` + simulate + `grid = {sigma = [-1]}`:                                "flag sigma: ",
		"command = \"exact\"\nsimulate = {problem = \"varsel\", seeds = 2, flags = {rows = 1}}": "flag rows: expected a whole number from 2",
	} {
		plan(text)
		got := vtiCommand(t, "study", "plan", "plan.toml")
		require.Equal(t, shell.StatusUsage, got.status, text)
		require.Contains(t, got.stderr, want)
	}
	plan(`command = "exact"` + simulate)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "plan.toml", "--index", "2"}, "--index: got index 2, want one from 0 to 1"},
		{[]string{"run", "plan.toml", "--shard", "2"}, `--shard: got "2", want I/N`},
		{[]string{"run", "plan.toml", "--shards", "2"}, "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set"},
		{[]string{"run", "plan.toml", "--index", "0", "--shard", "0/1"}, "none of the others can be"},
		{[]string{"collect", "plan.toml"}, "expected --out with a name that ends in .parquet"},
		{[]string{"submit", "plan.toml"}, "expected either --slurm or --kubernetes"},
		{[]string{"status"}, "expected one PLAN, found 0 arguments"},
		{[]string{"status", "none.toml"}, "none.toml: no such file"},
	} {
		got := vtiCommand(t, append([]string{"study"}, c.args...)...)
		require.Equal(t, shell.StatusUsage, got.status, c.want)
		require.Contains(t, got.stderr, c.want)
	}
	require.NoDirExists(t, "plan.study")
}
