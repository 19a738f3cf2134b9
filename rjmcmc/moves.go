package rjmcmc

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/enum"
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

var moves = enum.New[Move]("move", "jump", "swap", "walk", "joint")

// String returns the name of the move in lower case.
func (m Move) String() string { return moves.String(m) }

// proposeCodes changes the model in row c of the proposal, which starts as a copy of the state. It
// returns false if the move is impossible from this state, which the chain then keeps.
func (s *sampler) proposeCodes(w *workspace, move Move, c int) bool {
	code, _, _ := s.proposal.row(c)
	switch {
	case s.mover != nil:
		if w.place == nil {
			w.place = make([]float64, s.dim)
		}
		s.logChoice[c] = s.mover.Move(s.rngs[c], code, w.place)
		return !math.IsInf(s.logChoice[c], -1)
	case move == Jump:
		return s.proposeJump(s.rngs[c], code)
	}
	return s.proposeSwap(w, s.rngs[c], code)
}

// compare writes to the lists in w which coordinates stay active, become inactive (die) and become
// active (are born) between the model of row c and the proposed model. It copies the values that
// stay to their new coordinates and sets all other values of the proposal to 0.
func (s *sampler) compare(w *workspace, c int) {
	code, theta, mask := s.proposal.row(c)
	old, values, was := s.state.row(c)
	if s.list == nil { // the label of coordinate j is j
		w.divide(was, mask)
		clear(theta)
		for _, j := range w.kept {
			theta[j] = values[j]
		}
		return
	}
	w.kept, w.from, w.died, w.born = w.kept[:0], w.from[:0], w.died[:0], w.born[:0]
	clear(theta)
	i, j := 0, 0
	for { // labels ascend on both sides
		for i < s.dim && !was[i] {
			i++
		}
		for j < s.dim && !mask[j] {
			j++
		}
		switch {
		case i == s.dim && j == s.dim:
			return
		case j == s.dim || i < s.dim && s.label(old, i) < s.label(code, j):
			w.died = append(w.died, i)
			i++
		case i == s.dim || s.label(code, j) < s.label(old, i):
			w.born = append(w.born, j)
			j++
		default:
			w.kept, w.from = append(w.kept, j), append(w.from, i)
			theta[j] = values[i]
			i, j = i+1, j+1
		}
	}
}

// propagate proposes the values of row c under the model and mask of the proposal. It returns log
// g(θ_K | R) − log g(θ_J' | R), where K are the coordinates that die, J the coordinates that are
// born, and R the kept coordinates.
func (s *sampler) propagate(w *workspace, c int) float64 {
	w.reset()
	_, theta, _ := s.proposal.row(c)
	_, from, _ := s.state.row(c)
	s.compare(w, c)
	if s.ladder.inverseTemperature(c) == 0 {
		return s.propagateFlattest(w, c)
	}
	if s.density.quadratic != nil {
		if logRatio, ok := s.transport(w, c); ok {
			return logRatio
		}
	}
	kept, died, born := w.kept, w.died, w.born
	var lower dense.Factor
	var logRatio float64
	if len(died) > 0 {
		m := s.marginalOf(w, s.state, c, kept, died, &lower)
		values := w.take(len(died))
		for a, j := range died {
			values[a] = from[j]
		}
		logRatio += m.logDensity(w, values)
		m.apply(kept, theta, values, 1)
	}
	if len(born) > 0 {
		m := s.marginalOf(w, s.proposal, c, kept, born, &lower)
		values := w.take(len(born))
		m.draw(s.rngs[c], values)
		for a, j := range born {
			theta[j] = values[a]
		}
		logRatio -= m.logDensity(w, values)
		m.apply(kept, theta, values, -1)
	}
	return logRatio
}

// proposeStep moves the values of row c within its model. It returns the index of the step's scale
// in Tuning; moved is false if the model has no active coordinates.
func (s *sampler) proposeStep(w *workspace, move Move, c int) (scale int, moved bool) {
	w.reset()
	_, theta, mask := s.proposal.row(c)
	rng := s.rngs[c]
	active := w.active(mask)
	if len(active) == 0 {
		return 0, false
	}
	if s.ladder.inverseTemperature(c) == 0 {
		s.stepFlattest(c, move, theta, active)
		return 0, true
	}
	if move == Walk {
		j := active[rng.IntN(len(active))]
		step := s.rung(c).tuning.WalkScale[j]
		if s.density.quadratic != nil {
			if precision := s.state.curvature(c, j); precision > 0 {
				step /= math.Sqrt(precision)
			}
		}
		theta[j] = theta[j] + step*rng.NormFloat64()
		return j, true
	}
	s.proposeJoint(w, c, theta, active)
	return len(active), true
}

// proposeJoint adds a normal step with covariance scale² Λ_AA⁻¹ to the active coordinates A, where
// Λ is the precision of the quadratic approximation. If Λ_AA is unknown or not positive definite,
// the step has independent entries with the standard deviations BirthSD.
func (s *sampler) proposeJoint(w *workspace, c int, theta []float64, active []int) {
	step := w.take(len(active))
	for a := range step {
		step[a] = s.rngs[c].NormFloat64()
	}
	var factor dense.Factor
	known := false
	tuning := &s.rung(c).tuning
	switch {
	case s.density.quadratic != nil:
		var st standard
		st, known = s.standardOf(w, s.state, c, active, nil)
		factor = st.factor
	case tuning.Quadratic != nil:
		factor, known = s.factorOf(w, c, active)
	}
	if known {
		factor.SolveUpper(step)
	} else {
		for a, j := range active {
			step[a] *= tuning.BirthSD[j]
		}
	}
	scale := tuning.JointScale[len(active)]
	for a, j := range active {
		theta[j] = theta[j] + scale*step[a]
	}
}

// proposeJump changes one site to another outcome. The site is uniform among the sites with two or
// more outcomes, the outcome uniform among the site's other outcomes. The reverse move has the same
// proposal probability.
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

// proposeSwap exchanges the differing outcomes of two like sites, sites with the same number of
// outcomes. The first site a is uniform among all sites with a like site, the second site b uniform
// among the d_a like sites with another outcome. The pair has probability ∝ 1/d_a + 1/d_b. The
// exchange swaps d_a and d_b, so that the reverse move has the same probability.
func (s *sampler) proposeSwap(w *workspace, rng *rand.Rand, code []int32) bool {
	if len(s.paired) == 0 {
		return false
	}
	a := s.paired[rng.IntN(len(s.paired))]
	w.different = w.different[:0]
	for _, b := range s.likes[s.cards[a]] {
		if code[b] != code[a] {
			w.different = append(w.different, b)
		}
	}
	if len(w.different) == 0 {
		return false
	}
	b := w.different[rng.IntN(len(w.different))]
	code[a], code[b] = code[b], code[a]
	return true
}
