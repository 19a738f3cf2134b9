// Package parallel runs independent pieces of work on all processors.
package parallel

import (
	"errors"
	"runtime"
	"sync"
)

// Do calls work(0) to work(n−1), GOMAXPROCS of them at a time, and returns the errors in their
// order, joined.
func Do(n int, work func(i int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		group.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; group.Done() }()
			errs[i] = work(i)
		}()
	}
	group.Wait()
	return errors.Join(errs...)
}
