package shard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A process that computes a piece of the work appends to a claim file at intervals of beat. If the
// file has not grown for the time silence, by the clock of an observer, the observer takes the
// process for dead. A shared file system may show the size of a file some seconds late.
const (
	beat    = time.Second
	silence = 15 * time.Second
)

// claim is the state, as last observed, of the claim file of another process for a piece.
type claim struct {
	size  int64
	since time.Time // time of the last observed change; zero if never observed
}

// take claims the piece at path until release is called. mine is false if another living process
// has claimed the piece.
func (c *claim) take(path string) (release func(), mine bool, err error) {
	path += ".busy"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, false, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if c.alive(path) {
			return nil, false, nil
		}
		_ = os.Remove(path) // another process may have removed it before; ignore the error
		file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	}
	if errors.Is(err, fs.ErrExist) { // another process was faster
		*c = claim{}
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return keepAlive(file, path), true, nil
}

// alive reports whether the claim file at path has grown within the time silence, or is observed
// for the first time.
func (c *claim) alive(path string) bool {
	info, err := os.Stat(path)
	if err != nil { // the file is gone: the process has just ended
		*c = claim{}
		return true
	}
	if c.since.IsZero() || info.Size() != c.size {
		*c = claim{info.Size(), time.Now()}
	}
	return time.Since(c.since) < silence
}

// keepAlive appends to a claim file at intervals until release is called, which removes the file.
func keepAlive(file *os.File, path string) (release func()) {
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_, _ = file.Write([]byte{'.'}) // on an error another process computes the piece too
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
		_ = file.Close()
		_ = os.Remove(path)
	}
}
