package study

import "path/filepath"

// Counts counts tasks by their states.
type Counts struct {
	Tasks   int `json:"tasks"` // number of tasks of the plan
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Missing int `json:"missing"`
}

func (c *Counts) add(state State) {
	*[...]*int{Missing: &c.Missing, Done: &c.Done, Failed: &c.Failed}[state]++
}

// Status is the progress of a study.
type Status struct {
	Counts
	// Working is the number of tasks that have a directory under work: they are in progress, or
	// were killed.
	Working int `json:"working"`
	// Failures lists some of the failed tasks.
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is a failed task with its error.
type Failure struct {
	// Index is the index of the task in the plan, Name its name, and Error the reason of the
	// failure.
	Index int    `json:"index"`
	Name  string `json:"name"`
	Error string `json:"error"`
}

// Status counts the tasks. The argument failures is the largest number of failed tasks that it
// lists; if negative, it lists all of them.
func (p *Plan) Status(failures int) (*Status, error) {
	s := store{p.Dir()}
	status := &Status{Counts: Counts{Tasks: p.Tasks()}}
	for i := range p.Tasks() {
		t := p.Task(i)
		state := s.state(t.Name)
		status.add(state)
		if state != Failed || failures >= 0 && len(status.Failures) >= failures {
			continue
		}
		failure := Failure{Index: i, Name: t.Name}
		if record, _, err := s.record(t.Name); err != nil {
			failure.Error = err.Error()
		} else if record != nil { // if record is nil, the task has succeeded in the meantime
			failure.Error = record.Error
		}
		status.Failures = append(status.Failures, failure)
	}
	working, err := filepath.Glob(filepath.Join(s.dir, "work", "*", "[0-9a-f]*"))
	status.Working = len(working)
	return status, err
}
