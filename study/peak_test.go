package study

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The peak memory of a task does not include the memory of its parent, however large.
func TestPeakIsThatOfTheTask(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reported on Linux only")
	}
	large := make([]byte, 256<<20)
	for i := 0; i < len(large); i += 4096 {
		large[i] = 1
	}
	dir := t.TempDir()
	table := filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(table, []byte("y\n1\n"), 0o644))
	e, err := Launcher{Program: os.Args[0], Env: []string{fakeVariable + "=1"}}.launch(t.Context(), 1, "fake", table, "--seed=1", "--out="+filepath.Join(dir, "out"))
	require.NoError(t, err)
	require.Equal(t, 0, e.status, e.stderr)
	require.Less(t, e.cost.PeakBytes, 128e6)
	require.Greater(t, e.cost.PeakBytes, 1e6)
	runtime.KeepAlive(large)
}
