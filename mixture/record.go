package mixture

import "github.com/transdim/vti/run"

// Record is everything that a run was asked for.
type Record struct {
	run.Header
	Options Options `json:"options"`
	Sweeps  int     `json:"sweeps,omitempty"`
	Error   float64 `json:"error,omitempty"`
	Seed    uint64  `json:"seed"`
}

// Problem reads the table of the run and builds its problem.
func (r *Record) Problem() (*Problem, error) {
	t, err := r.Table()
	if err != nil {
		return nil, err
	}
	return NewProblem(t, r.Options)
}
