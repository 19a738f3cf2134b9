package mixture

import "github.com/transdim/vti/run"

// Record holds all settings of a run.
type Record struct {
	run.Asked[Options]
	// Sweeps and Error are the fields of SampleConfig with these names.
	Sweeps int     `json:"sweeps,omitempty"`
	Error  float64 `json:"error,omitempty"`
}
