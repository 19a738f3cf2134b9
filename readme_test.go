package vti_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The library example in the README is short, and is a whole file, with imports, that runs as a
// test.
func TestReadmeShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "package vti_test\n\n")
	require.True(t, found)
	require.Less(t, strings.Count(code, "\n"), 60)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```go\n"+code+"```")
}
