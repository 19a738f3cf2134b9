package rjmcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
)

// AnnealConfig configures [Anneal].
type AnnealConfig struct {
	// Groups is the number of independent populations, Particles the number of states of each.
	Groups, Particles int
	// Sweeps is the number of sweeps of each state after each increase of the power of the
	// evidence.
	Sweeps int
	// Powers are the powers of the evidences, ascending from 0 to 1. If nil, a separate population
	// of Particles states chooses the powers (annealedShare).
	Powers []float64
	// Seed is the seed of all random numbers.
	Seed uint64
}

// Annealed holds populations that a sequential Monte Carlo sampler has annealed (Del Moral, Doucet
// and Jasra 2006).
type Annealed struct {
	// Powers are the powers of the evidence that the populations passed, from 0 to 1. Groups are
	// the populations.
	Powers []float64
	Groups []AnnealedGroup
}

// AnnealedGroup is one population. The expectation of exp LogEvidence is the evidence Σ_m p(m) p(y
// | m), whatever the number of states.
type AnnealedGroup struct {
	// LogEvidence is the estimated log evidence, and States are the final states.
	LogEvidence float64
	States      []CollapsedState
	// Weights are the weights of the states. They sum to one.
	Weights []float64
}

// Settings of the annealing. Half or twice each value gives the same answers
// (docs/benchmarks/constants.md).
const (
	// annealedShare is the effective sample size, as a share of the number of states, after each
	// increase of the power.
	annealedShare = 0.9
	// mostPowers bounds the number of increases. A run reaches it if the evidences of states differ
	// by orders of magnitude at every power.
	mostPowers = 2000
)

// Anneal draws populations of states by annealing from the prior to the posterior. It returns an
// error if an evidence is NaN.
func Anneal(ctx context.Context, c Collapsed, cfg AnnealConfig) (*Annealed, error) {
	a := &Annealed{Powers: cfg.Powers, Groups: make([]AnnealedGroup, cfg.Groups)}
	if a.Powers == nil {
		p, err := newAnnealing(c, cfg, "powers")
		if err != nil {
			return nil, err
		}
		for a.Powers = []float64{0}; p.power < 1; a.Powers = append(a.Powers, p.power) {
			if len(a.Powers) > mostPowers {
				return nil, fmt.Errorf("rjmcmc: annealing took %d steps to a power of %.2g: the evidence differs too much between states", mostPowers, p.power)
			}
			if err := p.step(ctx, p.power+weighted.Rise(p.logWeight, p.logEvidence, annealedShare, 1-p.power), 1); err != nil {
				return nil, once(ctx, "annealing", err)
			}
		}
	}
	err := parallel.Do(cfg.Groups, func(g int) error {
		p, err := newAnnealing(c, cfg, strconv.Itoa(g))
		if err != nil {
			return err
		}
		for _, power := range a.Powers[1:] {
			if err := p.step(ctx, power, 0.5); err != nil {
				return err
			}
		}
		logEvidence := p.logMean + logsum.Of(p.logWeight) - math.Log(float64(len(p.states)))
		a.Groups[g] = AnnealedGroup{logEvidence, p.states, logsum.Shares(p.logWeight)}
		return nil
	})
	if err != nil {
		return nil, once(ctx, "annealing", err)
	}
	return a, nil
}

// annealing is a population at an intermediate power.
type annealing struct {
	random      *rand.Rand
	sweeps      int // of each state after each increase of the power
	states      []CollapsedState
	logEvidence []float64 // log p(y | m, a) of each state [Particles]
	logWeight   []float64
	power       float64
	logMean     float64 // log mean weight, accumulated up to the last resampling
}

func newAnnealing(c Collapsed, cfg AnnealConfig, name string) (*annealing, error) {
	p := &annealing{random: stream.Rand(cfg.Seed, "anneal/"+name), sweeps: cfg.Sweeps, logEvidence: make([]float64, cfg.Particles), logWeight: make([]float64, cfg.Particles)}
	for i := range cfg.Particles {
		state, err := c.Prior(p.random)
		if err != nil {
			return nil, err
		}
		p.states = append(p.states, state)
		if p.logEvidence[i] = state.Sweep(0, p.random); math.IsNaN(p.logEvidence[i]) {
			return nil, fmt.Errorf("rjmcmc: the evidence of a state is not a number")
		}
	}
	return p, nil
}

// step reweights the states to power and moves them. Before the moves it resamples the states if
// their effective sample size, as a share of their number, is below the argument resampled.
func (p *annealing) step(ctx context.Context, power, resampled float64) error {
	floats.AddScaled(p.logWeight, power-p.power, p.logEvidence)
	p.power = power
	if logsum.Effective(p.logWeight) < resampled*float64(len(p.states)) {
		p.resample()
	}
	for i, state := range p.states {
		if err := ctx.Err(); err != nil {
			return err
		}
		for range p.sweeps {
			p.logEvidence[i] = state.Sweep(power, p.random)
		}
	}
	return nil
}

// resample resamples the states by weight, systematically (Kitagawa 1996).
func (p *annealing) resample() {
	n := len(p.states)
	p.logMean += logsum.Of(p.logWeight) - math.Log(float64(n))
	states, logEvidence := make([]CollapsedState, 0, n), make([]float64, 0, n)
	for i, copies := range weighted.Counts(logsum.Shares(p.logWeight), n, p.random) {
		for c := range copies {
			state := p.states[i]
			if c > 0 {
				state = state.Clone()
			}
			states, logEvidence = append(states, state), append(logEvidence, p.logEvidence[i])
		}
	}
	p.states, p.logEvidence = states, logEvidence
	clear(p.logWeight)
}

// Ladder returns powers for tempered chains, descending from 1 to 0: every step-th of a.Powers.
func (a *Annealed) Ladder(step int) []float64 {
	ladder := []float64{1}
	for i := len(a.Powers) - 1 - step; i > 0; i -= step {
		ladder = append(ladder, a.Powers[i])
	}
	return append(ladder, 0)
}
