// Package parallel runs independent pieces of work on all processors. The pieces of work must not
// depend on each other. Results then do not depend on the number of processors.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Run calls work(0) to work(n−1).
func Run(n int, work func(i int)) {
	_ = For(context.Background(), n, func(i int) error { work(i); return nil }) // work has no error
}

// Do calls work(0) to work(n−1) and returns their errors, joined in the order of i.
func Do(n int, work func(i int) error) error {
	errs := make([]error, n)
	Run(n, func(i int) { errs[i] = work(i) })
	return errors.Join(errs...)
}

// For calls work(0) to work(n−1), until one of them fails or ctx is done. It returns the error of
// the smallest i for which work fails, whatever the number of processors, or an error that wraps
// ctx.Err().
func For(ctx context.Context, n int, work func(i int) error) error {
	return Each(ctx, n, func(int) func(i int) error { return work })
}

// Each is like For but with separate state for each worker, such as scratch memory. Each calls
// worker(0) to worker(Workers(n)−1), which return functions that do the work. It calls such a
// function for one piece of work at a time.
func Each(ctx context.Context, n int, worker func(w int) func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	run := func(w int) {
		work := worker(w)
		for ctx.Err() == nil && !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = work(i); errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	var wait sync.WaitGroup
	for w := range Workers(n) {
		wait.Go(func() { run(w) })
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped: %w", err)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Workers returns the number of workers that share n pieces of work.
func Workers(n int) int { return min(runtime.GOMAXPROCS(0), n) }
