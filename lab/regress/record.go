package regress

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/atomicfile"
)

//go:embed runs.txt
var list string

// Run is a command of the list.
type Run struct {
	Name string
	Args []string
}

// Runs are the commands of the list whose names contain only: each line has a name and arguments,
// separated by blanks, with blanks inside an argument written as "·".
func Runs(only string) (runs []Run) {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") || !strings.Contains(fields[0], only) {
			continue
		}
		for i := range fields {
			fields[i] = strings.ReplaceAll(fields[i], "·", " ")
		}
		runs = append(runs, Run{fields[0], fields[1:]})
	}
	return runs
}

// Answer is what a run is compared by.
type Answer struct {
	// Exit is the exit status of the process.
	Exit int `json:"exit"`
	// Verdict is the verdict of the answer: "trusted", "doubtful", "failed" or "".
	Verdict string `json:"verdict,omitempty"`
	// Trusted and Wrong count, of the answers of a calibration, those that are trusted and those
	// that are trusted and wrong.
	Trusted int `json:"trusted,omitempty"`
	Wrong   int `json:"wrong,omitempty"`
	// CPU are the seconds of processor time.
	CPU float64 `json:"cpu"`
	// Numbers are the numbers with errors, and those that are exact.
	Numbers map[string]Number `json:"numbers,omitempty"`
}

// Record are the answers of the runs, by name.
type Record map[string]Answer

// onRuns are the commands that answer from a finished run and make no run of their own.
var onRuns = []string{"check", "compare", "effects", "loo", "predict", "show"}

// Machine says where runs find what they need.
type Machine struct {
	// Binary is the vti command; Data the folder of shared data sets ("" skips the runs that need
	// it), and Scratch a folder for run directories.
	Binary, Data, Scratch string
}

// Do runs a command. Runs that need data that are not there return ok false.
func (m Machine) Do(ctx context.Context, run Run) (answer Answer, ok bool, err error) {
	args := make([]string, len(run.Args))
	for i, arg := range run.Args {
		if strings.Contains(arg, "{data}") && m.Data == "" {
			return Answer{}, false, nil
		}
		arg = strings.ReplaceAll(arg, "{data}", m.Data)
		args[i] = strings.ReplaceAll(arg, "{runs}", m.Scratch)
	}
	out := filepath.Join(m.Scratch, run.Name)
	if err := os.RemoveAll(out); err != nil {
		return Answer{}, false, err
	}
	study := args[0] == "calibrate"
	switch {
	case study:
		args = append(args, "--out", out)
	case slices.Contains(onRuns, args[0]):
		args = append(args, "--json")
	default:
		args = append(args, "--out", out, "--json", "--no-report", "--quiet")
	}
	command := exec.CommandContext(ctx, m.Binary, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	failed := command.Run()
	var status *exec.ExitError
	if failed != nil && !errors.As(failed, &status) {
		return Answer{}, false, failed
	}
	state := command.ProcessState
	answer = Answer{Exit: state.ExitCode(), CPU: (state.UserTime() + state.SystemTime()).Seconds()}
	if study {
		err = answer.readStudy(out)
	} else {
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

// readStudy reads the summary of a calibration: how many answers are trusted, and how many of these
// are wrong.
func (a *Answer) readStudy(out string) error {
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

// Read reads a record that Write wrote.
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
