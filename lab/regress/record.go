package regress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transdim/vti/internal/atomicfile"
)

// Answer holds the parts of an answer that are compared.
type Answer struct {
	// Exit is the exit status of the process.
	Exit int `json:"exit"`
	// Verdict is the verdict of the answer: "trusted", "doubtful", "failed" or "".
	Verdict string `json:"verdict,omitempty"`
	// Trusted is the number of trusted answers of a calibration, and Wrong the number of wrong
	// answers among them.
	Trusted int `json:"trusted,omitempty"`
	Wrong   int `json:"wrong,omitempty"`
	// CPU is the processor time in seconds, Wall the elapsed time.
	CPU  float64 `json:"cpu"`
	Wall float64 `json:"wall"`
	// Numbers holds the numbers with standard errors and the exact numbers, by their paths in the
	// answer.
	Numbers map[string]Number `json:"numbers,omitempty"`
}

// Record holds the answers of runs, by the name of the run.
type Record map[string]Answer

// These lists group commands by the flags that they need and by the form of their answers.
var (
	calibrations = []string{"calibrate"}
	// silent holds the commands that have no answer as JSON.
	silent = []string{"study run", "export"}
	// plain holds the commands that answer as JSON and make no run directory.
	plain = []string{"amortize", "certify", "check", "compare", "dag query", "effects", "loo", "predict", "show", "simulate", "study collect"}
)

// is reports whether the command of a run is in the argument commands.
func (r Run) is(commands []string) bool {
	return slices.Contains(commands, r.Args[0]) || slices.Contains(commands, r.Args[0]+" "+r.Args[1])
}

// Machine is a vti binary together with the folders that it uses.
type Machine struct {
	// Binary is the path of the vti command. For a run that needs vtilab, the program is in the
	// same folder and has the same name, with "vtilab" in place of "vti". Data is the folder of
	// shared data sets, and Scratch a folder for run directories. Runs whose program or data are
	// missing are left out.
	Binary, Data, Scratch string
	// Shift is a number that is added to every seed in the list of runs.
	Shift int
}

// arguments returns the arguments of a run, with the folders of the machine filled in. It copies
// the plan of a study to the scratch folder, because results are written next to the plan.
func (m Machine) arguments(run Run, out string) ([]string, error) {
	args := slices.Clone(run.Args)
	for i, arg := range args {
		arg = strings.ReplaceAll(arg, "{data}", m.Data)
		args[i] = strings.ReplaceAll(arg, "{runs}", m.Scratch)
		if i > 0 && args[i-1] == "--seed" {
			seed, err := strconv.Atoi(arg)
			if err != nil {
				return nil, err
			}
			args[i] = strconv.Itoa(seed + m.Shift)
		}
		if plan := filepath.Join(m.Scratch, filepath.Base(arg)); strings.HasSuffix(arg, ".toml") {
			content, err := os.ReadFile(arg)
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(plan, content, 0o644); err != nil {
				return nil, err
			}
			args[i] = plan
		}
	}
	switch {
	case run.is(silent):
		return args, nil
	case run.is(calibrations):
		return append(args, "--out", out, "--quiet"), nil
	case run.is(plain):
		return append(args, "--json"), nil
	}
	return append(args, "--out", out, "--json", "--no-report", "--quiet"), nil
}

// program returns the program of a run, or "" if it does not exist.
func (m Machine) program(run Run) string {
	if !run.Lab {
		return m.Binary
	}
	folder, name := filepath.Split(m.Binary)
	beside := folder + strings.Replace(name, "vti", "vtilab", 1)
	if _, err := os.Stat(beside); err != nil || beside == m.Binary {
		return ""
	}
	return beside
}

// Do makes one run and returns its answer. ok is false if its program or data are missing.
func (m Machine) Do(ctx context.Context, run Run) (answer Answer, ok bool, err error) {
	if m.Data == "" && slices.ContainsFunc(run.Args, func(arg string) bool { return strings.Contains(arg, "{data}") }) {
		return Answer{}, false, nil
	}
	program, out := m.program(run), filepath.Join(m.Scratch, run.Name)
	if program == "" {
		return Answer{}, false, nil
	}
	args, err := m.arguments(run, out)
	if err != nil {
		return Answer{}, false, err
	}
	command := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	start := time.Now()
	failed := command.Run()
	var status *exec.ExitError
	if failed != nil && !errors.As(failed, &status) {
		return Answer{}, false, failed
	}
	state := command.ProcessState
	answer = Answer{Exit: state.ExitCode(), CPU: (state.UserTime() + state.SystemTime()).Seconds(), Wall: time.Since(start).Seconds()}
	switch {
	case run.is(silent):
	case run.is(calibrations):
		err = answer.readCalibration(out)
	default:
		var parsed map[string]any
		if parsed, err = parse(stdout.Bytes()); err == nil {
			answer.Verdict, answer.Numbers = verdictOf(parsed), numbersOf(parsed)
		}
	}
	if err != nil {
		return answer, true, fmt.Errorf("%s: exit status %d, %w: %s", run.Name, answer.Exit, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return answer, true, nil
}

// readCalibration sets Trusted and Wrong from the summary of a calibration in directory out.
func (a *Answer) readCalibration(out string) error {
	content, err := os.ReadFile(filepath.Join(out, "summary.json"))
	if err != nil {
		return err
	}
	parsed, err := parse(content)
	if err != nil {
		return err
	}
	verdicts, _ := parsed["verdicts"].(map[string]any)
	trusted, _ := verdicts["trusted"].(float64)
	wrong, _ := parsed["trusted_and_wrong"].([]any)
	a.Trusted, a.Wrong = int(trusted), len(wrong)
	return nil
}

// Write writes a record as JSON.
func (r Record) Write(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		return encoder.Encode(r)
	})
}

// Read returns a record that Write has written.
func Read(path string) (r Record, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Make makes the runs on every machine, and returns one record for each machine. At most jobs runs
// are made at the same time. Each run is made on one machine after the other, so that the times on
// different machines can be compared. A run begins when the runs that it needs have ended. After
// each run, the function done is called with the number of the machine; its calls do not overlap.
func Make(ctx context.Context, runs []Run, machines []Machine, jobs int, done func(machine int, run Run, answer Answer, err error)) ([]Record, error) {
	records := make([]Record, len(machines))
	ended := map[string]chan struct{}{}
	for i := range records {
		records[i] = Record{}
	}
	for _, run := range runs {
		ended[run.Name] = make(chan struct{})
	}
	var lock sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for _, run := range runs {
		group.Go(func() error {
			defer close(ended[run.Name])
			for _, name := range run.Needs {
				<-ended[name]
			}
			for i, machine := range machines {
				answer, ok, err := machine.Do(ctx, run)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if !ok && err == nil {
					continue
				}
				lock.Lock()
				records[i][run.Name] = answer
				done(i, run, answer, err)
				lock.Unlock()
			}
			return nil
		})
	}
	return records, group.Wait()
}
