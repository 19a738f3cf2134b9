package run

import (
	"cmp"
	"path/filepath"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/rjmcmc"
)

// StartChains returns the configuration of chains with the checkpoint of the run in dir, which must
// exist, and removes partial files of a killed process. With cfg.Resume a run that was stopped
// before its first checkpoint starts again. A run without a directory ("") keeps no checkpoint.
func StartChains(dir string, cfg rjmcmc.Config) (rjmcmc.Config, error) {
	if dir == "" {
		cfg.Checkpoint, cfg.Resume = "", false
		return cfg, nil
	}
	cfg.Checkpoint = filepath.Join(dir, rundir.ChainsFile)
	cfg.Resume = cfg.Resume && rundir.Exists(cfg.Checkpoint)
	return cfg, atomicfile.Sweep(dir)
}

// ChainSizes sets the number and length of Markov chains, as in the record of a run.
type ChainSizes struct {
	Chains       int `json:"chains,omitempty"`
	Iterations   int `json:"iterations,omitempty"` // of every chain, after burn-in
	BurnIn       int `json:"burn_in,omitempty"`
	Thin         int `json:"thin,omitempty"`
	Temperatures int `json:"temperatures,omitempty"`
}

// Config returns the configuration of these chains.
func (c ChainSizes) Config(seed uint64) rjmcmc.Config {
	c.BurnIn = cmp.Or(c.BurnIn, -1) // no burn-in; zero would mean the default
	return rjmcmc.Config{Chains: c.Chains, Iterations: c.Iterations, BurnIn: c.BurnIn, Thin: c.Thin, Temperatures: c.Temperatures, Seed: seed}
}
