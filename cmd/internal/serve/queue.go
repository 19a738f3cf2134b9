package serve

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	runs "github.com/transdim/vti/run"
)

// mostWaiting is the largest number of waiting runs. A larger number would be a mistake.
const mostWaiting = 100

// queue starts runs, a limited number at a time, and notes how they ended.
type queue struct {
	space    *workspace
	program  func(ctx context.Context, args ...string) *exec.Cmd
	parallel int

	mutex   sync.Mutex
	ended   sync.WaitGroup
	closed  bool
	waiting []*job
	running map[string]*process
}

// process is a process that computes a run.
type process struct {
	*os.Process
	asked bool // whether stop was called
}

// stop asks the process to stop.
func (p *process) stop() error {
	p.asked = true
	return interrupt(p.Process)
}

// newQueue returns the queue of a workspace, with the runs that were waiting when the last server
// ended.
func newQueue(space *workspace, program func(ctx context.Context, args ...string) *exec.Cmd, parallel int) *queue {
	q := &queue{space: space, program: program, parallel: parallel, running: map[string]*process{}}
	for _, j := range slices.Backward(space.jobs()) {
		if j.State == waiting {
			q.waiting = append(q.waiting, j)
		}
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.start()
	return q
}

var errFull = errors.New("too many runs wait: stop some of them, or wait until they have ended")

// add puts a run at the end of the queue. A run that has begun before is resumed.
func (q *queue) add(j *job) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) >= mostWaiting {
		return errFull
	}
	if _, runs := q.running[j.ID]; runs || slices.ContainsFunc(q.waiting, func(other *job) bool { return other.ID == j.ID }) {
		return nil
	}
	j.State = waiting
	if err := q.space.write(j); err != nil {
		return err
	}
	q.waiting = append(q.waiting, j)
	q.start()
	return nil
}

// start starts waiting runs as long as fewer than the allowed number are running.
func (q *queue) start() {
	for len(q.running) < q.parallel && len(q.waiting) > 0 && !q.closed {
		j := q.waiting[0]
		q.waiting = q.waiting[1:]
		cmd := q.program(context.Background(), q.arguments(j)...)
		cmd.Dir = q.space.dir
		detach(cmd)
		log, err := q.space.root.Create(path.Join(runsDir, j.ID, logFile))
		if err == nil {
			cmd.Stderr = log
			err = cmd.Start()
		}
		if err != nil {
			q.settle(j, failed, shell.StatusFailure)
			continue
		}
		j.State, j.Exit = running, 0
		_ = q.space.write(j)
		p := &process{Process: cmd.Process}
		q.running[j.ID] = p
		q.ended.Go(func() {
			_ = cmd.Wait() // the exit status shows the error
			_ = log.Close()
			q.mutex.Lock()
			defer q.mutex.Unlock()
			delete(q.running, j.ID)
			status := cmd.ProcessState.ExitCode()
			if p.asked && outcome(status) == failed {
				status = shell.StatusInterrupted // the process ended before it could handle signals
			}
			q.settle(j, outcome(status), status)
			q.start()
		})
	}
}

func (q *queue) settle(j *job, s state, status int) {
	j.State, j.Exit = s, status
	_ = q.space.write(j) // if this fails, the record of the run decides its state
}

func outcome(status int) state {
	switch status {
	case shell.StatusOK, shell.StatusUntrusted:
		return done
	case shell.StatusInterrupted:
		return stopped
	}
	return failed
}

// arguments returns the command line of a run. Every value is in the same argument as its flag, as
// in --flag=value.
func (q *queue) arguments(j *job) []string {
	words := strings.Fields(j.Command)
	dir := path.Join(runsDir, j.ID)
	if rundir.Exists(filepath.Join(q.space.dir, dir, rundir.RecordFile)) {
		return append(words, "--resume="+dir)
	}
	words = append(words, path.Join(tablesDir, j.Table), "--out="+dir)
	return append(words, rundir.FlagWords(j.Flags, strings.Clone)...)
}

// stop removes a run from the queue, or asks its process to stop.
func (q *queue) stop(id string) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for i, j := range q.waiting {
		if j.ID == id {
			q.waiting = slices.Delete(q.waiting, i, i+1)
			q.settle(j, stopped, shell.StatusInterrupted)
			return nil
		}
	}
	if p := q.running[id]; p != nil {
		return p.stop()
	}
	return errors.New("the process of this run was not started here: it is stopped where it was")
}

// look returns the present state of a run, and the number of runs that wait before it. A run whose
// directory is locked is still computed by a process that an earlier server started.
func (q *queue) look(id string) (j *job, before int, err error) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if j, err = q.space.read(id); err != nil {
		return nil, 0, err
	}
	before = slices.IndexFunc(q.waiting, func(other *job) bool { return other.ID == id })
	if _, ours := q.running[id]; ours || j.State != running {
		return j, before, nil
	}
	release, err := rundir.Lock(filepath.Join(q.space.dir, runsDir, id))
	if err != nil {
		return j, before, nil
	}
	release()
	j.State, j.Exit = stopped, shell.StatusInterrupted
	if h, err := q.space.header(id); err == nil && h.Finished != nil {
		j.State, j.Exit = done, 0
	}
	return j, before, q.space.write(j)
}

// header returns the header of the record of a run.
func (w *workspace) header(id string) (h runs.Header, err error) {
	return h, rundir.ReadRecord(filepath.Join(w.dir, runsDir, id), &h)
}

// close stops all runs, and waits until they have written their checkpoints.
func (q *queue) close() {
	q.mutex.Lock()
	q.closed = true
	for _, p := range q.running {
		_ = p.stop() // an error means that the process has ended
	}
	q.mutex.Unlock()
	q.ended.Wait()
}
