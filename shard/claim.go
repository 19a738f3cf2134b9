package shard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// beat is the interval at which a process that works on a piece appends to its file. silence is the
// time without growth, by the clock of the observer, after which the process counts as dead. A
// shared file system may show the size of a file some seconds late.
const (
	beat    = time.Second
	silence = 15 * time.Second
)

// claim is the observed state of another process's work on a piece.
type claim struct {
	size  int64
	since time.Time // time of the last observed change; zero: never observed
}

// take claims the piece at path until release is called, unless a living process holds it.
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
		_ = os.Remove(path) // another process may have
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

// alive reports whether the file of a claim has changed lately, or was not observed before.
func (c *claim) alive(path string) bool {
	info, err := os.Stat(path)
	if err != nil { // the process has just ended
		*c = claim{}
		return true
	}
	if c.since.IsZero() || info.Size() != c.size {
		*c = claim{info.Size(), time.Now()}
	}
	return time.Since(c.since) < silence
}

// keepAlive appends to the file of a claim until release is called, which removes it.
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
