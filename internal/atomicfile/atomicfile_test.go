package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteReplacesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"first", "second, longer"} {
		require.NoError(t, Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, content)
			return err
		}))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
}

func TestFailedWriteLeavesTheOldFileAndNoLitter(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	failure := errors.New("half way")
	err := Write(path, func(w io.Writer) error {
		io.WriteString(w, "new")
		return failure
	})
	require.ErrorIs(t, err, failure)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestSweepRemovesOnlyWhatWasLeftBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("kept"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".hidden"), []byte("kept too"), 0o644))
	unfinished, err := Create(path)
	require.NoError(t, err)
	require.NoError(t, unfinished.Close()) // the state in which a killed process leaves the file
	require.NoError(t, Sweep(dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
