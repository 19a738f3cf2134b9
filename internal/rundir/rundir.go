// Package rundir reads and writes the files that all applications keep in the directory of a run.
package rundir

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/atomicfile"
)

// Names of the files in a run directory.
const (
	RecordFile    = "run.json"
	ResultFile    = "result.json"
	PosteriorFile = "posterior.vti"
	ChainsFile    = "chains.vti"
	TraceFile     = "trace.csv"
	RoundsFile    = "rounds.csv"
	PiecesDir     = "pieces" // folder of the finished pieces of an unfinished run
)

// Continues reports whether dir holds state from which a stopped run continues.
func Continues(dir string) bool {
	return slices.ContainsFunc([]string{PosteriorFile, ChainsFile, PiecesDir}, func(name string) bool { return Exists(filepath.Join(dir, name)) })
}

// Exists reports whether a file exists.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// WriteJSON writes a value to a file, which is then either complete or unchanged.
func WriteJSON(path string, value any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	})
}

// ReadRecord reads the record of the run in dir into the argument record, a pointer to a struct. It
// returns an error if the record is missing or damaged, or lacks the command, the data or the
// fingerprint of the data.
func ReadRecord(dir string, record any) error {
	path := filepath.Join(dir, RecordFile)
	content, err := os.ReadFile(path)
	if info, none := os.Stat(dir); none == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, no run directory: the directory of the run comes before the table", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a run directory: it holds no %s", dir, RecordFile)
	}
	if err != nil {
		return err
	}
	var header struct {
		Command     string `json:"command"`
		Data        string `json:"data"`
		Fingerprint string `json:"fingerprint"`
	}
	for _, into := range []any{record, &header} {
		if err := json.Unmarshal(content, into); err != nil {
			return fmt.Errorf("%s: damaged: %w", path, err)
		}
	}
	if header.Command == "" || header.Data == "" || header.Fingerprint == "" {
		return fmt.Errorf("%s: not the record of a vti run: expected the keys command, data and fingerprint", path)
	}
	return nil
}

// ReadResult reads the result of the run in dir into the argument result, a pointer to a struct. It
// returns an error if the result is missing or damaged.
func ReadResult(dir string, result any) error {
	path := filepath.Join(dir, ResultFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var header struct {
			Command string `json:"command"`
		}
		again := ""
		if ReadRecord(dir, &header) == nil && Continues(dir) {
			again = fmt.Sprintf("; to continue: vti %s --resume %s", header.Command, Quoted(dir))
		}
		return fmt.Errorf("%s holds no %s: the run has not finished%s", dir, ResultFile, again)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, result); err != nil {
		return fmt.Errorf("%s: damaged: %w", path, err)
	}
	return nil
}

// WriteTables writes tables of text as CSV files to dir. The keys of the argument tables are the
// names of the files.
func WriteTables(dir string, tables map[string][][]string) error {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		write := func(w io.Writer) error { return csv.NewWriter(w).WriteAll(tables[name]) }
		if err := atomicfile.Write(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}

// Quoted returns a path or another word quoted for a shell.
func Quoted(path string) string {
	if path == "" || strings.ContainsAny(path, " \t\n'\"\\$`&;|<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// FlagWords returns flags, whose values are given by name, as words of a command line in the order
// of the names. It leaves out the flags named by except. The function written converts a value to
// its form in a word: [Quoted] does so for a shell, and strings.Clone leaves the value as it is.
func FlagWords(flags map[string][]string, written func(value string) string, except ...string) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		for _, value := range flags[name] {
			if !slices.Contains(except, name) {
				words = append(words, "--"+name+"="+written(value))
			}
		}
	}
	return words
}
