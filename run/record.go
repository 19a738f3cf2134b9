package run

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/table"
)

// Header holds the first fields of the record of every run. Applications embed it.
type Header struct {
	Command  string     `json:"command"`
	Version  string     `json:"version"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished,omitempty"`
	// Flags are the flags of the command line, by name, with the elements of lists one by one.
	Flags       map[string][]string `json:"flags,omitempty"`
	Data        string              `json:"data"`        // absolute path of the table
	Fingerprint string              `json:"fingerprint"` // SHA-256 of the table
	// cpu, cuda, xla-cpu or go; absent for runs without a device
	Device  string   `json:"device,omitempty"`
	Backend string   `json:"backend,omitempty"` // the name of its backend
	Seconds *Seconds `json:"seconds,omitempty"`
}

// Head returns the header, for records that embed it.
func (h *Header) Head() *Header { return h }

// Table reads the table. A fingerprint in the header must match; otherwise the header gets one.
func (h *Header) Table() (*table.Table, error) { return ReadTable(h.Data, &h.Fingerprint) }

// ReadTable reads a table and checks its fingerprint, or records it if there is none.
func ReadTable(path string, fingerprint *string) (*table.Table, error) {
	t, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return t, SameFingerprint(path, t.Fingerprint, fingerprint)
}

// SameFingerprint fails if found differs from the recorded fingerprint, which it sets if empty.
func SameFingerprint(path, found string, recorded *string) error {
	if *recorded != "" && found != *recorded {
		return fmt.Errorf("%s has changed since the run started: its SHA-256 is %.12s…, the run has %.12s…", path, found, *recorded)
	}
	*recorded = found
	return nil
}

// SameTable fails if two runs analyse different tables.
func SameTable(dirA string, a *Header, dirB string, b *Header) error {
	if a.Fingerprint == b.Fingerprint {
		return nil
	}
	return fmt.Errorf("%s and %s analyse different tables: %s (SHA-256 %.12s…) and %s (SHA-256 %.12s…)",
		dirA, dirB, a.Data, a.Fingerprint, b.Data, b.Fingerprint)
}

// WriteRecord stores the record of an application in a run directory.
func WriteRecord(dir string, record any) error {
	return rundir.WriteJSON(filepath.Join(dir, rundir.RecordFile), record)
}

// ReadRecord reads the record of the run in dir; R is the record type of an application. It fails
// if the record is missing or damaged, or lacks a field common to all records.
func ReadRecord[R any](dir string) (*R, error) {
	record := new(R)
	if err := rundir.ReadRecord(dir, record); err != nil {
		return nil, err
	}
	return record, nil
}

// Stored is a finished run in a directory, with the record and result types of an application.
type Stored[R, Result any] struct {
	Dir    string
	Record *R
	Result *Result
}

// ReadStored reads the record and the result of a run directory.
func ReadStored[R, Result any](dir string) (Stored[R, Result], error) {
	record, err := ReadRecord[R](dir)
	stored := Stored[R, Result]{Dir: dir, Record: record, Result: new(Result)}
	if err == nil {
		err = rundir.ReadResult(dir, stored.Result)
	}
	return stored, err
}
