package mixture

import "github.com/transdim/vti/run"

// Record holds all settings of a run.
type Record struct {
	run.Asked[Options]
	Sweeps int     `json:"sweeps,omitempty"`
	Error  float64 `json:"error,omitempty"`
	// Chains and what follows are those of RunChains.
	Chains       int `json:"chains,omitempty"`
	Iterations   int `json:"iterations,omitempty"` // of every chain, after burn-in
	BurnIn       int `json:"burn_in,omitempty"`
	Thin         int `json:"thin,omitempty"`
	Temperatures int `json:"temperatures,omitempty"`
}
