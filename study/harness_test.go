package study

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeVariable is the environment variable that makes the test binary act as a tiny vti. The
// answers of the tiny vti depend on table, flags and seed, and --do sets its faults.
const fakeVariable = "VTI_TEST_FAKE"

// workerVariable is the environment variable that makes the test binary run a shard of a plan. Its
// value is "I/N PLAN PROGRAM"; PROGRAM replaces vti.
const workerVariable = "VTI_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(fakeVariable) != "" {
		status := fake(os.Args[1:])
		ReportPeak()
		os.Exit(status)
	}
	if job := strings.Fields(os.Getenv(workerVariable)); len(job) == 3 {
		os.Exit(work(job[0], job[1], job[2]))
	}
	os.Exit(m.Run())
}

// work runs a shard, as vti study run --shard does.
func work(shard, plan, program string) int {
	p, err := Read(plan)
	must(err)
	s, err := ParseShard(shard)
	must(err)
	launcher := Launcher{Program: program, Seeded: func(string) bool { return true }}
	if _, err := p.Run(context.Background(), RunConfig{Launcher: launcher, Jobs: 1, Selection: s}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fake acts as vti with the arguments "fake TABLE --do=… --seed=… --out=DIR" or "simulate varsel
// --seed=… --out=FILE".
func fake(args []string) int {
	flags := map[string]string{}
	var words []string
	for _, arg := range args {
		if name, value, found := strings.Cut(strings.TrimPrefix(arg, "--"), "="); found {
			flags[name] = value
		} else {
			words = append(words, arg)
		}
	}
	if words[0] == "simulate" {
		must(os.WriteFile(flags["out"], []byte("y\n"+flags["seed"]+"\n"), 0o644))
		fmt.Printf(`{"data": %q, "effects": [{"name": "x1", "size": 0.5}]}`, flags["out"])
		return 0
	}
	table, err := os.ReadFile(words[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vti:", err)
		return 2
	}
	seed, err := strconv.ParseUint(flags["seed"], 10, 64)
	must(err)
	do, first := flags["do"], true
	if marker := flags["marker"]; marker != "" { // the fault occurs only if the file marker does not exist
		file, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL, 0o644)
		if first = err == nil; first {
			file.Close()
		}
	}
	if first {
		switch do {
		case "crash":
			panic("a defect")
		case "kill":
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
			time.Sleep(time.Minute)
		case "abort":
			must(syscall.Kill(os.Getpid(), syscall.SIGABRT))
			time.Sleep(time.Minute)
		case "fail":
			fmt.Fprintf(os.Stderr, "vti: %s: no answer\n", words[1])
			return 1
		case "full":
			fmt.Fprintf(os.Stderr, "vti: writing: %v\n", syscall.ENOSPC)
			return 1
		case "wait":
			time.Sleep(time.Minute)
		case "untrusted":
			defer os.Exit(3)
		}
	}
	must(os.MkdirAll(flags["out"], 0o755))
	answer, err := json.Marshal(map[string]any{
		"command": "fake", "seed": seed, "seconds": map[string]float64{"total": float64(os.Getpid())}, "run_dir": flags["out"], "version": "1",
		"certificate":  map[string]any{"verdict": "trusted", "khat": nil, "reasons": []string{"one", "two"}},
		"log_evidence": float64(seed%1000) + float64(len(table))/8,
		"inclusion":    []map[string]any{{"name": "x1", "certified": 0.25}, {"name": "x2", "certified": 1}},
		"names":        []string{"x1", "x2"},
	})
	must(err)
	must(os.WriteFile(filepath.Join(flags["out"], "result.json"), answer, 0o644))
	must(os.WriteFile(filepath.Join(flags["out"], "run.json"), []byte(`{"fingerprint": "ab"}`), 0o644))
	must(os.WriteFile(filepath.Join(flags["out"], "draws.csv"), table, 0o644))
	return 0
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// fakeLauncher returns a Launcher that starts the test binary as the tiny vti.
func fakeLauncher(t testing.TB) Launcher {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return Launcher{Program: self, Env: []string{fakeVariable + "=1"}, Seeded: func(string) bool { return true }}
}

// newPlan writes files and a plan into a new folder, and reads the plan.
func newPlan(t testing.TB, text string, files map[string]string) *Plan {
	t.Helper()
	p, err := readNew(t, text, files)
	require.NoError(t, err)
	return p
}

func readNew(t testing.TB, text string, files map[string]string) (*Plan, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	path := filepath.Join(dir, "plan.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return Read(path)
}

// tree returns, by path, the contents of the files of a study's tasks, without the files of costs.
func tree(t testing.TB, p *Plan) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := filepath.Join(p.Dir(), "tasks")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == costFile {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root)] = string(content)
		return err
	}))
	return files
}
