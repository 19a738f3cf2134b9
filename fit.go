package vti

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transdim/vti/gpu"
)

// Fit trains q(m) q(θ | m) on the target by stochastic gradients of eq. 10: pathwise for the flow,
// score-function for q(m).
//
// When ctx is cancelled Fit finishes the step in progress, writes a checkpoint if the configuration
// names one, and returns the posterior trained so far together with an error that wraps ctx.Err().
// Any other error comes with a nil posterior, except too many non-finite densities, where the
// posterior is returned for inspection. Whatever goes wrong, a device that is lost in the middle of
// a step included, the file of the last checkpoint stays as it was written.
func Fit(ctx context.Context, device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	started := time.Now()
	t, err := newTrainer(ctx, device, target, cfg)
	if err != nil {
		return nil, err
	}
	report := reporter{config: &t.config, started: started, since: started, step: t.step}
	if report.before, err = t.counters(); err != nil {
		return nil, err
	}
	for t.step < t.config.Steps {
		if err := ctx.Err(); err != nil {
			return t.posterior(), errors.Join(fmt.Errorf("training stopped after %d of %d steps: %w", t.step, t.config.Steps, err), t.save(), t.settle())
		}
		if t.step == t.pilotStep() {
			if err := t.pilot(ctx); err != nil {
				return t.posterior(), err
			}
		}
		if err := t.launch(); err != nil {
			return nil, fmt.Errorf("training step %d: %w", t.step+1, err)
		}
		last := t.step == t.config.Steps
		if last {
			if err := t.settle(); err != nil {
				return nil, err
			}
		}
		if t.reportAfter(t.step) {
			now, err := t.counters()
			if err != nil {
				return nil, err
			}
			if err := report.next(t.step, now); err != nil {
				return t.posterior(), err
			}
		}
		if t.saveAfter(t.step) || t.schedule.Due() {
			if err := t.save(); err != nil {
				return t.posterior(), err
			}
		}
	}
	return t.posterior(), nil
}

// Load opens the posterior stored in cfg.Checkpoint by a Fit with the same target and
// configuration.
func Load(device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	cfg.Resume = true
	t, err := newTrainer(context.Background(), device, target, cfg)
	if err != nil {
		return nil, err
	}
	return t.posterior(), t.settle()
}
