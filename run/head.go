package run

import (
	"github.com/transdim/vti"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/table"
)

// Origin holds the fields that the answers of all runs have, in JSON. Results embed it.
type Origin struct {
	// Schema is the name of the JSON schema of the object, in docs/schema, with its version.
	Schema string `json:"schema"`
	// Command is the command that made the run, and Version the version of the module.
	Command string `json:"command"`
	Version string `json:"version"`
	// Seed is the random seed of the run, and Backend the device that it used, if any.
	Seed    *uint64 `json:"seed,omitempty"`
	Backend string  `json:"backend,omitempty"`
	// Seconds holds the wall-clock times of the run.
	Seconds Seconds `json:"seconds"`
	// ModelCheck reports how well the model describes the table.
	ModelCheck *modelcheck.Report `json:"model_check,omitempty"`
	// RunDir is the directory of the run; absent if it has none.
	RunDir string `json:"run_dir,omitempty"`
}

// Head holds the first fields of the answer of a run without training, in JSON.
type Head struct {
	Origin
	// Answer is the answer of the run in one sentence.
	Answer string `json:"answer"`
}

// NewHead returns the Head of the answer of a command. The name of the schema contains the name of
// the command.
func NewHead(command string, seed uint64, dir string) Head {
	return Head{Origin: Origin{Schema: "vti/" + command + "/1", Command: command, Version: vti.Version, Seed: &seed, RunDir: dir}}
}

// Silent returns the function status or, if it is nil, a function that does nothing.
func Silent(status func(string)) func(string) {
	if status == nil {
		return func(string) {}
	}
	return status
}

// Took returns the wall-clock times of the run.
func (o *Origin) Took() Seconds { return o.Seconds }

// Asked holds all settings of a run without training.
type Asked[O any] struct {
	Header
	// Options holds the options of the application.
	Options O `json:"options"`
	// Seed is the random seed of the run.
	Seed uint64 `json:"seed"`
}

// Unanswerable is an error about a table that is found only during the analysis. A run that ends
// with it leaves no files.
type Unanswerable struct{ Err error }

// Error returns the text of Err.
func (u *Unanswerable) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u *Unanswerable) Unwrap() error { return u.Err }

// Read reads the table of a run, and returns the problem that the function build makes of the table
// and the options.
func Read[O, P any](asked *Asked[O], build func(*table.Table, O) (P, error)) (problem P, err error) {
	t, err := asked.Table()
	if err != nil {
		return problem, err
	}
	return build(t, asked.Options)
}
