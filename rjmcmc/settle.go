package rjmcmc

import (
	"math"
	"slices"
)

// A chain that starts far from the posterior may not have reached it when burn-in ends. Its states
// are then no draws from the posterior. A few such values in thousands double a standard deviation,
// while ranks, and so R-hat, hardly change.

// fewestSettled is the least number of draws in the second half of a run from which the range of
// log densities is estimated.
const fewestSettled = 64

// settle drops the first draws of all chains up to the last draw that is on the way from a starting
// point, at most half of the run. Such a draw is unchanged since the start, or its log density is
// more than twice as far below the median as any log density of the second half. Depths have an
// exponential tail or a thinner one: a first half of N stationary draws has a draw that deep about
// four times in N runs.
func (r *Result) settle() {
	half := r.Draws() / r.Chains / 2
	settled := slices.Clone(r.LogDensity[half*r.Chains:])
	if half == 0 || len(settled) < fewestSettled {
		return
	}
	slices.Sort(settled)
	stuck := slices.Max(r.atStart[half:]) > 0 // a cut would not remove all starting points
	lowest := 2*settled[0] - settled[len(settled)/2]
	for i := half - 1; i >= 0; i-- {
		if r.atStart[i] > 0 && !stuck || slices.Min(r.LogDensity[i*r.Chains:(i+1)*r.Chains]) < lowest {
			r.discard(i + 1)
			return
		}
	}
}

func (r *Result) discard(n int) {
	draws := n * r.Chains
	r.codes, r.theta, r.mask, r.LogDensity = r.codes[draws*r.Sites:], r.theta[draws*r.Dim:], r.mask[draws*r.Dim:], r.LogDensity[draws:]
	if len(r.ladder) > 1 {
		r.tilt = r.tilt[draws*len(r.ladder):]
	}
	r.atStart = r.atStart[n:]
	r.discarded += n
}

// unmoved counts the draws that are starting points.
func (r *Result) unmoved() (draws int) {
	for _, chains := range r.atStart {
		draws += chains
	}
	return draws
}

// indicatorError is the standard error of the mean of an indicator. If it never changed, its
// autocorrelation is unknown, and each chain counts as one draw. Otherwise the error is at least
// √(p̃(1−p̃)/n), p̃ = (n p + 1)/(n + 2): the error of n independent draws, n the effective number,
// with one more of each outcome. The bound is about 1/n where the event was seen once, a third of
// the bound by the rule of three. Without it an event seen too rarely by chance would have too
// small an error for the same reason.
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
