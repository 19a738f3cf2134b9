package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockFile is a file in a run directory while a process works there. The process holds the
// operating system's lock on the open file, which ends with the process. A file left behind by a
// killed process therefore locks nothing.
const lockFile = ".vti-lock"

// errLocked is the error if another process holds the lock.
var errLocked = errors.New("locked")

// Lock locks a directory against other processes until release is called. If another process holds
// the lock, Lock returns at once an error that names the other process.
func Lock(dir string) (release func(), err error) { return lockWith(filepath.Join(dir, lockFile), dir) }

// LockFile locks one file as [Lock] locks a directory. The file need not exist yet; its lock file
// is next to it.
func LockFile(path string) (release func(), err error) { return lockWith(path+lockFile, path) }

// lockWith locks the directory or file called name, with the lock file at path.
func lockWith(path, name string) (release func(), err error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		err = lock(file)
		if errors.Is(err, errLocked) {
			holder, _ := io.ReadAll(io.LimitReader(file, 32))
			_ = file.Close()
			process := "another vti"
			if id, err := strconv.Atoi(strings.TrimSpace(string(holder))); err == nil {
				process += fmt.Sprintf(" (process %d)", id)
			}
			return nil, fmt.Errorf("%s is in use: %s is running there; wait until it has ended", name, process)
		}
		if err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("locking %s: %w", name, err)
		}
		// The previous holder may have removed the file after this process opened it and before it
		// locked it.
		if !sameFile(file, path) {
			_ = file.Close()
			continue
		}
		if err = file.Truncate(0); err == nil {
			_, err = fmt.Fprintln(file, os.Getpid())
		}
		release := func() {
			_ = os.Remove(path) // before the file is unlocked
			_ = file.Close()
		}
		if err != nil {
			release()
			return nil, fmt.Errorf("locking %s: %w", name, err)
		}
		return release, nil
	}
}

func sameFile(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}
