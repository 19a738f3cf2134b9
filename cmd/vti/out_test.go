package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/report"
	"github.com/transdim/vti/varsel"
)

// A run overwrites only files that it has written itself: neither a table whose name is the name of
// a file of the run, nor the result of another run.
func TestNothingForeignIsOverwritten(t *testing.T) {
	for name, test := range map[string]struct{ file, args, want string }{
		"the table":          {"models.csv", "varsel models.csv --target y --out .", ". holds models.csv, which the run would overwrite: choose another --out"},
		"a foreign result":   {"result.json", "varsel data.csv --target y --out .", ". holds result.json, which"},
		"of exact":           {"models.csv", "exact models.csv --target y --out .", ". holds models.csv, which"},
		"of chains":          {"draws.csv", "rjmcmc varsel data.csv --target y --out .", ". holds draws.csv, which"},
		"of graphs":          {"edges.csv", "dag data.csv --exclude c --out .", ". holds edges.csv, which"},
		"of exact graphs":    {"graph.dot", "exact dag data.csv --exclude c --out .", ". holds graph.dot, which"},
		"of hierarchical":    {"varying.csv", "hbm data.csv -f y~a --out .", ". holds varying.csv, which"},
		"a trace of another": {"trace.csv", "varsel data.csv --target y --out .", ". holds trace.csv, which"},
	} {
		t.Run(name, func(t *testing.T) {
			emptyDir(t, "data.csv", good)
			require.NoError(t, os.WriteFile(test.file, []byte(good), 0o644))
			before := entries(t)
			got := vtiCommand(t, strings.Fields(test.args)...)
			assert.Equal(t, shell.StatusUsage, got.status, got.stderr)
			assert.Empty(t, got.stdout)
			assert.Contains(t, got.stderr, test.want)
			assert.Equal(t, before, entries(t))
			assert.Equal(t, good, readFile(t, test.file))
		})
	}
	t.Run("other files do no harm", func(t *testing.T) {
		emptyDir(t, "data.csv", good)
		mustRun(t, "exact", "data.csv", "--target", "y", "--out", ".", "--quiet")
		assert.Equal(t, good, readFile(t, "data.csv"))
	})
}

// Runs write only the files that their lists of files name. A directory with one of these files is
// refused.
func TestRunsWriteOnlyTheirFiles(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", collider(40))
	require.NoError(t, os.WriteFile("groups.csv", []byte("y,x,g\n1,2,a\n2,3,a\n4,1,b\n5,2,b\n3,3,a\n6,1,b\n2,5,c\n1,4,c\n"), 0o644))
	for dir, test := range map[string]struct {
		args  []string
		files []string
	}{
		"varsel": {tiny("varsel", "data.csv", "--target", "c"), varsel.Files()},
		"exact":  {[]string{"exact", "data.csv", "--target", "c", "--quiet"}, varsel.Files()},
		"rjmcmc": {[]string{"rjmcmc", "varsel", "data.csv", "--target", "c", "--chains", "8", "--iterations", "20", "--burn-in", "10", "--thin", "2", "--quiet"}, varsel.Files()},
		"flow":   {append([]string{"dag", "data.csv"}, flowDag...), dag.Files()},
		"sums":   {[]string{"exact", "dag", "data.csv", "--quiet"}, dag.Files()},
		"hbm":    {[]string{"hbm", "groups.csv", "-f", "y ~ x + (1 | g)", "--select", "--steps", "10", "--batch", "64", "--certify-draws", "200", "--quiet"}, regression.Files()},
	} {
		t.Run(dir, func(t *testing.T) {
			if dir == "flow" {
				testkit.Long(t)
			}
			mustRun(t, append(test.args, "--out", dir)...)
			patterns := append(test.files, rundir.RecordFile, rundir.ResultFile, rundir.PosteriorFile, rundir.ChainsFile, rundir.TraceFile, rundir.RoundsFile, report.File, report.FiguresDir)
			found, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.NotEmpty(t, found)
			for _, file := range found {
				known := false
				for _, pattern := range patterns {
					match, err := filepath.Match(pattern, file.Name())
					require.NoError(t, err)
					known = known || match
				}
				assert.True(t, known, "%s is in no list of files", file.Name())
			}
		})
	}
}

// While a process works in the directory of a run, commands that would change it are refused.
func TestTwoRunsInOneDirectory(t *testing.T) {
	emptyDir(t, "data.csv", collider(40))
	mustRun(t, tiny("varsel", "data.csv", "--target", "c", "--out", "run")...)
	release, err := rundir.Lock("run")
	require.NoError(t, err)
	before := entries(t)
	for _, args := range []string{"varsel --resume run", "varsel data.csv --target c --out run", "exact data.csv --target c --out run"} {
		got := vtiCommand(t, strings.Fields(args)...)
		assert.Equal(t, shell.StatusUsage, got.status)
		assert.Regexp(t, `^vti: run is in use: another vti \(process \d+\) is running there; wait until it has ended\n$`, got.stderr)
	}
	assert.Equal(t, before, entries(t))
	release()
	mustRun(t, "varsel", "--resume", "run", "--quiet")
	assert.NoFileExists(t, "run/.vti-lock")
}
