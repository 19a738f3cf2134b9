package vti

import (
	"context"
	"errors"
	"time"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/checkpoint"
	"gonum.org/v1/gonum/mat"
)

// Solve finds the posterior of the target with the least work that suffices. It starts with the
// cheapest method: the evidences of a KnownTarget, or weights of an untrained flow, which is the
// normal approximation at a mode. While the certificate is not trusted or not precise enough, it
// trains in rounds, each twice as long as the round before. After each round a certificate of few
// draws decides whether to continue. The answer is a certificate of fresh draws from separate
// random streams, so that it is not good by chance because Solve stops at the first good
// certificate. Tempered chains must confirm the weights, unless the target is a UnimodalTarget or
// its evidences are known or estimated for each model.
//
// If ctx is cancelled, Solve writes a checkpoint, if the configuration names one, and returns an
// error that wraps ctx.Err(). With Fit.Resume a later call continues from the checkpoint, and ends
// with the same result, to the bit, as a run without interruption.
func Solve(ctx context.Context, device *gpu.Device, target Target, cfg SolveConfig) (*Solution, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults().forTarget(target)
	if err := cfg.Certify.CheckSize(target); err != nil {
		return nil, err
	}
	s := &solver{cfg: cfg, device: device, target: target, time: budget.Start(cfg.MaxTime)}
	s.say("first", "where q begins")
	if err := s.open(ctx, true); err != nil {
		return nil, err
	}
	solution, err := s.solve(ctx)
	if errors.As(err, new(badStart)) && s.t.anchored {
		// the approximation at a mode of the largest model does not suit the other models, as in
		// Fit
		s.plan = plan{}
		if err := s.open(ctx, false); err != nil {
			return nil, err
		}
		solution, err = s.solve(ctx)
	}
	return solution, err
}

// open creates the trainer, and restores the plan of the checkpoint if the run is resumed.
func (s *solver) open(ctx context.Context, anchor bool) (err error) {
	if s.t, err = newTrainer(ctx, s.device, s.target, s.cfg.Fit, anchor); err != nil {
		return err
	}
	engine, sp := s.t.engine, s.target.Space()
	// a sum of estimates sets q(m), and states it
	engine.AnswerOnly = s.cfg.AnswerOnly && (engine.Exact() || engine.Known.Evidences != nil && !s.cfg.Certify.lists(sp))
	s.t.Untrained = s.t.step == 0 && s.cfg.Fit.Begin == nil
	s.t.plan, err = &s.plan, s.plan.restore(s.firstStage(), &s.t.config)
	switch {
	case err != nil:
	case s.plan.Unfitted > 0:
		s.deferFit(ctx, nil, nil)
	case engine.AnswerOnly && !s.cfg.Fit.Resume:
		// creates the variables of the flow for checkpoints, since no other graph may do so
		_, err = s.t.LogProb([][]int32{make([]int32, len(sp.Cards()))}, mat.NewDense(1, sp.Dim(), nil))
	}
	return err
}

func (s *solver) solve(ctx context.Context) (*Solution, error) {
	s.since = time.Now()
	var answered plan // before the stage that gave the best answer
	for {
		var err error
		before, best := s.plan, s.best
		switch s.plan.Next {
		case collapsing:
			err = s.collapse(ctx)
		case birthing:
			err = s.births(ctx)
		case checking:
			err = s.check(ctx)
		case training:
			err = s.train(ctx)
		case certifying:
			err = s.certify(ctx)
		}
		if err != nil {
			return nil, err
		}
		if s.best != best {
			answered = before
		}
		if s.plan.Next == finished {
			return s.finish(answered)
		}
	}
}

// finish stores the posterior, with the plan before the stage that gave the best answer, so that a
// resumed run repeats that stage.
func (s *solver) finish(before plan) (*Solution, error) {
	s.t.Deferred = nil // the answer did not need it
	done := s.plan
	s.plan = before
	s.plan.Unfitted = done.Unfitted
	if err := s.t.save(); err != nil {
		return nil, err
	}
	s.plan = done
	s.best.Space = s.target.Space()
	return &Solution{Posterior: s.t.posterior(), Certificate: s.best.Certificate, Rounds: s.plan.Rounds, Divergence: s.best.Divergence(), Training: s.training, Advice: s.advice()}, nil
}

// Recertify certifies again the posterior that Fit or Solve stored in cfg.Fit.Checkpoint, for the
// same target and configuration. cfg.Certify may set more draws or chains, or share the work among
// processes (CertifyConfig.Shard). Recertify neither trains nor writes files. With the
// CertifyConfig of the earlier certificate, the certificate is the same to the bit.
func Recertify(ctx context.Context, device *gpu.Device, target Target, cfg SolveConfig) (*Posterior, *Certificate, error) {
	cfg.Fit.Resume = true
	s := &solver{cfg: cfg, device: device, target: target, time: budget.Start(cfg.MaxTime)}
	info, err := checkpoint.ReadInfo(cfg.Fit.Checkpoint)
	if err != nil {
		return nil, nil, err
	}
	if len(info.Plan) == 0 { // the checkpoint comes from Fit
		posterior, err := Load(device, target, cfg.Fit)
		if err != nil {
			return nil, nil, err
		}
		certificate, err := posterior.Certify(ctx, cfg.Certify)
		return posterior, certificate, err
	}
	s.cfg = s.cfg.withDefaults().forTarget(target)
	if err := s.open(ctx, true); err != nil {
		return nil, nil, err
	}
	posterior := s.t.posterior()
	s.cfg.Certify.byDraws, s.cfg.Certify.witnesses = s.plan.ByDraws, s.plan.Witnesses
	certificate, err := posterior.Certify(ctx, s.cfg.Certify)
	return posterior, certificate, err
}
