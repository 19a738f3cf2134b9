package rundir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadRecord(t *testing.T) {
	var record struct {
		Command string `json:"command"`
		Steps   int    `json:"steps"`
	}
	dir := t.TempDir()
	require.ErrorContains(t, ReadRecord(dir, &record), "is not a run directory: it holds no run.json")
	for content, want := range map[string]string{
		`{"command": "varsel", "steps":`:         "run.json: damaged: ",
		`{"command": "varsel", "data": "a.csv"}`: "expected the keys command, data and fingerprint",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, RecordFile), []byte(content), 0o644))
		require.ErrorContains(t, ReadRecord(dir, &record), want)
	}
	content := `{"command": "varsel", "data": "a.csv", "fingerprint": "00", "steps": 7}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, RecordFile), []byte(content), 0o644))
	require.NoError(t, ReadRecord(dir, &record))
	require.Equal(t, 7, record.Steps)
}

func TestMake(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, want := range []string{"runs/varsel-20260131-120000", "runs/varsel-20260131-120000-2", "runs/varsel-20260131-120000-3"} {
		dir, err := Make("", "varsel", now)
		require.NoError(t, err)
		require.Equal(t, want, filepath.ToSlash(dir))
		require.DirExists(t, dir)
	}
	dir, err := Make("here/and/there", "varsel", now)
	require.NoError(t, err)
	require.DirExists(t, dir)
	again, err := Make(dir, "varsel", now) // still without a run
	require.NoError(t, err)
	require.Equal(t, dir, again)
	for _, file := range []string{RecordFile, PosteriorFile} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o644))
		_, err = Make(dir, "varsel", now)
		require.ErrorContains(t, err, "here/and/there already holds a run ("+file+"): choose another --out, or continue it with --resume here/and/there")
		require.NoError(t, os.Remove(filepath.Join(dir, file)))
	}
	require.NoError(t, os.WriteFile("file", nil, 0o644))
	_, err = Make("file", "varsel", now)
	require.Error(t, err)
}
