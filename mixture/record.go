package mixture

import "github.com/transdim/vti/run"

// Record is everything that a run was asked for.
type Record struct {
	run.Asked[Options]
	Sweeps int     `json:"sweeps,omitempty"`
	Error  float64 `json:"error,omitempty"`
}
