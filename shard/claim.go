package shard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// beat is how often a process that works on a piece lets its file grow, and silence how long that
// file may stay as it is before the process counts as dead, by the clock of the one that looks.
// Chosen by hand: a shared file system may show the size of a file some seconds late.
const (
	beat    = time.Second
	silence = 15 * time.Second
)

// claim is what a process knows of another one that works on a piece.
type claim struct {
	size  int64
	since time.Time // when it was last seen to change; zero: never looked
}

// take claims the piece at path, until release is called, unless a living process has.
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

// alive reports whether the file of a claim has changed lately, or was not looked at before.
func (c *claim) alive(path string) bool {
	info, err := os.Stat(path)
	if err != nil { // it has just ended
		*c = claim{}
		return true
	}
	if c.since.IsZero() || info.Size() != c.size {
		*c = claim{info.Size(), time.Now()}
	}
	return time.Since(c.since) < silence
}

// keepAlive lets the file of a claim grow until release is called, which removes it.
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
				_, _ = file.Write([]byte{'.'}) // without it another process computes the piece too
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
