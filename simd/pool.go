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
// A caller publishes a job, runs its tasks until every task was claimed by itself or by a helper,
// withdraws the job, and waits for the helpers that are still inside a task. Goroutines claim tasks
// from an atomic counter, and tasks never wait for anything. A job therefore ends even if every
// helper is busy with other jobs, and no deadlock is possible. The result of a task does not depend
// on the goroutine that runs it.
type pool struct {
	threads int // the number of helpers plus one, for the caller

	mu       sync.Mutex
	jobs     []*job // published jobs, oldest first
	sleeping int
	closed   bool

	// wanted is the number of helpers that published jobs could still use. Idle helpers read it for
	// a while (spinTime) before they sleep.
	wanted atomic.Int64
	active atomic.Int64 // number of callers inside Execute
	wake   chan struct{}
}

// job is a set of independent tasks, numbered from 0. It belongs to one caller, which may publish
// it again after wait.
type job struct {
	run     func(task, worker int) // worker < threads; concurrent calls have different workers
	tasks   int64
	next    atomic.Int64 // the next task that nobody has claimed
	room    int64        // number of further helpers that may join
	helpers atomic.Int64 // number of helpers inside work
	parked  atomic.Bool  // whether the caller sleeps until helpers is 0
	done    chan struct{}
}

func newJob() *job { return &job{done: make(chan struct{}, 1)} }

// spinTime is how long an idle helper, or a caller that waits for the last tasks, reads a counter
// in a loop before it sleeps. It is longer than the usual time between two parallel passes of a
// graph and much shorter than a time slice of the operating system's scheduler. With half and twice
// this time, the processor time of BenchmarkMADE changes by less than a tenth.
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

// run runs all tasks of j, on the calling goroutine, which is worker 0, and on idle helpers.
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

// publish allows idle helpers to join j, at most the given number of them, and wakes sleeping ones.
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

// withdraw prevents further helpers from joining j.
func (p *pool) withdraw(j *job) {
	p.mu.Lock()
	p.wanted.Add(-j.room)
	i := slices.Index(p.jobs, j)
	p.jobs = slices.Delete(p.jobs, i, i+1)
	p.mu.Unlock()
}

// work claims and runs tasks of j until all are claimed.
func (j *job) work(worker int) {
	for {
		task := j.next.Add(1) - 1
		if task >= j.tasks {
			return
		}
		j.run(int(task), worker)
	}
}

// wait returns when no helper is inside j, which must be withdrawn. Each time the caller is woken,
// it checks again that no helper is inside, because the signal may be late: it may come from the
// last helper of an earlier run of j.
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

// ends reports whether the last helper leaves j within a time, the argument within.
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

// leave records that a helper leaves j, and wakes the caller if it was the last helper.
func (j *job) leave() {
	if j.helpers.Add(-1) == 0 && j.parked.CompareAndSwap(true, false) {
		j.done <- struct{}{}
	}
}

// spinChecks is the number of times that a counter is read between two readings of the clock.
const spinChecks = 64

// help is the main loop of a helper, whose number is the argument worker.
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

// watch waits for at most spinTime for a job that more helpers may join, and joins it. It returns
// nil if there was no such job.
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

// join joins the oldest job that more helpers may join and returns it. It returns nil if there is
// no such job, or if another goroutine holds the lock of the pool.
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

// sleep waits until the helper is woken. It returns false if the pool is closed.
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
