package simd

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPoolRunsEveryTaskOnce checks that a pool runs every task of a job once, and no two tasks of
// the job at once on a worker, while several callers publish many short jobs.
func TestPoolRunsEveryTaskOnce(t *testing.T) {
	p := newPool(4)
	defer p.close()
	var callers sync.WaitGroup
	for caller := range 3 {
		callers.Go(func() {
			p.active.Add(1)
			defer p.active.Add(-1)
			j := newJob()
			var ran [100]atomic.Int32
			var inUse [4]atomic.Int32
			j.run = func(task, worker int) {
				if inUse[worker].Add(1) != 1 {
					t.Errorf("worker %d runs two tasks of a job at once", worker)
				}
				ran[task].Add(1)
				inUse[worker].Add(-1)
			}
			for round := range 300 {
				tasks := (caller + 7*round) % len(ran)
				p.run(j, tasks)
				for i := range ran {
					want := int32(0)
					if i < tasks {
						want = 1
					}
					if got := ran[i].Swap(0); got != want {
						t.Errorf("task %d of %d ran %d times", i, tasks, got)
						return
					}
				}
			}
		})
	}
	callers.Wait()
	require.Zero(t, p.wanted.Load())
	require.Empty(t, p.jobs)
}

// TestPoolHelps checks that a sleeping helper wakes for a job. The job of the test has two tasks
// that wait for each other, as tasks of this backend never do: without a helper they would wait
// forever.
func TestPoolHelps(t *testing.T) {
	p := newPool(2)
	defer p.close()
	time.Sleep(5 * time.Millisecond) // longer than spinTime, so that the helper sleeps
	j := newJob()
	var both sync.WaitGroup
	both.Add(2)
	j.run = func(int, int) { both.Done(); both.Wait() }
	done := make(chan struct{})
	go func() { p.run(j, 2); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the helper did not come")
	}
}

// TestPoolClosed checks that jobs of a closed pool still run, on the caller.
func TestPoolClosed(t *testing.T) {
	p := newPool(3)
	p.close()
	j := newJob()
	var ran atomic.Int32
	j.run = func(int, int) { ran.Add(1) }
	p.run(j, 10)
	require.Equal(t, int32(10), ran.Load())
}

// TestPoolWaitsForTheHelpersOfThisRun checks that the caller of a job does not go on while a helper
// still works, even if a helper of an earlier run of the job wakes it.
func TestPoolWaitsForTheHelpersOfThisRun(t *testing.T) {
	j := newJob()
	j.helpers.Store(1)
	returned := make(chan struct{})
	go func() {
		j.wait()
		close(returned)
	}()
	for range 3 {
		require.Eventually(t, func() bool { return j.parked.CompareAndSwap(true, false) }, time.Second, time.Millisecond)
		j.done <- struct{}{} // the signal of a helper of an earlier run that leaves late
		select {
		case <-returned:
			t.Fatal("the caller went on beside a helper")
		case <-time.After(20 * time.Millisecond):
		}
	}
	j.leave()
	select {
	case <-returned:
	case <-time.After(time.Second):
		t.Fatal("the caller sleeps though no helper works")
	}
}
