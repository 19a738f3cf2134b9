package study

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
)

// Estimate is what a study will cost, by pilot tasks: the first, the middle and the last one of the
// plan. They are tasks like the others, and their answers stay.
type Estimate struct {
	// Pilots are the tasks that were measured, Costs what they used; Failed counts those without an
	// answer.
	Pilots []Task
	Costs  []Cost
	Failed int
	// Seconds are those of one task on one core: mean, least and largest of the pilots.
	Seconds, Least, Largest float64
	// PeakBytes is the largest memory of a pilot.
	PeakBytes float64
	// Remaining tasks have not ended.
	Remaining int
}

// pilots are the indices of the pilot tasks.
func pilots(tasks int) []int {
	return slices.Compact([]int{0, (tasks - 1) / 2, tasks - 1})
}

// Estimate runs the pilot tasks that have not ended, one at a time with all cores, and reads what
// they used.
func (p *Plan) Estimate(ctx context.Context, launcher Launcher) (*Estimate, error) {
	s := store{p.Dir()}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	dir, release, err := s.workplace()
	if err != nil {
		return nil, err
	}
	defer release()
	w := &worker{plan: p, store: s, launcher: launcher, dir: dir, cores: runtime.GOMAXPROCS(0)}
	e := &Estimate{Least: math.Inf(1)}
	for _, i := range pilots(p.Tasks()) {
		t := p.Task(i)
		if s.state(t.Name) == Missing {
			if _, _, _, err := w.do(ctx, t); err != nil {
				return nil, fmt.Errorf("pilot task %d: %w", i, err)
			}
		}
		cost, err := s.cost(t.Name, s.state(t.Name))
		if err != nil {
			return nil, err
		}
		if s.state(t.Name) == Failed {
			e.Failed++
		}
		e.add(t, cost)
	}
	e.Seconds /= float64(len(e.Pilots))
	e.Remaining = p.remaining(s)
	return e, nil
}

// add counts a pilot task.
func (e *Estimate) add(t Task, c Cost) {
	e.Pilots, e.Costs = append(e.Pilots, t), append(e.Costs, c)
	alone := max(c.Seconds, c.CPUSeconds) // on one core
	e.Seconds += alone
	e.Least, e.Largest = min(e.Least, alone), max(e.Largest, alone)
	e.PeakBytes = max(e.PeakBytes, c.PeakBytes)
}

// remaining counts the tasks that have not ended.
func (p *Plan) remaining(s store) (n int) {
	for i := range p.Tasks() {
		if s.state(p.Task(i).Name) == Missing {
			n++
		}
	}
	return n
}

// Jobs is how many tasks run at a time: one for each core, where the memory of the machine, in
// bytes, is enough for so many of the largest pilot.
func (e *Estimate) Jobs(cores int, total float64) int {
	if e.PeakBytes > 0 {
		cores = min(cores, int(memoryShare*total/e.PeakBytes))
	}
	return max(1, cores)
}
