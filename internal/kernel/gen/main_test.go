package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestGeneratedFilesAreCurrent generates all files anew and compares them with the package's files.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	testkit.Slow(t)
	dir := t.TempDir()
	generate(dir)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		found, err := os.ReadFile(filepath.Join("..", f.Name()))
		require.NoError(t, err)
		require.True(t, string(want) == string(found), "%s is stale: run go generate", f.Name())
	}
}
