package rundir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holdVariable is an environment variable that names a directory. It makes the test binary lock the
// directory until the process is killed.
const holdVariable = "VTI_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdVariable); dir != "" {
		if _, err := Lock(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("locked")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// TestLock checks that only one process at a time holds the lock. A second process learns the
// identity of the first, and the lock of a killed process has no effect.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	other := exec.Command(self)
	other.Env = append(os.Environ(), holdVariable+"="+dir)
	output, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill() })
	_, err = output.Read(make([]byte, 1))
	require.NoError(t, err)

	_, err = Lock(dir)
	require.EqualError(t, err, fmt.Sprintf("%s is in use: another vti (process %d) is running there; wait until it has ended", dir, other.Process.Pid))
	require.NoError(t, other.Process.Kill())
	_ = other.Wait() // an error: the process was killed
	require.FileExists(t, filepath.Join(dir, lockFile))
	release, err := Lock(dir)
	require.NoError(t, err)
	_, err = Lock(dir)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", os.Getpid()))
	release()
	require.NoFileExists(t, filepath.Join(dir, lockFile))
	release, err = Lock(dir)
	require.NoError(t, err)
	release()
}
