package vti_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's library example is the one that runs as a test, and short.
func TestReadmeShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "// trend asks")
	require.True(t, found)
	code = "// trend asks" + strings.TrimSuffix(code, "\n")
	require.Less(t, strings.Count(code, "\n"), 40)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```go\n"+code+"\n```")
}
