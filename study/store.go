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

// State is how far a task is.
type State int

const (
	// Missing tasks have not ended, or not been started.
	Missing State = iota
	// Done tasks have an answer.
	Done
	// Failed tasks ended without one.
	Failed
)

// String returns "missing", "done" or "failed".
func (s State) String() string { return [...]string{"missing", "done", "failed"}[s] }

// fanOut is the number of digits of a name that are those of its folder. Three make 4,096 folders:
// of a million tasks 244 in each, so that no directory gets long, and few folders for small
// studies.
const fanOut = 3

const failedSuffix = ".failed"

// store is the directory of a study.
type store struct{ dir string }

func (s store) folder(name string) string { return filepath.Join(s.dir, "tasks", name[:fanOut]) }

// path is the directory of a task in one of the two states in which it has one.
func (s store) path(name string, state State) string {
	path := filepath.Join(s.folder(name), name)
	if state == Failed {
		path += failedSuffix
	}
	return path
}

// state looks for the directory of a task. An answer counts more than a failure: it came later, or
// from another machine.
func (s store) state(name string) State {
	for _, state := range []State{Done, Failed} {
		if rundir.Exists(s.path(name, state)) {
			return state
		}
	}
	return Missing
}

// record reads what a task has left. A directory that cannot be read whole, as after a loss of
// power or while a shared file system catches up, is an error, and the task counts as missing.
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

// cost reads what a task in a state has used.
func (s store) cost(name string, state State) (c Cost, err error) {
	return c, readJSON(s.path(name, state), costFile, &c)
}

// publish gives the finished directory of a task its place. Where another process was faster, dir
// stays where it is, and the task is as it was. A failed task, and a directory that cannot be read
// whole, gives way.
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

// discard removes the directory of a task at once, by a rename to a place beside a directory of
// work, and then its files.
func (s store) discard(path, work string) error {
	aside := work + ".old"
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // another process did
			return nil
		}
		return err
	}
	return os.RemoveAll(aside)
}

// syncDir makes the names in a directory last.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	// Some file systems cannot sync a directory, and say so.
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// workplace makes a directory for the work of this process, locked until release is called, which
// removes it. Directories that killed processes of this machine have left are removed first.
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
	// It takes the name that sweep looks for only when it is locked.
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
		_ = os.RemoveAll(dir) // a leftover does no harm, and the next process sweeps it
		unlock()
	}
	if err := os.Rename(fresh, dir); err != nil {
		release()
		return "", nil, err
	}
	return dir, release, nil
}

// sweep removes directories of work that no process of this machine holds. Locks of other machines
// need not be visible here, so their directories stay.
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
