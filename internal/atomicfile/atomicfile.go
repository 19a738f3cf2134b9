// Package atomicfile writes files that are either complete or absent. Content goes to a temporary
// file in the same folder, which is flushed to the disk and then renamed.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// suffix ends the names of temporary files, which also begin with a dot.
const suffix = ".vti-part"

// File is a file under construction. It appears at its path when Commit succeeds.
type File struct {
	*os.File
	path string
}

// Create starts a file that Commit will put at path.
func Create(path string) (*File, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+suffix)
	if err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err // the error without the temporary name
		}
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return &File{file, path}, nil
}

// Commit puts the content at the file's path with permissions 0644, replacing any older file. After
// an error there is no new file, and an older file is unchanged.
func (f *File) Commit() error {
	for _, step := range []func() error{
		func() error { return f.Chmod(0o644) }, // CreateTemp keeps files private
		f.Sync,
		f.Close,
		func() error { return os.Rename(f.Name(), f.path) },
	} {
		if err := step(); err != nil {
			f.Abort()
			return fmt.Errorf("writing %s: %w", f.path, err)
		}
	}
	return nil
}

// Abort removes an unfinished file. After Commit it does nothing.
func (f *File) Abort() {
	// Errors are ignored: the file is temporary, or already closed and renamed.
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// Write calls write with a buffered writer. If write succeeds, Write puts the content at path.
func Write(path string, write func(w io.Writer) error) error {
	file, err := Create(path)
	if err != nil {
		return err
	}
	defer file.Abort()
	buffered := bufio.NewWriterSize(file, 1<<16)
	if err := write(buffered); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return file.Commit()
}

// Sweep removes the temporary files in dir that were left by a process killed while it was writing.
func Sweep(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, ".*"+suffix))
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return err
}
