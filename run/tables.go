package run

import (
	"encoding/csv"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rundir"
)

// WriteAnswer writes the answer as result.json and its tables, by file name, to a run directory,
// if there is one.
func WriteAnswer(dir string, result any, tables map[string][][]string) error {
	if dir == "" {
		return nil
	}
	if err := rundir.WriteJSON(filepath.Join(dir, rundir.ResultFile), result); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		write := func(w io.Writer) error { return csv.NewWriter(w).WriteAll(tables[name]) }
		if err := atomicfile.Write(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}
