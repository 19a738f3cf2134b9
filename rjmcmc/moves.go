package rjmcmc

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Move is a kind of proposal.
type Move int

// The moves, in the order in which an iteration makes them.
const (
	Jump Move = iota
	Swap
	Walk
	Joint
	numMoves
)

// String returns the name of the move in lower case.
func (m Move) String() string {
	switch m {
	case Jump:
		return "jump"
	case Swap:
		return "swap"
	case Walk:
		return "walk"
	case Joint:
		return "joint"
	}
	return fmt.Sprintf("move(%d)", int(m))
}

// birther draws the values of coordinates that a move switches on.
type birther interface {
	draw(rng *rand.Rand, coordinate int) float64
	logDensity(coordinate int, value float64) float64
}

// normalBirths are the densities g_j of a Tuning.
type normalBirths struct{ tuning *Tuning }

func (b normalBirths) draw(rng *rand.Rand, j int) float64 {
	return b.tuning.BirthMean[j] + b.tuning.BirthSD[j]*rng.NormFloat64()
}

func (b normalBirths) logDensity(j int, value float64) float64 {
	u := (value - b.tuning.BirthMean[j]) / b.tuning.BirthSD[j]
	return -0.5*u*u - math.Log(b.tuning.BirthSD[j]) - 0.5*math.Log(2*math.Pi)
}

// propose fills row c of the proposal with a move from row c of the state. false means that the move
// does not exist from here and the chain stays; scale is the index of the step size used.
func (s *sampler) propose(move Move, c int) (moved bool, scale int) {
	rng := s.rngs[c]
	code, theta, mask := s.proposal.row(c)
	s.state.copyRow(s.proposal, c)
	switch move {
	case Jump:
		moved = s.proposeJump(rng, code)
	case Swap:
		moved = s.proposeSwap(rng, code)
	case Walk:
		active := countTrue(mask)
		if active == 0 {
			return false, 0
		}
		scale = nthTrue(mask, rng.IntN(active))
		theta[scale] = s.density.round(theta[scale] + s.tuning.WalkScale[scale]*rng.NormFloat64())
		return true, scale
	case Joint:
		scale = countTrue(mask)
		if scale == 0 {
			return false, 0
		}
		s.proposeJoint(rng, theta, mask, s.tuning.JointScale[scale])
		return true, scale
	}
	if !moved {
		return false, 0
	}
	// The graph knows which coordinates the new model uses: offer a fresh value for every one that the
	// old model does not.
	for j, on := range mask {
		if !on {
			theta[j] = s.density.round(s.births.draw(rng, j))
		}
	}
	return true, 0
}

// proposeJump changes one site, uniform among those with a choice, to another outcome, uniform among the
// others. The reverse has the same probability.
func (s *sampler) proposeJump(rng *rand.Rand, code []int32) bool {
	if len(s.free) == 0 {
		return false
	}
	site := s.free[rng.IntN(len(s.free))]
	outcome := int32(rng.IntN(s.cards[site] - 1))
	if outcome >= code[site] {
		outcome++
	}
	code[site] = outcome
	return true
}

// proposeSwap exchanges the outcomes of two sites with equally many outcomes that differ. The first site
// a is uniform among all that have a like, the second b uniform among its likes of another outcome: d_a of them.
// The pair is so chosen with probability ∝ 1/d_a + 1/d_b, and the exchange, which keeps the number of sites at each
// outcome, turns d_a into d_b and back: the reverse has the same probability.
func (s *sampler) proposeSwap(rng *rand.Rand, code []int32) bool {
	if len(s.paired) == 0 {
		return false
	}
	a := s.paired[rng.IntN(len(s.paired))]
	class := s.likes[s.cards[a]]
	different := 0
	for _, b := range class {
		if code[b] != code[a] {
			different++
		}
	}
	if different == 0 {
		return false
	}
	skip := rng.IntN(different)
	for _, b := range class {
		if code[b] == code[a] {
			continue
		}
		if skip == 0 {
			code[a], code[b] = code[b], code[a]
			return true
		}
		skip--
	}
	panic("unreachable")
}

// proposeJoint adds a normal step with covariance scale² (L Lᵀ) restricted to the active coordinates.
func (s *sampler) proposeJoint(rng *rand.Rand, theta []float64, mask []bool, scale float64) {
	d := s.dim
	for j := range s.noise {
		s.noise[j] = rng.NormFloat64()
	}
	for i, on := range mask {
		if !on {
			continue
		}
		var step float64
		for j, l := range s.tuning.JointFactor[i*d : i*d+i+1] {
			step += l * s.noise[j]
		}
		theta[i] = s.density.round(theta[i] + scale*step)
	}
}

// logBirths is log Π g_j(died) − log Π g_j(born) of row c, from state to proposal.
func (s *sampler) logBirths(c int) float64 {
	_, from, was := s.state.row(c)
	_, to, is := s.proposal.row(c)
	var sum float64
	for j := range was {
		switch {
		case was[j] && !is[j]:
			sum += s.births.logDensity(j, from[j])
		case is[j] && !was[j]:
			sum -= s.births.logDensity(j, to[j])
		}
	}
	return sum
}

func countTrue(mask []bool) int {
	n := 0
	for _, on := range mask {
		if on {
			n++
		}
	}
	return n
}

// nthTrue is the position of the n-th true entry, from 0.
func nthTrue(mask []bool, n int) int {
	for j, on := range mask {
		if !on {
			continue
		}
		if n == 0 {
			return j
		}
		n--
	}
	panic("unreachable")
}
