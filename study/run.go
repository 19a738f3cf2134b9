package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/rundir"
)

// RunConfig configures Run.
type RunConfig struct {
	// Launcher starts the processes of the tasks.
	Launcher Launcher
	// Selection selects the tasks; the zero value selects all.
	Selection Selection
	// Jobs is the number of processes at a time. 0 means the number that the machine's cores and
	// memory allow, given the costs of pilot tasks.
	Jobs int
	// Again says whether failed tasks are run again.
	Again bool
	// Report, if not nil, is called after every task, by one goroutine at a time.
	Report func(Progress)
}

// Progress is the state of a run after a task.
type Progress struct {
	// Total is the number of selected tasks. Done and Failed are the numbers of tasks that have
	// ended with and without an answer. Found is the number of these tasks that had ended before
	// this run.
	Total, Done, Failed, Found int
	// Unrecorded is the number of tasks that faults of the machine stopped. They count as missing.
	Unrecorded int
	// Jobs is the number of processes at a time.
	Jobs int
	// Task is the task that has just ended, and Error its error, if any.
	Task  Task
	Error string
}

// consecutiveFaults is the number of faults in a row after which a run ends, because the next task
// would probably meet the same fault.
const consecutiveFaults = 3

// memoryShare is the share of the machine's memory for tasks that use as much as the largest pilot
// task. The rest is for the system and for larger tasks.
const memoryShare = 0.7

// Run runs the selected tasks that have not ended yet, and returns its progress. If ctx is
// cancelled, it also returns the error of ctx. If faults of the machine stopped tasks, it returns
// an error with the last fault. For failed tasks, which it counts and reports, it returns no error.
//
// Only one process at a time may run all tasks of a study. Processes that run shards or single
// tasks may run at the same time, on any machine: the first answer to a task is kept.
func (p *Plan) Run(ctx context.Context, cfg RunConfig) (Progress, error) {
	state := Progress{Total: cfg.Selection.count(p.Tasks())}
	s := store{p.Dir()}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return state, err
	}
	if cfg.Selection == (Selection{}) {
		release, err := rundir.Lock(s.dir)
		if err != nil {
			return state, err
		}
		defer release()
	}
	dir, release, err := s.workplace()
	if err != nil {
		return state, err
	}
	defer release()
	cores := runtime.GOMAXPROCS(0)
	jobs := cfg.Jobs
	if jobs == 0 {
		if jobs, err = p.fit(ctx, cfg, cores); err != nil {
			return state, err
		}
	}
	state.Jobs = jobs
	r := &runner{plan: p, cfg: cfg, state: state}
	var wait sync.WaitGroup
	tasks := make(chan Task)
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	for range jobs {
		w := &worker{plan: p, store: s, launcher: cfg.Launcher, dir: dir, cores: max(1, cores/jobs)}
		wait.Go(func() {
			for t := range tasks {
				if state, record, err := w.do(ctx, t); state != Missing || ctx.Err() == nil {
					r.ended(t, state, record, err)
				}
			}
		})
	}
	r.feed(ctx, s, tasks)
	close(tasks)
	wait.Wait()
	return r.state, r.failure(ctx)
}

// fit returns the number of processes that the cores and the memory of the machine allow.
func (p *Plan) fit(ctx context.Context, cfg RunConfig, cores int) (int, error) {
	if cfg.Selection.count(p.Tasks()) == 1 {
		return 1, nil
	}
	e, err := p.Estimate(ctx, cfg.Launcher)
	if err != nil {
		return 0, err
	}
	return e.Jobs(cores, memory.Total()), nil
}

// runner counts the tasks of a run.
type runner struct {
	plan *Plan
	cfg  RunConfig
	stop context.CancelCauseFunc

	mutex  sync.Mutex
	state  Progress
	faults int // number of faults in a row
	fault  error
}

func (r *runner) feed(ctx context.Context, s store, tasks chan<- Task) {
	for i := range r.cfg.Selection.indices(r.plan.Tasks()) {
		t := r.plan.Task(i)
		switch state := s.state(t.Name); {
		case state == Done:
			r.found(&r.state.Done)
		case state == Failed && !r.cfg.Again:
			r.found(&r.state.Failed)
		default:
			select {
			case tasks <- t:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (r *runner) found(counter *int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	*counter++
	r.state.Found++
}

// ended counts a task that has ended. The argument fault is nil if the task has a record.
func (r *runner) ended(t Task, state State, record *Record, fault error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.state.Task = t
	switch {
	case fault != nil:
		r.state.Unrecorded++
		r.fault, r.state.Error = fault, fault.Error()
		if r.faults++; r.faults == consecutiveFaults {
			r.stop(fault)
		}
	case state == Done:
		r.state.Done++
		r.faults, r.state.Error = 0, ""
	default:
		r.state.Failed++
		r.faults, r.state.Error = 0, record.Error
	}
	if r.cfg.Report != nil {
		r.cfg.Report(r.state)
	}
}

// failure returns the error that Run returns.
func (r *runner) failure(ctx context.Context) error {
	if r.state.Unrecorded > 0 {
		return fmt.Errorf("%s could not be brought to an end and %s missing still; the last: %w", english.Count(r.state.Unrecorded, "task"), english.Form(r.state.Unrecorded, "is", "are"), r.fault)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, r.fault) {
		return cause
	}
	return nil
}
