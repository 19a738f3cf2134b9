package rundir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClaim(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	claim := func(name string) (string, error) {
		dir, release, err := Claim(name, "varsel", now, []string{ResultFile, "models.csv", "plot-*.svg"})
		if err == nil {
			release()
		}
		return dir, err
	}
	for _, want := range []string{"runs/varsel-20260131-120000", "runs/varsel-20260131-120000-2", "runs/varsel-20260131-120000-3"} {
		dir, err := claim("")
		require.NoError(t, err)
		require.Equal(t, want, filepath.ToSlash(dir))
		require.DirExists(t, dir)
	}
	dir, err := claim("here/and/there")
	require.NoError(t, err)
	require.DirExists(t, dir)
	again, err := claim(dir) // the directory holds no run yet
	require.NoError(t, err)
	require.Equal(t, dir, again)
	for file, want := range map[string]string{
		RecordFile:      "here/and/there already holds a run (run.json): choose another --out, or continue it with --resume here/and/there",
		PosteriorFile:   "here/and/there already holds a run (posterior.vti)",
		ChainsFile:      "here/and/there already holds a run (chains.vti)",
		ResultFile:      "here/and/there holds result.json, which the run would overwrite: choose another --out",
		"models.csv":    "here/and/there holds models.csv, which the run would overwrite",
		"plot-tall.svg": "here/and/there holds plot-tall.svg, which the run would overwrite",
		"data.csv":      "",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o644))
		_, err = claim(dir)
		if want == "" {
			require.NoError(t, err, file)
		} else {
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, os.Remove(filepath.Join(dir, file)))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "a refused claim leaves no lock")
	require.NoError(t, os.WriteFile("file", nil, 0o644))
	_, err = claim("file")
	require.Error(t, err)
}
