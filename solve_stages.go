package vti

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/models"
)

const (
	// checkBudget is the number of draws of a preliminary certificate after the first draws of
	// every model. ESS and SolveRound.Shortage then have errors of a few percent, and k̂ of 0.1.
	checkBudget = 1 << 14
	// fewestDraws is the smallest number of draws of a full certificate, unless CertifyConfig.Draws
	// is smaller. With it the error of k̂ is 0.05.
	fewestDraws = 1 << 15
	// closeDivergence is a divergence KL(p ‖ q) of q from the posterior p, in nats. If it is
	// smaller, and the answer does not need q, q needs no training: the geometric mean of q/p over
	// draws of p is at least 0.6.
	closeDivergence = 0.5
)

// check computes a preliminary certificate, of few draws, for the current q, which decides the next
// stage.
func (s *solver) check(ctx context.Context) error {
	if s.needsPilot() {
		s.say(s.plan.Why, "short chains, which q(m) learns from")
		if err := fitToChains(ctx, s.t.evaluator, s.time.Over); err != nil {
			return s.stopped(err)
		}
	}
	w, visited, err := s.look(ctx, len(s.plan.Rounds))
	if err != nil {
		return s.stopped(err)
	}
	s.last = w
	now := s.report(w, visited != nil && w.Listed())
	if now.Full {
		s.best = w
		return s.afterSum(now)
	}
	return s.next(ctx, now, visited)
}

// look computes the preliminary certificate of a round, of few draws.
func (s *solver) look(ctx context.Context, round int) (*weighing, *models.Visited, error) {
	cfg := s.cfg.Certify
	cfg.preliminary, cfg.stream, cfg.byDraws = true, fmt.Sprintf("glance/%d", round), s.plan.ByDraws
	cfg.witnesses, cfg.keepModels, cfg.birthsNext = s.plan.Witnesses, s.cfg.Untrained, s.birthsFirst()
	cfg.Draws, cfg.late = min(max(cfg.Draws/4, 1), checkBudget), s.time.Over
	return certifyWithoutChains(ctx, s.t.evaluator, cfg)
}

// mayCollapse reports whether the next stage is certification by the collapsed posterior (with
// parameters integrated out). This is so if the run began with the answer of a network
// (Config.Begin) and there is no full certificate yet. The stage is faster than the chains and the
// training that would otherwise be needed.
func (s *solver) mayCollapse() bool {
	return s.cfg.Fit.Begin != nil && s.plan.Full == 0 && s.t.engine.MayCollapse()
}

// collapse certifies by the collapsed posterior, which needs no training. If the result is not
// trusted, weights and training follow. The weights must then cover the regions that the chains
// over the collapsed posterior found.
func (s *solver) collapse(ctx context.Context) error {
	part := budget.Collapsed
	if s.plan.Next == birthing { // in the place of births and deaths
		part = budget.Births
	}
	return s.chainsOverModels(ctx, "collapsed", "populations and tempered chains over models and latent variables", part, s.t.engine.Collapsed)
}

// chainsOverModels calls the function certify, which certifies by chains over models, with random
// numbers of the given stream. The chains end with the given part of the time limit. If the result
// is not trusted, Solve continues with weights.
func (s *solver) chainsOverModels(ctx context.Context, stream, description string, part budget.Part, certify func(context.Context, models.Config) (*models.Certificate, error)) error {
	s.say(s.plan.Why, description)
	cfg := s.cfg.Certify
	cfg.stream, cfg.keepModels = stream, s.cfg.Untrained
	cfg.late = func() bool { return budget.Passed(s.time.End(budget.FirstBirths)) }
	limited, cancel := s.time.Context(ctx, part)
	defer cancel()
	over := cfg.overModels()
	if s.last != nil {
		over.Found = models.CodesOf(s.last.Models)
	}
	c, err := certify(limited, over)
	if ctx.Err() != nil {
		return s.stopped(err)
	}
	work, next := Starting, "weights of q"
	if s.plan.Next == birthing {
		s.plan.Born, work, next = true, Refining, "weights over models"
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.plan.CutShort = true
		return s.setStage(checking, work, "that took too long", next)
	case err != nil:
		return s.setStage(checking, work, "that failed ("+err.Error()+")", next)
	}
	w := &weighing{Certificate: c}
	if c.Verdict != Trusted && !s.t.engine.MayBear() {
		w.witnesses.add(testimony(c))
	}
	s.report(w, true)
	if s.best, s.last = w, w; c.Verdict == Trusted {
		return s.setStage(finished, Weighing, "done", c.Verdict.String())
	}
	if limited.Err() != nil { // weights would need a q(m) that is fitted to the chains
		s.plan.CutShort = true
		return s.setStage(finished, Weighing, "the time is over", c.Verdict.String())
	}
	return s.setStage(checking, work, c.Reasons[0], next)
}

