package study

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
)

// Estimate is the expected cost of a study. It is computed from pilot tasks: the first, the middle
// and the last task of the plan. Pilot tasks are ordinary tasks, and their answers are kept.
type Estimate struct {
	// Pilots are the pilot tasks, and Costs their costs in the same order. Failed is the number of
	// pilot tasks without an answer.
	Pilots []Task
	Costs  []Cost
	Failed int
	// Seconds is the mean time of a pilot task on one core. Least and Largest are the smallest and
	// the largest of these times.
	Seconds, Least, Largest float64
	// PeakBytes is the largest memory of a pilot task.
	PeakBytes float64
	// Remaining is the number of tasks that have not ended.
	Remaining int
}

func pilots(tasks int) []int {
	return slices.Compact([]int{0, (tasks - 1) / 2, tasks - 1})
}

// Estimate runs the missing pilot tasks, one at a time with all cores, and reads the costs of all
// pilot tasks.
func (p *Plan) Estimate(ctx context.Context, launcher Launcher) (*Estimate, error) {
	s := store{p.Dir()}
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
			if _, _, err := w.do(ctx, t); err != nil {
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
		alone := max(cost.Seconds, cost.CPUSeconds) // time on one core
		e.Pilots, e.Costs, e.Seconds = append(e.Pilots, t), append(e.Costs, cost), e.Seconds+alone
		e.Least, e.Largest = min(e.Least, alone), max(e.Largest, alone)
		e.PeakBytes = max(e.PeakBytes, cost.PeakBytes)
	}
	e.Seconds /= float64(len(e.Pilots))
	for i := range p.Tasks() {
		if s.state(p.Task(i).Name) == Missing {
			e.Remaining++
		}
	}
	return e, nil
}

// Jobs returns the number of tasks to run at a time. It is the number of cores, or less if total
// bytes of memory do not hold one task for each core, each as large as the largest pilot task.
func (e *Estimate) Jobs(cores int, total float64) int {
	if e.PeakBytes > 0 {
		cores = min(cores, int(memoryShare*total/e.PeakBytes))
	}
	return max(1, cores)
}
