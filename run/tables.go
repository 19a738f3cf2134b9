package run

import (
	"path/filepath"

	"github.com/transdim/vti/internal/rundir"
)

// WriteAnswer writes result.json and the tables to a run directory. The keys of tables are names of
// files. If dir is "" it writes nothing.
func WriteAnswer(dir string, result any, tables map[string][][]string) error {
	if dir == "" {
		return nil
	}
	if err := rundir.WriteJSON(filepath.Join(dir, rundir.ResultFile), result); err != nil {
		return err
	}
	return rundir.WriteTables(dir, tables)
}
