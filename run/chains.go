package run

import (
	"path/filepath"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/rjmcmc"
)

// StartChains returns the configuration of chains with the checkpoint of the run in dir, which
// must exist, and removes what a process killed in the middle of writing has left there. With
// cfg.Resume a run that was stopped before its first checkpoint starts again. A run without a
// directory ("") keeps no checkpoint.
func StartChains(dir string, cfg rjmcmc.Config) (rjmcmc.Config, error) {
	if dir == "" {
		cfg.Checkpoint, cfg.Resume = "", false
		return cfg, nil
	}
	cfg.Checkpoint = filepath.Join(dir, rundir.ChainsFile)
	cfg.Resume = cfg.Resume && rundir.Exists(cfg.Checkpoint)
	return cfg, atomicfile.Sweep(dir)
}

// ChainSizes say how many Markov chains a run has and how long they are, as its record keeps it.
type ChainSizes struct {
	Chains       int `json:"chains,omitempty"`
	Iterations   int `json:"iterations,omitempty"` // of every chain, after burn-in
	BurnIn       int `json:"burn_in,omitempty"`
	Thin         int `json:"thin,omitempty"`
	Temperatures int `json:"temperatures,omitempty"`
}

// Config is the configuration of these chains.
func (c ChainSizes) Config(seed uint64) rjmcmc.Config {
	if c.BurnIn == 0 {
		c.BurnIn = -1 // none; zero would stand for the default
	}
	return rjmcmc.Config{Chains: c.Chains, Iterations: c.Iterations, BurnIn: c.BurnIn, Thin: c.Thin, Temperatures: c.Temperatures, Seed: seed}
}
