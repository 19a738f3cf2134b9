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

// lockFile is in a run directory while a process works there. The lock is the lock of the operating
// system on the open file, which ends with the process: a file left behind by a killed process
// locks nothing.
const lockFile = ".vti-lock"

// errLocked: another process holds the lock.
var errLocked = errors.New("locked")

// Lock locks a directory against other processes until release is called. It fails at once, naming
// the process, if another one holds the lock.
func Lock(dir string) (release func(), err error) { return lockWith(filepath.Join(dir, lockFile), dir) }

// LockFile is Lock for one file, which need not exist yet: its lock is next to it.
func LockFile(path string) (release func(), err error) { return lockWith(path+lockFile, path) }

// lockWith locks a directory or a file, named in errors, with the lock file at path.
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
		// The holder before may have removed the file between our opening and locking it.
		if !sameFile(file, path) {
			_ = file.Close()
			continue
		}
		if err = file.Truncate(0); err == nil {
			_, err = fmt.Fprintln(file, os.Getpid())
		}
		release := func() {
			_ = os.Remove(path) // while it is still locked
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
