package rjmcmc

import (
	"math"
	"slices"
)

// A chain that starts far from the posterior may not have reached it when burn-in ends. Its first
// states are then no draws from the posterior. A few such states among thousands can double a
// standard deviation, while ranks, and so R-hat, hardly change.

// fewestSettled is the least number of draws in the second half of a run from which the range of
// log densities can be estimated.
const fewestSettled = 64

// settle drops the first draws of all chains, up to the last draw that has not yet reached the
// posterior, but at most half of the run. A draw has not reached the posterior if it is unchanged
// since the start, or if its log density is more than twice as far below the median as the lowest
// log density of the second half of the run. The depth of stationary draws below the median has an
// exponential or a thinner tail, so that a run with N stationary draws in its first half has a draw
// that deep with probability about 4/N.
func (r *Result) settle() {
	half := r.Draws() / r.Chains / 2
	settled := slices.Clone(r.LogDensity[half*r.Chains:])
	if half == 0 || len(settled) < fewestSettled {
		return
	}
	slices.Sort(settled)
	stuck := slices.Max(r.atStart[half:]) > 0 // dropping half of the run does not remove all starting points
	lowest := 2*settled[0] - settled[len(settled)/2]
	for i := half - 1; i >= 0; i-- {
		if r.atStart[i] > 0 && !stuck || slices.Min(r.LogDensity[i*r.Chains:(i+1)*r.Chains]) < lowest {
			*r = *r.between(i+1, len(r.atStart))
			r.discarded += i + 1
			return
		}
	}
}

// unmoved returns the number of kept draws that are starting points.
func (r *Result) unmoved() (draws int) {
	for _, chains := range r.atStart {
		draws += chains
	}
	return draws
}

// indicatorError returns the standard error of the mean p of an indicator. If the indicator never
// changed, its autocorrelation is unknown, and each chain counts as one draw. Otherwise the error
// is at least √(p̃(1−p̃)/n), where n is the effective number of draws and p̃ = (n p + 1)/(n + 2) is
// the mean after one more draw of each outcome. The bound is about 1/n if the event was seen once,
// a third of the bound by the rule of three. Without it, an event that is too rare among the draws
// by chance would also have too small an error.
func indicatorError(s Summary, chains int) float64 {
	if s.SD == 0 {
		c := float64(chains)
		p := 0.5 / (c + 1)
		return math.Sqrt(p * (1 - p) / c)
	}
	n := s.SD * s.SD / (s.MCSE * s.MCSE)
	p := (n*s.Mean + 1) / (n + 2)
	return math.Max(s.MCSE, math.Sqrt(p*(1-p)/n))
}
