package rjmcmc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/checkpoint"
)

// mostNonFinite is the largest allowed share of proposals after burn-in whose log density is NaN or
// +Inf. Such proposals are rejected.
const mostNonFinite = 0.01

// Run samples the target. The backend evaluates its graphs.
//
// When ctx is cancelled, Run stops after the move in progress, writes the checkpoint if the
// configuration names one, and returns the wrapped error of ctx. It also returns the draws so far;
// during burn-in, nil. Run returns the draws along with an error when more than mostNonFinite of
// the proposals after burn-in had a log density that is NaN or +Inf.
func Run(ctx context.Context, backend backends.Backend, target Target, cfg Config) (*Result, error) {
	s, err := newSampler(backend, target, cfg)
	if err != nil {
		return nil, err
	}
	defer s.density.close()
	return s.run(ctx)
}

func (s *sampler) run(ctx context.Context) (*Result, error) {
	if err := s.startOrRestore(); err != nil {
		return nil, err
	}
	for total := s.total(); s.iteration <= total && !s.enough; total = s.total() {
		if s.iteration == s.cfg.BurnIn+1 && s.result == nil {
			s.freeze()
		}
		if err := s.moves(ctx, total); err != nil {
			return s.finish(err)
		}
		s.exchange(s.iteration)
		if s.result == nil {
			if err := s.endBurnIn(); err != nil {
				return nil, err
			}
		} else {
			s.keep(s.iteration - s.cfg.BurnIn)
			if s.iteration == total && !s.enough && s.cfg.Further != nil {
				s.result.settle()
				s.further += max(s.cfg.Further(s.result), 0)
			}
		}
		if s.cfg.Progress != nil {
			s.cfg.Progress(Progress{Iteration: s.iteration, Total: total, BurnIn: s.result == nil, LogDensity: stat.Mean(s.state.logDensity[:s.cfg.Chains], nil)})
		}
		s.iteration, s.made = s.iteration+1, 0
	}
	if err := s.save(); err != nil {
		return s.finish(err)
	}
	if share := s.info.nonFiniteShare(); share > mostNonFinite {
		return s.finish(fmt.Errorf(
			"rjmcmc: %.1f%% of the proposals had a log density that is NaN or +Inf, more than the %.1f%% allowed: the target is not defined everywhere the chains go",
			100*share, 100*mostNonFinite))
	}
	return s.finish(nil)
}

func (s *sampler) total() int { return s.cfg.BurnIn + s.cfg.Iterations + s.further }

func (s *sampler) startOrRestore() error {
	if s.cfg.Checkpoint != "" {
		s.saver = checkpoint.NewSchedule(checkpoint.DefaultInterval)
	}
	if s.cfg.Resume {
		return s.restore()
	}
	s.iteration = 1
	return s.initialise()
}

// freeze ends burn-in: adaptation stops, and draws are kept.
func (s *sampler) freeze() {
	for i := range s.rungs {
		s.rungs[i].adapter = nil
	}
	s.info = Info{}
	s.ladder.restart()
	s.result = &Result{Chains: s.cfg.Chains, Sites: len(s.cards), Dim: s.dim, BurnIn: s.cfg.BurnIn, Thin: s.cfg.Thin, ladder: slices.Clone(s.ladder.beta)}
}

// moves makes the remaining moves of the iteration in progress. In burn-in it makes them one by
// one, because the tuning learns from each; after burn-in it makes them all at once.
func (s *sampler) moves(ctx context.Context, total int) error {
	for schedule := s.schedule(s.iteration); s.made < len(schedule); {
		if err := ctx.Err(); err != nil {
			return errors.Join(fmt.Errorf("rjmcmc: stopped in iteration %d of %d: %w", s.iteration, total, err), s.save())
		}
		if s.saver.Due() {
			if err := s.save(); err != nil {
				return err
			}
		}
		if s.result != nil {
			if err := s.steps(schedule[s.made:]); err != nil {
				return err
			}
			s.made = len(schedule)
			continue
		}
		if err := s.step(schedule[s.made]); err != nil {
			return err
		}
		s.made++
	}
	return nil
}

// checks is the number of times that a run calls Config.Enough. Half or twice this number gives the
// same answers (docs/benchmarks/constants.md).
const checks = 16

// keep records the state after the n-th iteration since burn-in, if n is a multiple of Thin.
func (s *sampler) keep(n int) {
	if n%s.cfg.Thin == 0 {
		s.result.record(s.state, s.atStart)
	}
	if every := max(s.cfg.Iterations/checks, 1); s.cfg.Enough != nil && n <= s.cfg.Iterations && n%every == 0 && s.result.Draws() > 0 {
		s.result.settle()
		s.enough = s.cfg.Enough(s.result)
	}
}

// endBurnIn adapts the proposals of every temperature after an iteration of burn-in, and the
// temperatures themselves.
func (s *sampler) endBurnIn() error {
	renewed := false
	for i := range s.rungs {
		adapter := s.rungs[i].adapter
		first, last := i*s.cfg.Chains*s.dim, (i+1)*s.cfg.Chains*s.dim
		renewed = renewed || adapter.renews(s.iteration)
		weights := adapter.endIteration(s.iteration, s.state.mask[first:last], s.state.theta[first:last])
		if weights != nil {
			if err := s.proposeBy(weights); err != nil {
				return err
			}
		}
	}
	if renewed {
		s.forget()
	}
	if renewed && len(s.rungs) > 1 {
		s.ladder.renew(&s.rungs[0].tuning)
		return s.oneByOne(func(_ *workspace, b *block) error { return s.evaluate(s.state, b) })
	}
	return nil
}

// settling is the share of burn-in without changes of model. In it the chains, spread over models,
// find the location and width of their coordinates. Otherwise chains would leave a model before
// they find the posterior of a coordinate that is far from its starting value. Half or twice this
// share gives the same answers (docs/benchmarks/constants.md).
const settling = 0.25

// schedule returns the moves of iteration t in order. In the settling part of burn-in, walks
// replace changes of model, since the quadratic approximation is fitted to walks.
func (s *sampler) schedule(t int) (moves []Move) {
	times := [numMoves]int{Jump: s.cfg.Jumps, Swap: s.cfg.Swaps, Walk: s.cfg.Walks, Joint: s.cfg.Joints}
	if times[Walk] > 0 && float64(t) <= settling*float64(s.cfg.BurnIn) {
		times[Walk] += times[Jump] + times[Swap]
		times[Jump], times[Swap] = 0, 0
	}
	for move, n := range times {
		moves = append(moves, slices.Repeat([]Move{Move(move)}, n)...)
	}
	return moves
}

// finish completes the result and returns it. The result is nil during burn-in.
func (s *sampler) finish(err error) (*Result, error) {
	if s.result != nil {
		s.result.settle()
		s.result.Info = s.info
		s.result.Info.Discarded, s.result.Info.AtStart = s.result.discarded, s.result.unmoved()
		for t, tried := range s.ladder.tried {
			s.result.Info.Exchanges = append(s.result.Info.Exchanges, 1-s.ladder.refused[t]/tried)
		}
		s.result.Info.RoundTrips = s.ladder.roundTrips
		s.result.Tuning = s.rungs[0].tuning
	}
	return s.result, err
}
