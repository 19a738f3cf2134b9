package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
)

// outcome is the result of running a command line.
type outcome struct {
	status         int
	stdout, stderr string
}

// vtilab runs a command line in this process.
func vtilab(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := shell.Run(t.Context(), rootCommand, args, &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// TestMistakes checks that mistakes are found before anything is computed or written.
func TestMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("other", nil, 0o644))
	require.NoError(t, os.WriteFile("table.csv", []byte("x,y\n1,2\n"), 0o644))
	for line, want := range map[string]string{
		"dag --out .":                   "is no benchmark",
		"dag --sizes a":                 `expected numbers of rows, at least 3, separated by commas, found "a"`,
		"dag":                           "expected --out DIRECTORY",
		"paper absent":                  `unknown paper "absent"`,
		"paper vti absent":              "expected one of the figures fig2",
		"paper vti fig4":                "expected --out DIRECTORY or --quick",
		"paper all":                     "expected --out DIRECTORY",
		"paper vti fig4 --only [":       "--only: error parsing regexp",
		"paper vti fig4 --quick -o new": "expected no --out",
		"time --only absent":            "--only: no table begins with",
		"time --vti absent":             "absent",
		"calibrate varsel --hard table.csv -o study":         "--hard, --ordinary and --wide draw their own tables",
		"calibrate varsel --ordinary --rows 9 -o study":      "--hard, --ordinary and --wide choose it",
		"calibrate hbm --hard --likelihood student -o study": "there are none for --likelihood student",
		"devices":  "expected --check, --benchmark or both",
		"simulate": "no file to write was given",
		"absent":   `unknown command "absent"`,
	} {
		got := vtilab(t, strings.Fields(line)...)
		require.Equal(t, shell.StatusUsage, got.status, line)
		require.Contains(t, got.stderr, want, line)
	}
}

// TestMeasurements checks that the commands that measure times and answers run on small problems.
func TestMeasurements(t *testing.T) {
	testkit.Slow(t)
	program := filepath.Join(t.TempDir(), "vti")
	output, err := exec.Command("go", "build", "-o", program, "../vti").CombinedOutput()
	require.NoError(t, err, string(output))
	data, err := filepath.Abs("../../testdata")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"dag --data-sets 1 --sizes 16 --nodes 2 --sem linear --out graphs":      "rows",
		"time --only hald --repetitions 1 --data " + data + " --vti " + program: "tables",
		"hbm --only oats --data . --vti " + program:                             "tables",
	} {
		got := vtilab(t, append(strings.Fields(line), "--json", "--quiet")...)
		require.Equal(t, shell.StatusOK, got.status, got.stderr)
		var answer map[string][]any
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &answer), line)
		require.NotEmpty(t, answer[want], line)
	}
}

// TestDocumentsNameCommands checks that the commands and flags in the command lines of the
// documents exist.
func TestDocumentsNameCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/benchmarks/*.md")
	require.NoError(t, err)
	commandLine, flag := regexp.MustCompile("`?vtilab ([a-z]+[^`\n]*)"), regexp.MustCompile(`--([a-z-]+)`)
	checked := 0
	for _, page := range append(pages, "../../docs/benchmarks.md", "../../docs/devices.md", "../../docs/method.md", "../../docs/amortization.md", "../../CONTRIBUTING.md") {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, line := range commandLine.FindAllStringSubmatch(string(content), -1) {
			words := strings.Fields(line[1])
			command, _, err := rootCommand(&shell.App{}).Find(words[:min(2, len(words))])
			require.NoError(t, err, "%s: %s", page, line[0])
			for _, name := range flag.FindAllStringSubmatch(line[1], -1) {
				checked++
				require.NotNil(t, command.Flags().Lookup(name[1]), "%s: %s has no --%s", page, line[0], name[1])
			}
		}
	}
	require.Greater(t, checked, 10)
}