// mayBear reports whether chains that add and remove members of models (births and deaths) are
// next. Solve asks if weights are not good enough although q(m) was fitted to the models found. If
// evidences are estimates, chains over the collapsed posterior take the place of these chains.
func (s *solver) mayBear() bool {
	e := s.t.engine
	return !s.plan.Born && !s.cfg.Untrained && (e.MayBear() || e.Known.Evidences != nil && e.MayCollapse())
}

// birthsFirst reports whether birth-death chains come before fits of q(m), because only the answer
// is requested and the chains take less time.
func (s *solver) birthsFirst() bool {
	return s.t.engine.AnswerOnly && s.mayBear()
}

// births certifies by birth-death chains, or in their place by the collapsed posterior.
func (s *solver) births(ctx context.Context) error {
	if s.last == nil { // nil in a resumed run; the models that weights found are needed below
		var err error
		if s.last, _, err = s.look(ctx, len(s.plan.Rounds)-1); err != nil {
			return s.stopped(err)
		}
	}
	if !s.t.engine.MayBear() {
		return s.collapse(ctx)
	}
	visited, last := s.t.engine.Visit(), s.last.Certificate
	if _, err := visited.Add(ctx, models.CodesOf(last.Models), nil); err != nil { // the models that weights found
		return s.stopped(err)
	}
	return s.chainsOverModels(ctx, "births", "birth-death chains over models", budget.Births, func(ctx context.Context, cfg models.Config) (*models.Certificate, error) {
		c, err := visited.Births(ctx, cfg)
		if err == nil {
			if missed := models.MissedByChains(last, c); missed != "" {
				c.Lower(Doubtful, "birth-death chains missed what weights found: %s", missed)
			}
		}
		return c, err
	})
}

// needsPilot reports whether q(m) is an untrained network from which models will be drawn.
func (s *solver) needsPilot() bool {
	_, network := s.t.Models.(*modeldist.Autoregressive)
	fresh := s.plan.Work == Starting && s.t.config.Start == PilotStart
	return network && fresh && (s.plan.ByDraws || s.t.engine.Known.Evidences == nil)
}

// afterSum decides which stage is next after a sum over all models. The answer does not need q, but
// q is trained if it is far from the answer and training helps. It is not trained if q(m) is a
// network and the target computed the sum, or if the run began with the answer of a network
// (Config.Begin).
func (s *solver) afterSum(now SolveRound) error {
	switch {
	case now.Shortage > 1:
		s.plan.ByDraws = true
		return s.setStage(checking, Starting, "draws around modes are not precise enough", "weights of q")
	case !s.best.Complete || s.cfg.AnswerOnly || s.cfg.Fit.Begin != nil || now.Divergence <= closeDivergence || s.plan.Unhelpful > 0 || s.exhausted() || s.late():
		return s.setStage(finished, s.plan.Work, "no more is needed", fmt.Sprintf("the sum over %s", english.Count(s.best.ModelsChecked, "model")))
	}
	return s.trainNext(fmt.Sprintf("the answer is known, and q differs from it by %.1f nats", now.Divergence))
}

// next decides which stage follows a certificate of few draws. visited holds the models of the
// certificate if it comes from evidences of models without draws of the flow, and is nil otherwise.
func (s *solver) next(ctx context.Context, now SolveRound, visited *models.Visited) error {
	why := s.shortcoming(now)
	switch {
	case why == "":
		if visited != nil && s.plan.Work == Starting {
			s.plan.Unfitted = len(s.plan.Rounds)
			s.deferFit(ctx, s.last, visited)
		}
		return s.setStage(certifying, Weighing, "weights look good enough", "certificate of fresh draws")
	case s.exhausted() || s.late() || s.plan.Last:
		if s.late() {
			why = "the time is over"
		} else if s.plan.Last {
			why += ", and the time for training is over"
		}
		s.plan.Last = true
		return s.setStage(certifying, Weighing, why, "the last certificate")
	case visited != nil && (len(s.plan.Rounds) > 1 && s.mayBear() || s.birthsFirst()):
		return s.setStage(birthing, Weighing, why, "births and deaths")
	case visited != nil && s.plan.Unhelpful < patience:
		return s.refit(ctx, visited, why)
	case visited != nil && !s.t.engine.Exact():
		s.plan.ByDraws, s.plan.Unhelpful = true, 0
		return s.setStage(checking, Starting, why, "weights of q")
	case s.cfg.Certify.Confirm && s.plan.Full == 0 && (s.last.Complete || now.KHat <= verdict.FailedKHat && s.affordable(now)):
		return s.setStage(certifying, Weighing, why, "chains, which are needed anyway, may confirm it as it is, or find the modes that it lacks")
	case s.plan.Unhelpful == patience:
		return s.setStage(certifying, Weighing, why+", and training does not help", "certificate with chains")
	}
	return s.trainNext(why)
}

