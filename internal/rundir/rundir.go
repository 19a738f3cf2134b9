// Package rundir holds what all applications keep in the directory of a run.
package rundir

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/transdim/vti/internal/atomicfile"
)

// Names of the files in a run directory.
const (
	RecordFile    = "run.json"
	ResultFile    = "result.json"
	PosteriorFile = "posterior.vti"
	TraceFile     = "trace.csv"
)

// Make makes the directory of a run. An empty name stands for a new folder runs/COMMAND-DATE-TIME. A folder that already holds a
// run is refused: results are never overwritten.
func Make(name, command string, now time.Time) (string, error) {
	if name == "" {
		base := filepath.Join("runs", command+"-"+now.Format("20060102-150405"))
		name = base
		for i := 2; Exists(name); i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
	}
	for _, file := range []string{RecordFile, PosteriorFile} {
		if Exists(filepath.Join(name, file)) {
			return "", fmt.Errorf("%s already holds a run (%s): choose another --out, or continue it with --resume %s", name, file, name)
		}
	}
	return name, os.MkdirAll(name, 0o755)
}

// Exists tells whether there is a file.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// WriteJSON writes a value to a file, whole or not at all.
func WriteJSON(path string, value any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	})
}
