package study

import (
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
)

// Selection selects the tasks of a plan that a process runs. The selected tasks have the indices
// Index, Index + Step, Index + 2 Step, …. The zero value selects all tasks.
type Selection struct {
	Index int
	Step  int // 0 means 1
}

// Shard selects every n-th task, beginning with task i. Tasks with similar settings, which take
// similar times, are then in different shards.
func Shard(i, n int) Selection { return Selection{Index: i, Step: n} }

// One selects only task i of a plan. It returns an error if the plan has no such task.
func One(i, tasks int) (Selection, error) {
	if i < 0 || i >= tasks {
		return Selection{}, fmt.Errorf("got index %d, want one from 0 to %d", i, tasks-1)
	}
	return Shard(i, tasks), nil
}

// ParseShard reads a text of the form "I/N", with I from 0 to N − 1.
func ParseShard(text string) (Selection, error) {
	first, second, found := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if !found || err1 != nil || err2 != nil || i < 0 || i >= n {
		return Selection{}, fmt.Errorf("got %q, want I/N with I from 0 to N-1", text)
	}
	return Shard(i, n), nil
}

// schedulerVariables are the environment variables in which Slurm and Kubernetes pass the index of
// a process.
var schedulerVariables = []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}

// FromScheduler returns the index of this process in an array job, and the environment variable
// that holds it. The result found is false outside of array jobs.
func FromScheduler() (index int, variable string, found bool, err error) {
	for _, variable := range schedulerVariables {
		text, set := os.LookupEnv(variable)
		if !set {
			continue
		}
		if index, err = strconv.Atoi(text); err != nil || index < 0 {
			return 0, variable, false, fmt.Errorf("%s: got %q, want an index from 0 on", variable, text)
		}
		return index, variable, true, nil
	}
	return 0, "", false, nil
}

// indices yields the indices of the tasks, in increasing order.
func (s Selection) indices(tasks int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := s.Index; i < tasks; i += max(s.Step, 1) {
			if !yield(i) {
				return
			}
		}
	}
}

func (s Selection) count(tasks int) int {
	if s.Index >= tasks {
		return 0
	}
	return (tasks - s.Index + max(s.Step, 1) - 1) / max(s.Step, 1)
}
