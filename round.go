package vti

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/train"
)

// round is a part of training over which the learning rate rises and falls once, and with tempering
// the target is flattened once.
type round struct {
	// first is the number of steps before it, last the one with which it ends.
	first, last int
	// warmUp is the number of steps over which the learning rate rises.
	warmUp int
}

// roundAt is the round, counted from 0, of a configuration: a single one of all steps, or with
// FirstRound one of many, each twice as long as the one before (warm restarts, Loshchilov and
// Hutter 2017). The warm-up is a fifth of a short round; chosen by hand.
func (c *Config) roundAt(k int) round {
	if c.FirstRound == 0 {
		return round{0, c.Steps, train.WarmUpSteps}
	}
	length := c.FirstRound << k
	first := length - c.FirstRound
	return round{first, min(first+length, c.Steps), max(1, min(train.WarmUpSteps, length/5))}
}

// roundAfter is the number of the round in which the step after so many is taken.
func (c *Config) roundAfter(steps int) int {
	k := 0
	for c.roundAt(k).last <= steps && c.roundAt(k).last < c.Steps {
		k++
	}
	return k
}

// pilotStep is the step after which q(m) is given a warm start: when tempering ends, or at the
// start.
func (r round) pilotStep(tempering float64) int {
	return r.first + int(math.Ceil(tempering*float64(r.last-r.first)))
}

// schedule is what a step needs to know of its round, as scalars of the graph.
type schedule struct{ step, steps, warmUp *Node }

// rate is the learning rate of the step.
func (s schedule) rate(largest float64) *Node {
	return train.RoundRate(s.step, largest, s.steps, s.warmUp)
}

// coldestPower is the power of the target at the first step of tempering: 0.1 widens a normal mode
// threefold. Chosen by hand, not tuned.
const coldestPower = 0.1

// power is that to which the target is raised at the step: it rises linearly to 1 over the share of
// the round that is tempered.
func (s schedule) power(tempering float64) *Node {
	if tempering == 0 {
		return OnesLike(s.step)
	}
	rise := Div(MulScalar(s.step, (1-coldestPower)/tempering), s.steps)
	return MinScalar(AddScalar(rise, coldestPower), 1)
}
