package rundir

import (
	"os"
	"path/filepath"
	"testing"

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

// TestUnfinishedRunSaysHowToContinue checks that an unfinished run names the command that continues
// it, if there is one.
func TestUnfinishedRunSaysHowToContinue(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, RecordFile), []byte(`{"command": "varsel", "data": "x.csv", "fingerprint": "ab"}`), 0o644))
	require.EqualError(t, ReadResult(dir, new(any)), dir+" holds no result.json: the run has not finished")
	require.NoError(t, os.WriteFile(filepath.Join(dir, PosteriorFile), nil, 0o644))
	require.EqualError(t, ReadResult(dir, new(any)), dir+" holds no result.json: the run has not finished; to continue: vti varsel --resume "+dir)
}

func TestQuoted(t *testing.T) {
	require.Equal(t, "runs/a-b_1.2", Quoted("runs/a-b_1.2"))
	require.Equal(t, `'my runs/it'\''s'`, Quoted("my runs/it's"))
}