// refit fits q(m) to the models found, and continues with weights of draws from it. If the time is
// over, q(m) stays as it was.
func (s *solver) refit(ctx context.Context, visited *models.Visited, why string) error {
	s.t.Deferred, s.plan.Unfitted = nil, 0
	limited, cancel := s.time.Context(ctx, budget.Whole)
	defer cancel()
	if err := visited.Fit(limited); err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return s.stopped(err)
	}
	return s.setStage(checking, Refining, why, fmt.Sprintf("fitting q(m) to the %s found", english.Count(visited.Len(), "model")))
}

// deferFit puts off a fit of q(m) to the models of a preliminary certificate until q(m) is used.
// The fit is left out if q is close to the certificate. w and visited are the certificate and its
// models, or nil in a resumed run, which computes them again.
func (s *solver) deferFit(ctx context.Context, w *weighing, visited *models.Visited) {
	s.t.Deferred = func() (err error) {
		if w == nil {
			if w, visited, err = s.look(ctx, s.plan.Unfitted-1); err != nil {
				return err
			}
		}
		c := *w.Certificate
		if c.Sample.LogQ, err = s.t.LogProb(c.Sample.Codes, c.Sample.Theta); err != nil {
			return err
		}
		if visited != nil && c.Divergence() > closeDivergence {
			s.say("q(m) is needed", fmt.Sprintf("it is fitted to the %s found", english.Count(visited.Len(), "model")))
			if err := visited.Fit(ctx); err != nil {
				return err
			}
		}
		s.plan.Unfitted = 0
		return nil
	}
}

func (s *solver) exhausted() bool { return s.cfg.Untrained || s.t.step >= s.t.config.Steps }

func (s *solver) trainNext(why string) error {
	r := s.t.config.roundAt(s.plan.Trained)
	s.plan.Trained++
	return s.setStage(training, Training, why, fmt.Sprintf("training %d more steps", r.last-r.first))
}

// shortcoming returns the reason why a certificate of many draws, judging by a certificate of few
// draws, would not be trusted or not be precise. It returns "" if there is no such reason.
func (s *solver) shortcoming(now SolveRound) string {
	switch {
	case now.KHat > psis.Reliable && s.last.Complete:
		return fmt.Sprintf("the weights of %d of %s are not good enough", s.last.unreliable(), english.Count(s.last.ModelsChecked, "model"))
	case now.KHat > psis.Reliable:
		return fmt.Sprintf("weights are not good enough (k̂ %.2f)", now.KHat)
	case float64(s.last.NonFinite) > verdict.FailedNonFinite*float64(now.Draws):
		return "densities are not finite"
	case !s.affordable(now):
		return fmt.Sprintf("weights are too uneven: %.2g draws would be needed", now.needed())
	}
	return ""
}

// affordable reports whether the number of draws that the precision and the verdict need is within
// the limit of a full certificate.
func (s *solver) affordable(now SolveRound) bool {
	full := float64(s.cfg.Certify.Draws)
	least := verdict.DoubtfulESS / now.ESS * float64(now.Draws)
	return math.Max(now.needed(), least) <= full
}

// unreliable returns the number of models with unreliable weights and a probability above
// proposalMass.
func (c *weighing) unreliable() int {
	return len(apply.Keep(c.Models, func(m models.Estimate) bool { return m.Certified > proposalMass && m.KHat > psis.Reliable }))
}

func (s *solver) train(ctx context.Context) error {
	limited, cancel := s.time.Context(ctx, budget.Training)
	defer cancel()
	began := time.Now()
	_, err := s.t.train(limited, s.plan.Trained-1, s.time.Began, false)
	s.training += time.Since(began)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		s.plan.Last, err = true, nil
	}
	if err != nil {
		return err
	}
	s.plan.Next = checking
	return s.t.save()
}

