package vti

import (
	gocontext "context"
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
	if t.exec, err = context.NewExec(t.Device.Backend(), t.Variables, t.stepGraph); err != nil {
		return err
	}
	// learners are called with every step before the next
	if t.config.StepsPerLaunch == 1 || len(t.learners()) > 0 {
		return nil
	}
	// There are no loops in graphs, so that several steps are as many copies of one. Each finds the
	// variables as the one before leaves them.
	t.several, err = context.NewExec(t.Device.Backend(), t.Variables, func(ctx *Context, g *Graph) []*Node {
		for range t.config.StepsPerLaunch {
			t.stepGraph(ctx, g)
		}
		return nil
	})
	return err
}

// launch takes the next step, or the next few if nothing is due between them.
func (t *trainer) launch() error {
	exec, steps := t.exec, 1
	if t.several != nil && t.undisturbed(t.config.StepsPerLaunch) {
		exec, steps = t.several, t.config.StepsPerLaunch
	}
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec() })
	if err != nil {
		return t.Explain(err)
	}
	if err := t.learn(t.step+steps, outputs); err != nil {
		return err
	}
	// at once: the garbage collector does not see the memory of a card
	for _, output := range outputs {
		if err := output.FinalizeAll(); err != nil {
			return fmt.Errorf("freeing what was learned from: %w", err)
		}
	}
	t.step += steps
	return nil
}

// undisturbed reports whether so many steps can be taken without anything being due before the last
// of them is done.
func (t *trainer) undisturbed(steps int) bool {
	for step := t.step + 1; step < t.step+steps; step++ {
		if t.reportAfter(step) || t.saveAfter(step) || step == t.pilotStep() {
			return false
		}
	}
	return t.step+steps <= t.round.last
}

// pilot takes the pilot run that is due now. One that is stopped, or fails, leaves q(m) in between:
// the state to continue from is that before it.
func (t *trainer) pilot(ctx gocontext.Context) error {
	if t.step > 0 {
		if err := t.save(); err != nil {
			return err
		}
	}
	if t.config.FromPrior {
		return nil
	}
	return pilotRun(ctx, t.evaluator)
}
