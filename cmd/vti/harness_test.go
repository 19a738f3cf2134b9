package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
)

// mainVariable is an environment variable with which the test binary behaves as vti.
const mainVariable = "VTI_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// outcome is the result of running a command line.
type outcome struct {
	status         int
	stdout, stderr string
}

func vtiCommand(t *testing.T, args ...string) outcome {
	t.Helper()
	return vtiIn(context.Background(), t, args...)
}

func vtiIn(ctx context.Context, t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := shell.Run(ctx, rootCommand, args, &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// mustRun runs a command line that must give an answer. The answer need not be trusted, because the
// settings of tests are tiny.
func mustRun(t *testing.T, args ...string) outcome {
	t.Helper()
	got := vtiCommand(t, args...)
	require.Contains(t, []int{shell.StatusOK, shell.StatusUntrusted}, got.status, got.stderr)
	return got
}

// tiny returns args with settings put in after the first word. With these settings a run trains and
// certifies in a second or two. Later words of args override them.
func tiny(args ...string) []string {
	small := []string{"--steps", "60", "--batch", "512", "--flow-layers", "2", "--flow-blocks", "1", "--flow-hidden", "8", "--certify-draws", "32768", "--quiet"}
	return slices.Concat(args[:1], small, args[1:])
}

// testdata returns the absolute path of a file in the repository's testdata.
func testdata(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(sourceDir, "..", "..", "testdata", name)
}

// sourceDir is the directory of this package, where go test starts.
var sourceDir = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}()

// emptyDir makes and enters a new working directory, and writes the given file there.
func emptyDir(t *testing.T, name, content string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if name != "" {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

// entries lists all names in and below the working directory.
func entries(t *testing.T) string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return strings.Join(names, "\n")
}
