package main

import (
	"bytes"
	"context"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/report"
	runs "github.com/transdim/vti/run"
)

type toyFlags struct {
	least int
	cli.Output
}

type toyResult struct {
	runs.Head
	Rows int `json:"rows"`
}

func (r *toyResult) ExitStatus() int { return 0 }

func (f *toyFlags) Register(cmd *cobra.Command) {
	cmd.Flags().Var(cli.Count(&f.least, 1), "least", "rows that are wanted")
	f.RegisterSampler(cmd, &f.Seed, "of nothing")
}

func (f *toyFlags) Describe(*pflag.FlagSet) (*runs.Asked[int], error) {
	return &runs.Asked[int]{Options: f.least, Seed: f.Seed}, nil
}

func (f *toyFlags) Begin(_ context.Context, run *application.Asked[*runs.Asked[int]]) (t shell.Task, err error) {
	data, err := run.Record.Table()
	if err != nil {
		return t, err
	}
	return shell.Task{Name: "toy", Compute: func(_ context.Context, session *shell.Session) (shell.Judged, error) {
		result := &toyResult{runs.NewHead("toy", run.Record.Seed, session.Dir), data.Rows()}
		result.Answer = "The table has rows."
		return result, runs.WriteAnswer(session.Dir, result, nil)
	}}, nil
}

// toy is an application that only this file defines and adds to the registry.
var toy = &application.Application{
	About: "rows",
	Page:  report.OrderPage, // a page that shows the answer of any result
	Commands: []application.Command{{Name: "toy", New: func(a *shell.App) *cobra.Command {
		return application.Answering(a, &cobra.Command{Use: "toy TABLE", Short: "Count rows"}, func() application.Question[*runs.Asked[int]] { return &toyFlags{} })
	}}},
	Open: application.OpenResult[*toyResult],
}

// TestAnApplicationIsOneValue adds an application, one value, to the registry. All commands on runs
// must then work on its runs, or say why they do not.
func TestAnApplicationIsOneValue(t *testing.T) {
	emptyDir(t, "data.csv", collider(7))
	vti := func(args ...string) outcome {
		var stdout, stderr bytes.Buffer
		root := func(a *shell.App) *cobra.Command { return commandsOf(a, append(applications, toy)) }
		status := shell.Run(context.Background(), root, args, &stdout, &stderr)
		return outcome{status, stdout.String(), stderr.String()}
	}
	got := vti("toy", "data.csv", "--least", "3", "--out", "run", "-q")
	require.Equal(t, shell.StatusOK, got.status, got.stderr)
	require.Contains(t, got.stdout, "The table has rows.")
	require.FileExists(t, "run/report.html")
	for _, line := range []struct{ args, out, err string }{
		{"--help", "Count rows", ""},
		{"show run --json", `"rows": 7`, ""},
		{"runs .", "data.csv", ""},
		{"check run", "", ""},
		{"predict run", "", "run is a run of vti toy, about rows: it predicts no response of rows"},
		{"certify run", "", "run is a run of vti toy, which cannot be certified again: give its command again"},
		{"compare run run", "", "runs of vti toy are not compared"},
		{"export run --format dot", "", "about rows: --format dot is for graphs"},
	} {
		got := vti(strings.Fields(line.args)...)
		require.Contains(t, got.stdout, line.out, line.args)
		require.Contains(t, got.stderr, line.err, line.args)
		require.Equal(t, line.err != "", got.status == shell.StatusUsage, "%s: %s", line.args, got.stderr)
	}
	got = vtiCommand(t, "show", "run")
	require.Contains(t, got.stderr, "run is a run of vti toy, which this version does not know")
}

// An application of the registry has a form in vti serve, with a field for each of its flags.
func TestServeShowsANewApplication(t *testing.T) {
	t.Setenv(mainVariable, "1") // the server starts a process to read a table
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "tables"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tables", "data.csv"), []byte(collider(7)), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	printed, stdout := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		root := func(a *shell.App) *cobra.Command { return commandsOf(a, append(applications, toy)) }
		ended <- shell.Run(ctx, root, []string{"serve", dir, "--port", "0"}, stdout, io.Discard)
	}()
	address := addressIn(t, printed)
	go func() { _, _ = io.Copy(io.Discard, printed) }()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	page := func(path string) string {
		response, err := client.Get(path)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text)
	}
	page(address)
	base, _, _ := strings.Cut(address, "?")
	require.Contains(t, page(base+"tables/data.csv"), "<strong>Count rows</strong>")
	form := page(base + "tables/data.csv/ask?command=toy")
	require.Contains(t, form, `<label for="f.least">least</label>`)
	require.Contains(t, form, "rows that are wanted")
	cancel()
	require.Equal(t, shell.StatusOK, <-ended)
}

// TestAnApplicationTouchesFewFiles checks that only the list of applications and vtilab import the
// commands of an application. Outside of these two and of examples, only a page (package report)
// and a study (package calibrate) may import the package with its computations.
func TestAnApplicationTouchesFewFiles(t *testing.T) {
	importers := map[string][]string{} // files by the application that they import
	root := filepath.Join(sourceDir, "..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		for _, spec := range file.Imports {
			imported, _ := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "github.com/transdim/vti/")
			importers[imported] = append(importers[imported], filepath.ToSlash(name))
		}
		return err
	}))
	for _, room := range []string{"selection", "graphs", "hierarchies", "numbers"} {
		others := slices.DeleteFunc(importers["cmd/internal/"+room], func(path string) bool { return strings.HasPrefix(path, "cmd/vtilab/") })
		require.Equal(t, []string{"cmd/vti/applications.go"}, others)
	}
	for engine, elsewhere := range map[string][]string{
		"order":       {"calibrate/orders.go", "report/orders.go"},
		"changepoint": {"calibrate/changes.go", "report/changes.go"},
		"mixture":     {"calibrate/mixture.go", "report/mixtures.go"},
	} {
		found := slices.DeleteFunc(slices.Clone(importers[engine]), func(path string) bool {
			return strings.HasPrefix(path, engine+"/") || strings.HasPrefix(path, "cmd/internal/numbers/") || strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, "lab/outside/")
		})
		require.Equal(t, elsewhere, found, "%s: with the list of applications at most 3 files", engine)
	}
}
