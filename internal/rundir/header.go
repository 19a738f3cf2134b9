package rundir

import (
	"fmt"
	"time"

	"github.com/transdim/vti/table"
)

// Header is what the record of every run begins with. The applications embed it in theirs.
type Header struct {
	Command     string     `json:"command"`
	Version     string     `json:"version"`
	Started     time.Time  `json:"started"`
	Finished    *time.Time `json:"finished,omitempty"`
	Data        string     `json:"data"`        // absolute path of the table
	Fingerprint string     `json:"fingerprint"` // SHA-256 of the table
	// cpu, cuda, xla-cpu or go; absent for runs that use none
	Device  string `json:"device,omitempty"`
	Backend string `json:"backend,omitempty"` // the name of its backend
}

// Table reads the table. A header with a fingerprint insists on it: the table must not have changed
// since the run began. One without gets it.
func (h *Header) Table() (*table.Table, error) { return ReadTable(h.Data, &h.Fingerprint) }

// ReadTable reads a table whose fingerprint is recorded, or is to be.
func ReadTable(path string, fingerprint *string) (*table.Table, error) {
	t, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if *fingerprint != "" && t.Fingerprint != *fingerprint {
		return nil, fmt.Errorf("%s has changed since the run started: its SHA-256 is %.12s…, the run has %.12s…", path, t.Fingerprint, *fingerprint)
	}
	*fingerprint = t.Fingerprint
	return t, nil
}
