package run

import (
	"path/filepath"

	"github.com/transdim/vti/internal/rundir"
)

// WriteAnswer writes result.json and tables, by file name, to a run directory, if there is one.
func WriteAnswer(dir string, result any, tables map[string][][]string) error {
	if dir == "" {
		return nil
	}
	if err := rundir.WriteJSON(filepath.Join(dir, rundir.ResultFile), result); err != nil {
		return err
	}
	return rundir.WriteTables(dir, tables)
}
