package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Claim makes the directory of a new run, and locks it until release is called. If name is empty,
// it makes a new folder runs/COMMAND-DATE-TIME. Existing files are never overwritten: Claim returns
// an error if the folder already holds a run, or a file that the run would write. The argument
// files lists the names of these files, which may be patterns of [filepath.Match].
func Claim(name, command string, now time.Time, files []string) (dir string, release func(), err error) {
	if name == "" {
		base := filepath.Join("runs", command+"-"+now.Format("20060102-150405"))
		name = base
		for i := 2; Exists(name); i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return "", nil, unwritable(name, err)
	}
	release, err = Lock(name)
	if errors.Is(err, fs.ErrPermission) {
		return "", nil, unwritable(name, err)
	}
	if err != nil {
		return "", nil, err
	}
	if err := free(name, files); err != nil {
		release()
		return "", nil, err
	}
	return name, release, nil
}

// unwritable returns the error for a directory that cannot be created or written.
func unwritable(name string, err error) error {
	return fmt.Errorf("%s cannot be the directory of the run: %w; choose another --out, in a folder that you can write", name, err)
}

// free returns an error if a folder holds a run, or a file that matches one of the given names.
func free(dir string, files []string) error {
	for _, file := range []string{RecordFile, PosteriorFile, ChainsFile} {
		if Exists(filepath.Join(dir, file)) {
			return fmt.Errorf("%s already holds a run (%s): choose another --out, or continue it with --resume %s", dir, file, Quoted(dir))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.ContainsFunc(files, func(pattern string) bool {
			match, err := filepath.Match(pattern, entry.Name())
			return match && err == nil
		}) {
			return fmt.Errorf("%s holds %s, which the run would overwrite: choose another --out", dir, entry.Name())
		}
	}
	return nil
}
