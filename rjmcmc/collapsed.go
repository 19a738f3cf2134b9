package rjmcmc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
)

// Collapsed is a posterior over models m and latent variables a, with parameters integrated out in
// closed form. An example of a is the set of rows that are outliers. If the posterior of the
// parameters has a separate mode for every likely a, chains over (m, a) move between these modes,
// unlike chains over parameters. The parameters may also be among the latent variables. Several
// goroutines may call methods at once.
type Collapsed interface {
	// Prior draws a state from p(m, a).
	Prior(random *rand.Rand) (CollapsedState, error)
	// Far draws a state from a distribution that covers all possible modes. Chains that start there
	// find modes missed by annealing from the prior.
	Far(random *rand.Rand) (CollapsedState, error)
}

// CollapsedState is a model with values of the latent variables.
type CollapsedState interface {
	// Sweep moves the state, leaving p(m, a) p(y | m, a)^power invariant, and returns log p(y | m,
	// a) of the new state.
	Sweep(power float64, random *rand.Rand) (logEvidence float64)
	// Clone returns a copy that shares no state that Sweep changes.
	Clone() CollapsedState
	// Draw writes the model to code [S] and a draw of θ from p(θ | y, m, a) to theta [D], with 0 in
	// inactive coordinates. It returns log p(m) + log p(y, θ | m), which does not depend on a. It
	// returns an error if rounding errors are too large.
	Draw(random *rand.Rand, code []int32, theta []float64) (logDensity float64, err error)
}

// CollapsedConfig sets the number and length of tempered chains over a Collapsed posterior.
type CollapsedConfig struct {
	// Chains is the number of chains. The first BurnIn iterations are dropped. Of the following
	// iterations, at most Iterations, every Thin-th is kept.
	Chains, BurnIn, Iterations, Thin int
	// Powers are the powers of the evidence in the copies of a chain (parallel tempering),
	// descending from 1 to 0.
	Powers []float64
	// Growth, when not nil, is called after First iterations, or after Iterations if First is 0. It
	// returns the factor by which the number of iterations should grow. A factor of at most 1 ends
	// the run. Otherwise the run grows, by half at most, and calls Growth again.
	First  int
	Growth func(*Result) float64
	// Progress, when not nil, is called before Growth with the number of iterations done and
	// Iterations.
	Progress func(done, total int)
	// Seed is the seed of all random numbers.
	Seed uint64
}

// leastGrowth and mostGrowth bound the factor by which a run grows between two calls of
// CollapsedConfig.Growth. Half and twice their distances from 1 give the same answers
// (docs/benchmarks/constants.md).
const (
	leastGrowth = 1.125
	mostGrowth  = 1.5
)

// collapsedStep is the number of draws of a chain before it waits for the other chains. After the
// end of the time, the draws of an unfinished step are lost.
const collapsedStep = 32

// RunCollapsed runs tempered chains. In each iteration every copy of a chain makes a sweep, and
// neighbouring copies exchange their states. Chains are independent, each with a separate random
// stream. Chains with an even number start from the prior, and chains with an odd number from
// Collapsed.Far. The argument sites is the number of sites of a code, and mask returns the active
// coordinates of a model. If the deadline of ctx passes, the result holds the draws that all chains
// have made, unless there are none.
func RunCollapsed(ctx context.Context, c Collapsed, sites int, mask func(code []int32, mask []bool) []bool, cfg CollapsedConfig) (*Result, error) {
	dim := len(mask(make([]int32, sites), nil))
	r := &Result{Chains: cfg.Chains, Sites: sites, Dim: dim, BurnIn: cfg.BurnIn, Thin: cfg.Thin, ladder: cfg.Powers}
	chains := make([]*collapsedChain, cfg.Chains)
	err := parallel.Do(cfg.Chains, func(k int) (err error) {
		chains[k], err = newCollapsedChain(ctx, c, k, cfg)
		return err
	})
	if err != nil {
		return nil, once(ctx, "burn-in", err)
	}
	next := min(cmp.Or(cfg.First, cfg.Iterations), cfg.Iterations)
	for done := 0; done < cfg.Iterations; {
		first, last := r.Draws(), min(next, done+collapsedStep*cfg.Thin)
		n := (last - done) / cfg.Thin * cfg.Chains
		r.codes, r.theta, r.mask = extended(r.codes, n*sites), extended(r.theta, n*dim), extended(r.mask, n*dim)
		r.LogDensity, r.tilt, r.atStart = extended(r.LogDensity, n), extended(r.tilt, n*len(cfg.Powers)), extended(r.atStart, n/cfg.Chains)
		err := parallel.Do(cfg.Chains, func(k int) error {
			for d := first + k; d < first+n; d += cfg.Chains {
				if err := chains[k].draw(ctx, r, d); err != nil {
					return err
				}
				mask(r.Codes(d), r.Mask(d))
			}
			return nil
		})
		if done > 0 && errors.Is(err, context.DeadlineExceeded) {
			r.keep(first)
			break
		}
		if err != nil {
			return nil, once(ctx, fmt.Sprintf("iteration %d to %d", done+1, last), err)
		}
		if done = last; done < next {
			continue
		}
		if cfg.Progress != nil {
			cfg.Progress(done, cfg.Iterations)
		}
		growth := mostGrowth
		if cfg.Growth != nil {
			growth = cfg.Growth(r)
		}
		if growth <= 1 {
			break
		}
		if !(growth < mostGrowth) { // also if it is NaN
			growth = mostGrowth
		}
		longer := int(float64(done) * (max(growth, leastGrowth) - 1))
		next = min(done+max(longer/cfg.Thin, 1)*cfg.Thin, cfg.Iterations)
	}
	return r, nil
}

