package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/transdim/vti/internal/rundir"
)

// State is the state of a task.
type State int

const (
	// Missing means that the task has not started, or has not ended.
	Missing State = iota
	// Done means that the task has an answer.
	Done
	// Failed means that the task ended without an answer.
	Failed
)

// String returns "missing", "done" or "failed".
func (s State) String() string { return [...]string{"missing", "done", "failed"}[s] }

// fanOut is the number of first digits of the name of a task that are the name of its folder. With
// three, directories have few entries, and small studies few folders.
const fanOut = 3

const failedSuffix = ".failed"

// store is the directory of a study.
type store struct{ dir string }

func (s store) folder(name string) string { return filepath.Join(s.dir, "tasks", name[:fanOut]) }

// path returns the directory of a done or failed task.
func (s store) path(name string, state State) string {
	path := filepath.Join(s.folder(name), name)
	if state == Failed {
		path += failedSuffix
	}
	return path
}

// state looks for the directory of a task. An answer takes precedence over a failure.
func (s store) state(name string) State {
	for _, state := range []State{Done, Failed} {
		if rundir.Exists(s.path(name, state)) {
			return state
		}
	}
	return Missing
}

// record reads the record of a task. If the directory cannot be read completely, record returns an
// error, and the task counts as missing. Directories may be incomplete after a loss of power, or
// for a moment on a shared file system.
func (s store) record(name string) (*Record, State, error) {
	r := &Record{}
	state := Done
	err := readJSON(s.path(name, Done), recordFile, r)
	if errors.Is(err, fs.ErrNotExist) {
		if state = s.state(name); state == Missing {
			return nil, Missing, nil
		}
		err = readJSON(s.path(name, state), recordFile, r)
	}
	if err != nil {
		return nil, Missing, err
	}
	if r.Name != name || r.Done() != (state == Done) {
		return nil, Missing, fmt.Errorf("%s: not the record of a task that is %s", s.path(name, state), state)
	}
	return r, state, nil
}

func (s store) cost(name string, state State) (c Cost, err error) {
	return c, readJSON(s.path(name, state), costFile, &c)
}

// publish moves the finished directory dir of a task to its place. If another process has published
// the task before, dir is not moved. A failed task or an unreadable directory is replaced.
func (s store) publish(dir, name string, state State) error {
	if err := os.MkdirAll(s.folder(name), 0o755); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	for range 2 {
		err := os.Rename(dir, s.path(name, state))
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
		_, there, damaged := s.record(name)
		if there == Done || state == Failed && damaged == nil {
			return nil
		}
		if err := s.discard(s.path(name, state), dir); err != nil {
			return err
		}
	}
	if state == Done {
		if failed := s.path(name, Failed); rundir.Exists(failed) {
			if err := s.discard(failed, dir); err != nil {
				return err
			}
		}
	}
	return syncDir(s.folder(name))
}

// discard removes the directory of a task atomically: it first renames the directory to a path
// beside the directory work, and then removes its files.
func (s store) discard(path, work string) error {
	aside := work + ".old"
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // another process has discarded it
			return nil
		}
		return err
	}
	return os.RemoveAll(aside)
}

// syncDir makes the names in a directory durable on the disk.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	// Some file systems cannot sync a directory, and return an error.
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// workplace makes a locked directory for the work of this process; release removes it. Before that,
// workplace removes directories that killed processes of this machine have left.
func (s store) workplace() (dir string, release func(), err error) {
	machine, err := os.Hostname()
	if err != nil {
		return "", nil, err
	}
	root := filepath.Join(s.dir, "work")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", nil, err
	}
	s.sweep(root, machine)
	// The method sweep finds directories by name: this one gets its name only after it is locked.
	fresh, err := os.MkdirTemp(root, fmt.Sprintf("new-%s-%d-", machine, os.Getpid()))
	if err != nil {
		return "", nil, err
	}
	unlock, err := rundir.Lock(fresh)
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(root, strings.TrimPrefix(filepath.Base(fresh), "new-"))
	release = func() {
		_ = os.RemoveAll(dir) // if this fails, the next process removes the directory
		unlock()
	}
	if err := os.Rename(fresh, dir); err != nil {
		release()
		return "", nil, err
	}
	return dir, release, nil
}

// sweep removes directories of processes of this machine that have ended. Directories of other
// machines stay, because their locks may be invisible here.
func (s store) sweep(root, machine string) {
	left, err := filepath.Glob(filepath.Join(root, machine+"-*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		if unlock, err := rundir.Lock(dir); err == nil {
			_ = os.RemoveAll(dir)
			unlock()
		}
	}
}
