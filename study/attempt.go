package study

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/rundir"
)

// retries is the number of further attempts of a task whose process crashed or was killed.
const retries = 2

// worker runs one task after another.
type worker struct {
	plan     *Plan
	store    store
	launcher Launcher
	dir      string // working directory
	cores    int    // number of cores of each task
}

// do runs a task and moves its files to the directory of the task in the study. If the task could
// not be brought to an end, do returns an error and does not change this directory.
func (w *worker) do(ctx context.Context, t Task) (State, *Record, error) {
	dir := filepath.Join(w.dir, t.Name)
	if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
		return Missing, nil, err
	}
	defer os.RemoveAll(dir) // if this fails, the method sweep of a later process removes the directory
	r := &Record{Name: t.Name, Command: w.plan.Command, Settings: named(t.Settings)}
	cost, err := w.answer(ctx, t, dir, r)
	if ctx.Err() != nil {
		return Missing, nil, ctx.Err()
	}
	state := Done
	if err != nil {
		if isFault(err) {
			return Missing, nil, err
		}
		state, r.Error = Failed, w.portable(err.Error(), dir)
	}
	out := filepath.Join(dir, "out")
	for name, value := range map[string]any{recordFile: r, costFile: cost} {
		if err := writeJSON(filepath.Join(out, name), value); err != nil {
			return Missing, nil, err
		}
	}
	if err := w.store.publish(out, t.Name, state); err != nil {
		return Missing, nil, err
	}
	return state, r, nil
}

// answer prepares the table and runs the command until it has an answer, or until further attempts
// are useless.
func (w *worker) answer(ctx context.Context, t Task, dir string, r *Record) (cost Cost, err error) {
	made, err := w.plan.source.prepare(ctx, t.table, dir, w.simulate)
	if err != nil {
		return cost, err
	}
	r.Truth = made.truth
	attempt := 0 // number of earlier attempts that crashed, each with a different seed
	for try := 0; ; try++ {
		run := filepath.Join(dir, fmt.Sprintf("run-%d", try))
		args := w.arguments(t, made, run, attempt, r)
		e, err := w.launcher.launch(ctx, w.cores, args...)
		if err != nil {
			return cost, err
		}
		cost = e.cost
		r.Exit = e.status
		again := (e.crashed() || e.killed()) && !isFault(errors.New(e.stderr))
		if again && try < retries {
			// A killed process starts again from the same seed, because its task did not cause the
			// kill.
			if e.crashed() {
				attempt++
				r.Crashes = append(r.Crashes, w.portable(e.text(), dir))
			}
			continue
		}
		if !slices.Contains(answered, e.status) {
			return cost, errors.New(e.text())
		}
		return cost, w.take(run, filepath.Join(dir, "out"), r)
	}
}

func (w *worker) arguments(t Task, made prepared, run string, attempt int, r *Record) []string {
	args := slices.Concat(strings.Fields(w.plan.Command), []string{made.path}, arguments(w.plan.flags), arguments(w.plan.grid.at(t.cell)), made.flags)
	if w.launcher.Seeded(w.plan.Command) {
		seed := seedOf(w.plan.Seed, t.Name, attempt)
		r.Seed = &seed
		args = append(args, fmt.Sprintf("--seed=%d", seed))
	}
	if !slices.ContainsFunc(w.plan.Keep, func(pattern string) bool { return pattern == "report.html" || strings.HasPrefix(pattern, "figures") }) {
		args = append(args, "--no-report") // a report can take longer than the answer
	}
	return append(args, "--out="+run, "--json", "--quiet")
}

// simulate runs vti to make a table.
func (w *worker) simulate(ctx context.Context, args ...string) ([]byte, error) {
	e, err := w.launcher.launch(ctx, w.cores, args...)
	if err == nil && e.status != 0 {
		err = errors.New(e.text())
	}
	return e.stdout, err
}

// take reads the answer of a run, and moves the files that the plan keeps into the directory out.
func (w *worker) take(run, out string, r *Record) error {
	result, err := os.ReadFile(filepath.Join(run, rundir.ResultFile))
	if err != nil {
		return err
	}
	answer, err := stripped(result, "seconds", "run_dir") // the times and the directory of the run
	if err != nil {
		return fmt.Errorf("%s: %w", rundir.ResultFile, err)
	}
	r.Answer = answer
	var header struct {
		Fingerprint string `json:"fingerprint"`
	}
	if err := readJSON(run, rundir.RecordFile, &header); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Fingerprint = header.Fingerprint
	for _, pattern := range w.plan.Keep {
		found, err := filepath.Glob(filepath.Join(run, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := os.Rename(path, filepath.Join(out, filepath.Base(path))); err != nil {
				return err
			}
		}
	}
	return nil
}

// portable removes the paths of folders from a message, so that it is the same on every machine.
func (w *worker) portable(text, dir string) string {
	text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
	return strings.ReplaceAll(text, filepath.Dir(w.plan.path)+string(filepath.Separator), "")
}