// certify computes a full certificate of fresh draws, with chains if weights are not trusted.
func (s *solver) certify(ctx context.Context) error {
	cfg := s.cfg.Certify
	cfg.stream, cfg.byDraws, cfg.witnesses, cfg.birthsNext = "certify", s.plan.ByDraws, s.plan.Witnesses, s.birthsFirst()
	if s.plan.Full > 0 {
		cfg.stream = fmt.Sprintf("certify/%d", s.plan.Full)
	}
	limited, cancel := ctx, func() {}
	if s.last != nil {
		limited, cancel = s.time.Context(ctx, budget.Whole)
	}
	defer cancel()
	c, visited, err := s.fresh(limited, cfg)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		if c, err = s.best, nil; c == nil {
			c = s.last
			c.Lower(Doubtful, "time ran out before a certificate of more draws")
		}
		s.plan.Last = true
	}
	if err != nil {
		return s.stopped(err)
	}
	now := s.report(c, true)
	collapse := c.Verdict != Trusted && s.mayCollapse()
	s.plan.Full++
	s.keep(c)
	if collapse {
		return s.setStage(collapsing, Weighing, c.Reasons[0], "no parameters")
	}
	lacks := ""
	if s.cfg.Lacks != nil && c.Verdict == Trusted && s.plan.Trained < patience {
		lacks = s.cfg.Lacks(c.Certificate)
	}
	if c.Verdict == Trusted && now.Shortage <= 1 && lacks == "" || s.plan.Last || s.exhausted() || s.late() {
		return s.setStage(finished, Weighing, "done", c.Verdict.String())
	}
	if c.Verdict != Trusted && s.mayBear() { // training would take longer
		s.last = c
		return s.setStage(birthing, Weighing, c.Reasons[0], "births and deaths")
	}
	why := fmt.Sprintf("%.2g times as many draws would be needed", now.Shortage)
	if c.Verdict != Trusted {
		why = c.Reasons[0]
	} else if lacks != "" {
		why = lacks
	} else if now.Shortage <= mostMore && !s.enlarged(1) && s.fits(s.draws()) {
		return s.setStage(certifying, Weighing, why, "a certificate of so many")
	} else if visited != nil && s.plan.Unhelpful < patience { // training does not change evidences of models
		return s.refit(ctx, visited, why)
	}
	return s.trainNext(why)
}

// keep makes c the best answer, unless c failed and an earlier answer is doubtful, such as one of
// chains that were cut short.
func (s *solver) keep(c *weighing) {
	if s.best == nil || s.best.Verdict != Doubtful || c.Verdict != Failed {
		s.best = c
	}
}

// mostMore is the largest factor by which the number of draws of a trusted certificate may grow if
// it is not precise enough. If more draws are needed a better q is cheaper. Half and twice this
// factor give the same answers (docs/benchmarks/constants.md).
const mostMore = 4

// enlarged reports whether an earlier round had a full certificate, so that the next full
// certificate is an enlarged one. The argument before counts rounds back from the last one.
func (s *solver) enlarged(before int) bool {
	at := len(s.plan.Rounds) - 1 - before
	return at >= 0 && s.plan.Rounds[at].Full
}

// fresh computes a full certificate. Chains check it if Confirm is set and the weights are good and
// precise enough, or if nothing else is left to try. Otherwise training or more draws come first.
// If the certificate rests on evidences of models, not on draws of the flow, the second result
// holds these models. Otherwise it is nil.
func (s *solver) fresh(ctx context.Context, cfg CertifyConfig) (*weighing, *models.Visited, error) {
	few := cfg
	few.Draws = s.draws()
	c, visited, err := certifyWithoutChains(ctx, s.t.evaluator, few)
	switch {
	case err != nil || visited != nil:
		return c, visited, err
	case c.Verdict == Trusted && (!cfg.Confirm || s.repeats(c)) || c.Verdict != Trusted && s.mayCollapse():
		return c, nil, nil
	case cfg.Confirm && (c.Verdict >= Doubtful || s.plan.Full == 0) || s.plan.Last || s.exhausted() || s.plan.Unhelpful >= patience:
		c, err = check(ctx, s.t.evaluator, c, cfg, few.Draws)
	}
	return c, nil, err
}

// repeats reports whether another full certificate will follow a trusted one, because it is not
// precise enough. Chains then need to check only the later certificate. With a time limit the later
// certificate may not be computed.
func (s *solver) repeats(c *weighing) bool {
	shortage := c.Shortage(s.target.Space(), s.cfg.Precision)
	return shortage > 1 && !s.enlarged(0) && !s.plan.Last && !s.exhausted() && s.cfg.MaxTime == 0 && s.plan.Unhelpful == 0
}

func (s *solver) fits(draws int) bool {
	cfg := s.cfg.Certify
	cfg.Draws = draws
	return cfg.CheckSize(s.target) == nil
}

// draws returns the number of draws of a full certificate: twice the number needed according to the
// last round, at least fewestDraws and at most CertifyConfig.Draws.
func (s *solver) draws() int {
	most := s.cfg.Certify.Draws
	if len(s.plan.Rounds) == 0 {
		return min(fewestDraws, most)
	}
	if s.enlarged(0) {
		most *= 2 * mostMore
	}
	last := s.plan.Rounds[len(s.plan.Rounds)-1]
	return int(math.Min(math.Max(2*last.needed(), fewestDraws), float64(most)))
}

func (s *solver) stopped(err error) error { return errors.Join(err, s.t.save()) }
