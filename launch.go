package vti

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/train"
)

// Everything that changes from step to step is a variable: weights, moments of Adam, random states,
// the number of the step, running sums. A launch hands their buffers to the device, which may write
// the new values over the old ones, and nothing comes back but what learners on the host ask for.
// Reports and checkpoints read variables when they are due.

// compile prepares the graphs of training, which are built when they are first run.
func (t *trainer) compile() (err error) {
	p := t.posterior
	if t.exec, err = context.NewExec(p.device.Backend(), p.variables, t.stepGraph); err != nil {
		return err
	}
	// learners hear of every step before the next
	if p.config.StepsPerLaunch == 1 || len(t.learners()) > 0 {
		return nil
	}
	// There are no loops in graphs, so that several steps are as many copies of one. Each finds the
	// variables as the one before leaves them.
	t.several, err = context.NewExec(p.device.Backend(), p.variables, func(ctx *Context, g *Graph) []*Node {
		for range p.config.StepsPerLaunch {
			t.stepGraph(ctx, g)
		}
		return nil
	})
	return err
}

// launch takes the next step, or the next few if nothing is due between them.
func (t *trainer) launch() error {
	p := t.posterior
	exec, steps := t.exec, 1
	if t.several != nil && t.undisturbed(p.config.StepsPerLaunch) {
		exec, steps = t.several, p.config.StepsPerLaunch
	}
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec() })
	if err != nil {
		return p.explain(err)
	}
	if err := t.learn(p.step+steps, outputs); err != nil {
		return err
	}
	// at once: the garbage collector does not see the memory of a card
	for _, output := range outputs {
		if err := output.FinalizeAll(); err != nil {
			return fmt.Errorf("freeing what was learned from: %w", err)
		}
	}
	p.step += steps
	return nil
}

// undisturbed tells whether so many steps can be taken without anything being due before the last
// of them is done.
func (t *trainer) undisturbed(steps int) bool {
	for step := t.posterior.step + 1; step < t.posterior.step+steps; step++ {
		if t.reportAfter(step) || t.saveAfter(step) || step == t.lookStep() {
			return false
		}
	}
	return t.posterior.step+steps <= t.posterior.config.Steps
}

// reportAfter tells whether a report is due after a step.
func (t *trainer) reportAfter(step int) bool {
	c := &t.posterior.config
	return step == 1 || step == c.Steps || step%c.LogEvery == 0
}

// saveAfter tells whether a checkpoint is due after a step.
func (t *trainer) saveAfter(step int) bool {
	c := &t.posterior.config
	return step == c.Steps || step%c.CheckpointEvery == 0
}
