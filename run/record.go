package run

import (
	"path/filepath"

	"github.com/transdim/vti/internal/rundir"
)

// Header is what the record of every run begins with. The applications embed it in theirs.
type Header = rundir.Header

// RecordFile is the name of the record in a run directory.
const RecordFile = rundir.RecordFile

// WriteRecord stores the record of an application in a run directory.
func WriteRecord(dir string, record any) error {
	return rundir.WriteJSON(filepath.Join(dir, RecordFile), record)
}

// ReadRecord reads the record of the run in dir, R being the record of an application. It fails
// where dir holds none, where it is damaged, and where it lacks what every record has.
func ReadRecord[R any](dir string) (*R, error) {
	record := new(R)
	if err := rundir.ReadRecord(dir, record); err != nil {
		return nil, err
	}
	return record, nil
}
