package simd

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pool is a fixed set of goroutines that help the callers of Execute.
//
// A caller publishes a job, works on it itself until no task is left unclaimed, withdraws it, and
// waits for the helpers that are still inside a task. Tasks are claimed from an atomic counter and
// never wait for anything, so a job ends even if every helper is busy elsewhere: there is nothing
// to deadlock on. Which goroutine runs a task does not matter to its result.
type pool struct {
	threads int // helpers and one caller

	mu       sync.Mutex
	jobs     []*job // published, oldest first
	sleeping int
	closed   bool

	// helpers that jobs could still use: idle ones watch it for a while before they sleep
	wanted atomic.Int64
	active atomic.Int64 // callers inside Execute
	wake   chan struct{}
}

// job is a number of independent tasks. It belongs to one caller, which may publish it again after
// wait.
type job struct {
	run     func(task, worker int) // worker < threads is not shared by concurrent calls of one job
	tasks   int64
	next    atomic.Int64 // next unclaimed task
	room    int64        // helpers that may still join
	helpers atomic.Int64 // inside work
	parked  atomic.Bool  // the caller sleeps until helpers is 0
	done    chan struct{}
}

func newJob() *job { return &job{done: make(chan struct{}, 1)} }

// spinTime is how long an idle helper, or a caller waiting for the last tasks, watches before it
// sleeps: longer than the usual gap between two parallel passes of a graph, short against a
// scheduler's time slice. Not tuned.
const spinTime = 50 * time.Microsecond

func newPool(threads int) *pool {
	p := &pool{threads: threads, wake: make(chan struct{}, threads)}
	for worker := 1; worker < threads; worker++ {
		go p.help(worker)
	}
	return p
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	close(p.wake)
}

// run executes all tasks of j, on the calling goroutine as worker 0 and on idle helpers.
func (p *pool) run(j *job, tasks int) {
	if tasks <= 1 || p.threads == 1 {
		for task := range tasks {
			j.run(task, 0)
		}
		return
	}
	j.tasks = int64(tasks)
	j.next.Store(0)
	p.publish(j, min(tasks, p.threads)-1)
	j.work(0)
	p.withdraw(j)
	j.wait()
}

// publish lets up to the given number of helpers join j.
func (p *pool) publish(j *job, helpers int) {
	p.mu.Lock()
	j.room = int64(helpers)
	p.jobs = append(p.jobs, j)
	p.wanted.Add(j.room)
	wake := min(helpers, p.sleeping)
	if p.closed {
		wake = 0
	}
	p.sleeping -= wake
	for range wake {
		p.wake <- struct{}{} // never blocks: the channel holds a token per helper
	}
	p.mu.Unlock()
}

// withdraw keeps further helpers from joining j.
func (p *pool) withdraw(j *job) {
	p.mu.Lock()
	p.wanted.Add(-j.room)
	i := slices.Index(p.jobs, j)
	p.jobs = slices.Delete(p.jobs, i, i+1)
	p.mu.Unlock()
}

// work runs tasks until none is unclaimed.
func (j *job) work(worker int) {
	for {
		task := j.next.Add(1) - 1
		if task >= j.tasks {
			return
		}
		j.run(int(task), worker)
	}
}

// wait returns when no helper is inside a withdrawn job. A helper of an earlier run of the job that
// was the last to leave it, and had not looked yet whether its caller sleeps, wakes the caller of
// this one: so the caller looks again.
func (j *job) wait() {
	for j.helpers.Load() != 0 {
		if j.ends(spinTime) {
			return
		}
		j.parked.Store(true)
		if j.helpers.Load() == 0 && j.parked.CompareAndSwap(true, false) {
			return
		}
		<-j.done
	}
}

// ends watches for so long whether the last helper leaves.
func (j *job) ends(within time.Duration) bool {
	for start := time.Now(); time.Since(start) < within; {
		for range spinChecks {
			if j.helpers.Load() == 0 {
				return true
			}
		}
		runtime.Gosched()
	}
	return false
}

// leave ends a helper's part in j and wakes the caller if it was the last one.
func (j *job) leave() {
	if j.helpers.Add(-1) == 0 && j.parked.CompareAndSwap(true, false) {
		j.done <- struct{}{}
	}
}

// spinChecks is the number of reads of a counter between two readings of the clock.
const spinChecks = 64

// help is the life of a helper.
func (p *pool) help(worker int) {
	for {
		if j := p.watch(); j != nil {
			j.work(worker)
			j.leave()
		} else if !p.sleep() {
			return
		}
	}
}

// watch waits for a job to join, for a short time.
func (p *pool) watch() *job {
	for start := time.Now(); ; {
		for range spinChecks {
			if p.wanted.Load() > 0 {
				if j := p.join(); j != nil {
					return j
				}
			}
		}
		if p.active.Load() == 0 || time.Since(start) > spinTime {
			return nil
		}
		runtime.Gosched()
	}
}

// join enters the oldest job that has room. It may fail when others search the jobs at the same
// time.
func (p *pool) join() *job {
	if !p.mu.TryLock() {
		return nil
	}
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if j.room > 0 {
			j.room--
			p.wanted.Add(-1)
			j.helpers.Add(1)
			return j
		}
	}
	return nil
}

// sleep waits for a token, and returns false when the pool is closed.
func (p *pool) sleep() bool {
	p.mu.Lock()
	if p.wanted.Load() > 0 || p.closed {
		defer p.mu.Unlock()
		return !p.closed
	}
	p.sleeping++
	p.mu.Unlock()
	_, open := <-p.wake
	return open
}
