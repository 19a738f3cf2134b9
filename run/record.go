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
	// Command is the command of the run, and Version the version of the module.
	Command string `json:"command"`
	Version string `json:"version"`
	// Started and Finished are the times at which the run began and ended. Finished is absent until
	// the run has ended.
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished,omitempty"`
	// Flags holds the values of the flags of the command line, by name. A flag that takes a list
	// has one string for each element.
	Flags       map[string][]string `json:"flags,omitempty"`
	Data        string              `json:"data"`        // absolute path of the table
	Fingerprint string              `json:"fingerprint"` // SHA-256 of the table
	// Region is the region of the genome that is read from a table of genotypes.
	Region table.Region `json:"region,omitzero"`
	// Device is "cpu", "cuda", "xla-cpu" or "go". It is absent for runs without a device.
	Device  string `json:"device,omitempty"`
	Backend string `json:"backend,omitempty"` // the name of the backend of the device
	// Seconds holds the wall-clock times of the run.
	Seconds *Seconds `json:"seconds,omitempty"`
}

// Head returns the header of a record that embeds Header.
func (h *Header) Head() *Header { return h }

// Table reads the table. If the header has a fingerprint, the table must match it. If not, Table
// stores the fingerprint of the table in it.
func (h *Header) Table() (*table.Table, error) {
	t, err := table.ReadRegion(h.Data, h.Region)
	if err != nil {
		return nil, err
	}
	return t, SameFingerprint(h.Data, t.Fingerprint, &h.Fingerprint)
}

// ReadTable reads a table and compares its fingerprint with *fingerprint. If *fingerprint is empty,
// it is set instead.
func ReadTable(path string, fingerprint *string) (*table.Table, error) {
	t, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return t, SameFingerprint(path, t.Fingerprint, fingerprint)
}

// SameFingerprint returns an error if found differs from the recorded fingerprint. If *recorded is
// empty it is set to found.
func SameFingerprint(path, found string, recorded *string) error {
	if *recorded != "" && found != *recorded {
		return fmt.Errorf("%s has changed since the run started: its SHA-256 is %.12s…, the run has %.12s…", path, found, *recorded)
	}
	*recorded = found
	return nil
}

// SameTable returns an error if two runs analyse different tables. dirA and dirB are their
// directories.
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

// ReadRecord reads the record of the run in dir; R is the record type of an application. It returns
// an error if the record is missing or damaged, or lacks a field that all records have.
func ReadRecord[R any](dir string) (*R, error) {
	record := new(R)
	if err := rundir.ReadRecord(dir, record); err != nil {
		return nil, err
	}
	return record, nil
}

// Stored holds a finished run that was read from the directory Dir. R and Result are the types of
// the record and of the result of an application.
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
