package networks

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/weighted"
)

const (
	// keptShare is the effective sample size after a tempering step as a share of the particles. It
	// determines how far the power β of the likelihood rises.
	keptShare     = 0.5
	mostTempering = 300 // largest number of steps; after them β rises to 1 at once
	// keptParameters is the number of particles whose parameters are stored, for draws from the
	// posterior.
	keptParameters = 32
)

// island is the result of an independent group of particles for a family (a node with parents).
type island struct {
	LogEvidence float64
	Level       int         // from 0; moves are levelSweeps times as long as at the level below
	Thetas      [][]float64 // draws of the parameters with equal weights
}

// moves returns the length of the moves of an island (an independent group of particles), relative
// to the first island. place is the index of the island among the islands of its level. Islands
// with odd indices move twice as long.
func (i island) moves(place int) float64 { return float64(islandCost(i.Level) << (place % 2)) }

// temper moves particles from the prior to the posterior through prior · likelihood^β (a sequential
// Monte Carlo sampler, Del Moral, Doucet and Jasra 2006). Every step raises β until the effective
// sample size is half of the particles, draws starts of chains from them, and moves each chain by
// several sweeps. The states of all chains after all sweeps are the particles of the next step, so
// that no sweep is wasted (Dau and Chopin 2022). The mean of exp(LogEvidence) over runs is the
// evidence, up to the effect of the choice of β. Hidden units can be exchanged, so that the
// posterior has H! copies of each mode. Particles that start from the prior, which has this
// symmetry, visit all copies equally often.
func (n *networkFamily) temper(random *rand.Rand, l sem.Layout, f dgraph.Family, chains, sweeps int) island {
	var out island
	mover := n.newMover(random)
	states := apply.UpTo(chains, func(int) *networkState { return mover.emptyState() })
	particles := make([]networkPoint, chains*sweeps)
	for i := range particles {
		mover.drawPrior(states[0])
		particles[i].record(states[0])
	}
	keepEvery := max(sweeps*chains/keptParameters, 1)
	logLik := make([]float64, len(particles))
	for step, beta := 0, 0.0; beta < 1; step++ {
		for i, s := range particles {
			logLik[i] = s.logLik
		}
		rise := 1 - beta
		if step < mostTempering {
			rise = weighted.Rise(make([]float64, len(logLik)), logLik, keptShare, rise)
		}
		floats.Scale(rise, logLik)
		out.LogEvidence += logsum.Of(logLik) - math.Log(float64(len(particles)))
		if beta += rise; 1-beta < 1e-12 {
			beta = 1
		}
		start := 0
		for i, copies := range weighted.Counts(logsum.Shares(logLik), chains, random) {
			for _, s := range states[start : start+copies] {
				particles[i].restore(s)
			}
			start += copies
		}
		for i, s := range states {
			mover.fill(s)
			for k := range sweeps {
				mover.sweep(s, beta)
				particles[i*sweeps+k].record(s)
				if beta == 1 && (i*sweeps+k+1)%keepEvery == 0 {
					out.Thetas = append(out.Thetas, mover.parameters(l, f, s))
				}
			}
		}
	}
	return out
}
