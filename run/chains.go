package run

import (
	"cmp"
	"path/filepath"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/rjmcmc"
)

// StartChains returns cfg with Checkpoint set to the file for the run in dir, which must exist. It
// removes partial files of a killed process. If cfg.Resume is set but the run was stopped before
// its first checkpoint, the chains start anew. A run without a directory ("") keeps no checkpoint.
func StartChains(dir string, cfg rjmcmc.Config) (rjmcmc.Config, error) {
	if dir == "" {
		cfg.Checkpoint, cfg.Resume = "", false
		return cfg, nil
	}
	cfg.Checkpoint = filepath.Join(dir, rundir.ChainsFile)
	cfg.Resume = cfg.Resume && rundir.Exists(cfg.Checkpoint)
	return cfg, atomicfile.Sweep(dir)
}

// ChainSizes holds the number and the lengths of Markov chains, in the form in which the record of
// a run stores them.
type ChainSizes struct {
	Chains     int `json:"chains,omitempty"`
	Iterations int `json:"iterations,omitempty"` // number of iterations of each chain after burn-in
	// BurnIn is the number of iterations of burn-in. Every Thin-th iteration after burn-in is kept.
	BurnIn       int `json:"burn_in,omitempty"`
	Thin         int `json:"thin,omitempty"`
	Temperatures int `json:"temperatures,omitempty"`
}

// Config returns the configuration of these chains.
func (c ChainSizes) Config(seed uint64) rjmcmc.Config {
	c.BurnIn = cmp.Or(c.BurnIn, -1) // −1 stands for no burn-in; zero would stand for the default
	return rjmcmc.Config{Chains: c.Chains, Iterations: c.Iterations, BurnIn: c.BurnIn, Thin: c.Thin, Temperatures: c.Temperatures, Seed: seed}
}
