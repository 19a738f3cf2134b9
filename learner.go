package vti

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/evaluate"
)

// learning is a Learner with the context of its variables.
type learning struct {
	Learner
	ctx *Context
}

// learners returns the distributions that learn by their own rule: q(m), if it is a Learner, and
// the surrogate of the control variate, if there is one.
func (t *trainer) learners() (all []learning) {
	variables := t.Variables
	if learner, ok := t.config.Models.(Learner); ok {
		all = append(all, learning{learner, variables.In(evaluate.ModelScope)})
	}
	if t.control != nil {
		all = append(all, learning{t.control, variables.InAbsPath(controlScope)})
	}
	return all
}

// beginLearners prepares the learners, from variables that a checkpoint may have set.
func (t *trainer) beginLearners() error {
	for _, l := range t.learners() {
		if err := l.Begin(l.ctx); err != nil {
			return fmt.Errorf("what q(m) has learned: %w", err)
		}
	}
	return nil
}

// learn passes the outputs of a training step on to the learners, unless the target is tempered or
// q(m) still waits for the flow.
func (t *trainer) learn(outputs []*tensors.Tensor) error {
	learners := t.learners()
	if len(learners) == 0 {
		return nil
	}
	if learns, err := tensors.CopyFlatData[float64](outputs[3]); err != nil || learns[0] == 0 {
		return err
	}
	codes, err := tensors.CopyFlatData[int32](outputs[0])
	if err != nil {
		return err
	}
	rewards, err := tensors.CopyFlatData[float64](outputs[1])
	if err != nil {
		return err
	}
	moved, err := tensors.CopyFlatData[float64](outputs[2])
	if err != nil {
		return err
	}
	for _, l := range learners {
		if err := l.Learn(l.ctx, codes, rewards, moved[0]); err != nil {
			return err
		}
	}
	return nil
}

// settle sets a q(m) that learns by its own rule to its estimate of the posterior over models.
func (t *trainer) settle() error {
	if learner, ok := t.config.Models.(Learner); ok {
		return learner.Settle(t.Variables.In(evaluate.ModelScope))
	}
	return nil
}

// holds reports whether q(m) waits until the flow has settled. It waits if the flow begins as the
// identity or q(m) is a Learner, which has no pilot run. With tempering q(m) instead waits until
// tempering ends, and holds returns false.
func (c *Config) holds() bool {
	_, learner := c.Models.(Learner)
	return !c.LearnAtOnce && c.Tempering == 0 && (c.Start == IdentityStart || learner)
}
