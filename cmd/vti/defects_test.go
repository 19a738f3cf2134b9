package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
)

// Impossible sizes are an error that states the memory that they need, and nothing is written.
func TestImpossibleSizesAreRefused(t *testing.T) {
	emptyDir(t, "data.csv", collider(40))
	rows := "y,x,g\n1,2,a\n2,3,a\n4,1,b\n5,2,b\n3,3,a\n6,1,b\n2,5,c\n1,4,c\n"
	require.NoError(t, os.WriteFile("groups.csv", []byte(rows), 0o644))
	student := "varsel data.csv --target c --likelihood student "
	for _, args := range []string{
		student + "--flow-hidden 1000000", student + "--batch 1000000000", student + "--certify-draws 99999999999999",
		"rjmcmc varsel data.csv --target c --chains 1000000000", "rjmcmc varsel data.csv --target c --iterations 1000000000000",
		"rjmcmc dag data.csv --chains 1000000000", "dag data.csv --structure chains --chains 1000000000",
		"dag data.csv --sem mlp --hidden 1000000", "dag data.csv --structure flow --flow-hidden 1000000",
		"dag data.csv --structure flow --batch 1000000000", "dag data.csv --sem linear --structure flow --undivided --certify-draws 99999999999999",
		"hbm groups.csv -f y~x+(1|g) -l student --flow-hidden 1000000", "hbm groups.csv -f y~x+(1|g) -l student --batch 1000000000",
		"hbm groups.csv -f y~x+(1|g) -l student --certify-draws 99999999999999",
		"hbm groups.csv -f y~x+(1|g) --family pavi-f --certify-draws 99999999999999",
	} {
		t.Run(args, func(t *testing.T) {
			before := entries(t)
			got := vtiCommand(t, append(strings.Fields(args), "--out", "new")...)
			assert.Equal(t, shell.StatusUsage, got.status, got.stderr)
			assert.Regexp(t, `needs at least [\d.e+]+ [KMGTP]iB of memory, and there are [\d.]+ GiB: choose a smaller size\n$`, got.stderr)
			assert.Equal(t, before, entries(t), "something was written")
		})
	}
}

// Column names may contain line breaks, for example from spreadsheets. Printed tables have spaces
// in their place.
func TestLineBreaksInNames(t *testing.T) {
	emptyDir(t, "data.csv", "\"first\nname\",b,\"the\r\ntarget\"\n1,2,3\n2,5,4.5\n4,3,1\n5,1,7\n7,2,6\n")
	got := mustRun(t, "exact", "data.csv", "--target", "the target", "--quiet", "--out", "run")
	assert.Regexp(t, `(?m)^  first name +\d`, got.stdout)
	assert.Contains(t, readFile(t, "run/inclusion.csv"), "first name,")
	assert.Equal(t, 3, strings.Count(readFile(t, "run/inclusion.csv"), "\n"))
}

// A noise scale outside every density's range is an error, not an answer without numbers.
func TestNoiseScaleOutOfRange(t *testing.T) {
	emptyDir(t, "data.csv", good)
	for _, command := range []string{"exact", "varsel"} {
		got := vtiCommand(t, command, "data.csv", "--target", "y", "--exclude", "c", "--sigma", "1e-300", "--quiet")
		assert.Equal(t, shell.StatusFailure, got.status, "%s: %s", command, got.stdout)
		assert.Contains(t, got.stderr, "vti: ")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A failure to print the answer is an error.
func TestStandardOutputIsFull(t *testing.T) {
	emptyDir(t, "data.csv", good)
	for _, args := range []string{"exact data.csv --target y --quiet", "exact data.csv --target y --quiet --json", "version", "--help", "devices"} {
		var stderr bytes.Buffer
		assert.Equal(t, shell.StatusFailure, shell.Run(context.Background(), rootCommand, strings.Fields(args), fullDisk{}, &stderr), args)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		assert.Contains(t, stderr.String(), "no space left on device")
	}
}

// A panic becomes a line that blames the program and names the run; --stack adds the stack.
func TestDefect(t *testing.T) {
	var stderr bytes.Buffer
	a := &shell.App{Stderr: &stderr, Dir: "runs/one"}
	status := func() (status int) {
		defer func() { status = a.Defect(recover()) }()
		panic(errors.New("index out of\nrange"))
	}
	assert.Equal(t, shell.StatusFailure, status())
	assert.Equal(t, "vti: a defect of vti, please report it: index out of range; the run is in runs/one; --stack prints where\n", stderr.String())
	stderr.Reset()
	a.Stack = true
	assert.Equal(t, shell.StatusFailure, status())
	assert.Contains(t, stderr.String(), "defects_test.go")
}

func TestDidYouMean(t *testing.T) {
	emptyDir(t, "data.csv", good)
	for args, want := range map[string]string{
		"varsl data.csv":              `unknown command "varsl"; did you mean varsel? (see vti --help)`,
		"varsl data.csv --target y":   `unknown command "varsl"; did you mean varsel?`,
		"dga data.csv":                `unknown command "dga"; did you mean dag?`,
		"varsel data.csv --taget y":   "unknown flag: --taget; did you mean --target? (see vti varsel --help)",
		"dag data.csv --max-parent 2": "unknown flag: --max-parent; did you mean --max-parents?",
		"varsel data.csv --xyzzy 2":   "unknown flag: --xyzzy (see vti varsel --help)",
	} {
		got := vtiCommand(t, strings.Fields(args)...)
		assert.Equal(t, shell.StatusUsage, got.status)
		assert.Contains(t, got.stderr, want)
	}
}

// The shell completes columns of the table, also at the end of a list of columns.
func TestColumnsComplete(t *testing.T) {
	emptyDir(t, "data.csv", good)
	for args, want := range map[string]string{
		"varsel data.csv --target":         "a\nb\nc\ny\n",
		"rjmcmc varsel data.csv --exclude": "a\nb\nc\ny\n",
		"dag data.csv --exclude":           "a\nb\nc\ny\n",
		"hbm data.csv --se":                "a\nb\nc\ny\n",
	} {
		got := vtiCommand(t, append(append([]string{"__complete"}, strings.Fields(args)...), "")...)
		assert.True(t, strings.HasPrefix(got.stdout, want), "%s: %s", args, got.stdout)
	}
	got := vtiCommand(t, "__complete", "varsel", "data.csv", "--exclude", "a,")
	assert.True(t, strings.HasPrefix(got.stdout, "a,a\na,b\na,c\na,y\n"), got.stdout)
}

// The help of every command fits into 100 columns, and its flags are in groups.
func TestHelpFits(t *testing.T) {
	root := rootCommand(&shell.App{})
	var paths [][]string
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		paths = append(paths, path)
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" && !sub.Hidden { // except commands that cobra adds
				walk(sub, append(append([]string(nil), path...), sub.Name()))
			}
		}
	}
	walk(root, nil)
	require.Greater(t, len(paths), 12)
	for _, path := range paths {
		got := vtiCommand(t, append(path, "--help")...)
		assert.Equal(t, shell.StatusOK, got.status)
		for line := range strings.Lines(got.stdout) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), cli.HelpWidth, "%v: %s", path, line)
		}
	}
	for _, want := range []string{"\nTable:\n", "\nLikelihood and priors:\n", "\nTraining:\n", "\nRun and output:\n"} {
		assert.Contains(t, vtiCommand(t, "varsel", "--help").stdout, want)
	}
	for _, want := range []string{"\nAnswer a question about a table:\n", "\nCheck and compare answers:\n", "\nOther commands:\n"} {
		assert.Contains(t, vtiCommand(t, "--help").stdout, want)
	}
}