// keep drops all but the first n draws.
func (r *Result) keep(n int) {
	r.codes, r.theta, r.mask = r.codes[:n*r.Sites], r.theta[:n*r.Dim], r.mask[:n*r.Dim]
	r.LogDensity, r.tilt, r.atStart = r.LogDensity[:n], r.tilt[:n*len(r.ladder)], r.atStart[:n/r.Chains]
}

// extended returns a list with n zeros appended.
func extended[T any](list []T, n int) []T { return append(list, make([]T, n)...) }

// once returns an error that contains the text place if ctx was cancelled, and err otherwise.
func once(ctx context.Context, place string, err error) error {
	if stopped := ctx.Err(); stopped != nil {
		return fmt.Errorf("rjmcmc: stopped in %s: %w", place, stopped)
	}
	return err
}

// collapsedChain is one chain with its copies at all powers.
type collapsedChain struct {
	random      *rand.Rand
	powers      []float64
	states      []CollapsedState
	logEvidence []float64
	done        int
}

func newCollapsedChain(ctx context.Context, c Collapsed, k int, cfg CollapsedConfig) (*collapsedChain, error) {
	chain := &collapsedChain{
		random: stream.Rand(cfg.Seed, fmt.Sprintf("collapsed/%d", k)), powers: cfg.Powers, logEvidence: make([]float64, len(cfg.Powers)),
	}
	start := c.Prior
	if k%2 == 1 {
		start = c.Far
	}
	for range cfg.Powers {
		state, err := start(chain.random)
		if err != nil {
			return nil, err
		}
		chain.states = append(chain.states, state)
	}
	for range cfg.BurnIn {
		if err := chain.iterate(ctx); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

// iterate moves all copies, and exchanges states between neighbouring copies: the even pairs in one
// iteration, the odd pairs in the next.
func (chain *collapsedChain) iterate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for t, state := range chain.states {
		if chain.logEvidence[t] = state.Sweep(chain.powers[t], chain.random); math.IsNaN(chain.logEvidence[t]) {
			return fmt.Errorf("rjmcmc: the evidence of a state is not a number")
		}
	}
	for t := chain.done % 2; t+1 < len(chain.states); t += 2 {
		if -chain.random.ExpFloat64() < (chain.powers[t]-chain.powers[t+1])*(chain.logEvidence[t+1]-chain.logEvidence[t]) {
			chain.states[t], chain.states[t+1] = chain.states[t+1], chain.states[t]
			chain.logEvidence[t], chain.logEvidence[t+1] = chain.logEvidence[t+1], chain.logEvidence[t]
		}
	}
	chain.done++
	return nil
}

// draw makes r.Thin iterations and then writes draw d of r.
func (chain *collapsedChain) draw(ctx context.Context, r *Result, d int) (err error) {
	for range r.Thin {
		if err := chain.iterate(ctx); err != nil {
			return err
		}
	}
	for t, logEvidence := range chain.logEvidence {
		r.tilt[(d/r.Chains*len(chain.powers)+t)*r.Chains+d%r.Chains] = logEvidence
	}
	r.LogDensity[d], err = chain.states[0].Draw(chain.random, r.Codes(d), r.Theta(d))
	return err
}
