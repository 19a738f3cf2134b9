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

// Names of files in the directory of a task.
const (
	recordFile = "task.json"
	costFile   = "cost.json"
)

// Record is the result of a task. It has no times, paths or names of machines, so that every run of
// the task on the same kind of machine writes the same bytes.
type Record struct {
	// Name is the name of the task, Command the command of its plan, and Settings are its settings.
	Name     string         `json:"name"`
	Command  string         `json:"command"`
	Settings map[string]any `json:"settings"`
	// Seed is the seed of the last attempt. It is nil for commands without a seed.
	Seed *uint64 `json:"seed,omitempty"`
	// Crashes describes how earlier attempts crashed.
	Crashes []string `json:"crashes,omitempty"`
	// Exit is the exit status of the command, or −1 if it has none.
	Exit int `json:"exit"`
	// Error is the reason why there is no answer.
	Error string `json:"error,omitempty"`
	// Fingerprint is the SHA-256 of the table.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Truth is the truth about a simulated table, a JSON object.
	Truth any `json:"truth,omitempty"`
	// Answer is the result of the run, without its times and its directory, a JSON object.
	Answer any `json:"answer,omitempty"`
}

// Done reports whether the task has an answer, whatever the verdict.
func (r *Record) Done() bool { return r.Answer != nil }

// Cost is the resource use of a task. It differs from run to run.
type Cost struct {
	Seconds    float64 `json:"seconds"`     // wall clock time of the last attempt
	CPUSeconds float64 `json:"cpu_seconds"` // processor time of all its threads
	// PeakBytes is the largest resident memory, which the process reports at its end. For a killed
	// process it is the count of the system, on Linux at least the memory of the parent process. It
	// is 0 if it is unknown.
	PeakBytes float64 `json:"peak_bytes"`
	Cores     int     `json:"cores"` // number of cores available to the task
	Machine   string  `json:"machine"`
}

// writeJSON writes a value on one line. The file is written completely or not at all.
func writeJSON(path string, value any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	})
}

// readJSON decodes the value in a file. It keeps all digits of numbers in fields of type any.
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

// stripped decodes a JSON object and removes some of its fields.
func stripped(object []byte, names ...string) (fields map[string]json.RawMessage, err error) {
	err = json.Unmarshal(object, &fields)
	for _, name := range names {
		delete(fields, name)
	}
	return fields, err
}
