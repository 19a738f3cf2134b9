package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/transdim/vti/internal/atomicfile"
)

// Files of the directory of a task.
const (
	recordFile = "task.json"
	costFile   = "cost.json"
)

// Record is what a task leaves. It has no times, paths or names of machines: every run of the task
// writes the same bytes on the same kind of machine.
type Record struct {
	Name     string         `json:"name"`
	Command  string         `json:"command"`
	Settings map[string]any `json:"settings"`
	// Seed is that of the attempt that counts; absent for commands without one.
	Seed *uint64 `json:"seed,omitempty"`
	// Crashes say how attempts before the last ended.
	Crashes []string `json:"crashes,omitempty"`
	// Exit is the exit status, -1 if there is none.
	Exit int `json:"exit"`
	// Error says why there is no answer.
	Error string `json:"error,omitempty"`
	// Fingerprint is the SHA-256 of the table.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Truth is what is known about a simulated table, a JSON object.
	Truth any `json:"truth,omitempty"`
	// Answer is the result of the run, without its times and its directory, a JSON object.
	Answer any `json:"answer,omitempty"`
}

// Done reports whether the task has an answer, whatever the verdict.
func (r *Record) Done() bool { return r.Answer != nil }

// Cost is what a task used. It differs from run to run.
type Cost struct {
	Seconds    float64 `json:"seconds"`     // of the last attempt, from start to end
	CPUSeconds float64 `json:"cpu_seconds"` // of all its threads
	// PeakBytes is the largest resident memory, as the process itself reports when it ends; of one
	// that was killed what the system says, which on Linux is at least that of the process which
	// started it, and 0 where it is unknown.
	PeakBytes float64 `json:"peak_bytes"`
	Cores     int     `json:"cores"` // that it could use
	Machine   string  `json:"machine"`
}

// writeJSON writes a value on one line, whole or not at all.
func writeJSON(path string, value any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	})
}

// readJSON reads a file of the directory of a task. Numbers in places of any type keep their
// digits.
func readJSON(dir, name string, value any) error {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err = decoder.Decode(value); err == nil {
		if _, err = decoder.Token(); err == io.EOF {
			return nil
		}
		err = errors.Join(errors.New("more follows the value"), err)
	}
	return fmt.Errorf("%s: damaged: %w", filepath.Join(dir, name), err)
}

// strip removes the times and the directory of a run from its result.
func strip(result []byte) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(result, &fields); err != nil {
		return nil, err
	}
	delete(fields, "seconds")
	delete(fields, "run_dir")
	return json.Marshal(fields)
}
