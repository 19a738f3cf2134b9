package run

import (
	"github.com/transdim/vti"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/table"
)

// Head holds the first fields of the answer of a run, in JSON. Applications embed it.
type Head struct {
	// Schema names the schema of the object, with its version; docs/schema has the file.
	Schema  string  `json:"schema"`
	Command string  `json:"command"`
	Version string  `json:"version"`
	Seed    *uint64 `json:"seed,omitempty"`
	Seconds Seconds `json:"seconds"`
	// Answer is the answer in a sentence.
	Answer string `json:"answer"`
	// ModelCheck reports how well the model describes the table.
	ModelCheck *modelcheck.Report `json:"model_check,omitempty"`
	RunDir     string             `json:"run_dir,omitempty"`
}

// NewHead returns the head of the answer of a command, whose schema has the name of the command.
func NewHead(command string, seed uint64, dir string) Head {
	return Head{Schema: "vti/" + command + "/1", Command: command, Version: vti.Version, Seed: &seed, RunDir: dir}
}

// Silent returns status, or a function that does nothing if status is nil.
func Silent(status func(string)) func(string) {
	if status == nil {
		return func(string) {}
	}
	return status
}

// Took returns the times of the run.
func (h *Head) Took() Seconds { return h.Seconds }

// Asked holds all settings of a run without training.
type Asked[O any] struct {
	Header
	Options O      `json:"options"`
	Seed    uint64 `json:"seed"`
}

// Unanswerable is an error about a table that appears only during the analysis. Such a run leaves
// no files.
type Unanswerable struct{ Err error }

// Error returns the text of the error within.
func (u *Unanswerable) Error() string { return u.Err.Error() }

// Unwrap returns the error within.
func (u *Unanswerable) Unwrap() error { return u.Err }

// Read reads the table of a run and builds its problem.
func Read[O, P any](asked *Asked[O], build func(*table.Table, O) (P, error)) (problem P, err error) {
	t, err := asked.Table()
	if err != nil {
		return problem, err
	}
	return build(t, asked.Options)
}
