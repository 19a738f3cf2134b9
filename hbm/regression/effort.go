package regression

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/likelihood"
)

// Limits of the integration without training, above which a flow is trained. A gaussian regression
// may have up to pilotModels models. If it has more than exactModels, models with a negligible
// probability get only a few draws. Other regressions may have up to exactModels models, and a
// model up to exactHyperparameters hyperparameters. The limits bound the time: an answer within
// them takes at most a few minutes on two processors.
const (
	exactModels          = 128
	pilotModels          = 1024
	exactHyperparameters = 10
	exactWork            = 2e7 // multiplications for one Cholesky factor
	dearWork             = 1e9 // multiplications for one factor of a single model
)

// leastESS is the smallest effective number of draws that an answer aims at. It is a tenth above
// verdict.DoubtfulESS, below which a verdict is at most doubtful.
const leastESS = 1.1 * verdict.DoubtfulESS

// effort says how many draws of its hyperparameters a model gets. The field first is the initial
// number of draws, and the field most the largest number. Draws are added until the log evidence of
// all models together has the standard error se, and the sample has the effective size ess.
type effort struct {
	first, most int
	se, ess     float64
	// pilots says that models of negligible probability get only a few draws, a pilot, because more
	// draws would take too long. apart says that a model gets its own proposal if the proposal of
	// the largest model is poor for it
	pilots, apart bool
	// sharp says that densities cost little. The number of draws is then doubled until the moments
	// are known well, and a proposal whose weights have a heavy tail is refined
	sharp bool
	// problem holds the settings of the search for the proposal of a model. The field PerRound
	// times the number of hyperparameters plus one is the number of draws in a round of adaptation,
	// and Noise the error of a log density
	problem integrate.Problem
	// time is the time after which no more draws begin
	time budget.Time
}

// The efforts of three kinds of regressions. A pilot is a first, small number of draws of a model.
//
// exactEffort is for effects integrated out in closed form. Bayes factors have a standard error of
// half a percent. Models get pilots if there are at least pilotEffects effects, with which a model
// takes seconds, or more than exactModels models, because then most models do not matter.
//
// dearEffort is for a Cholesky factor of more than exactWork multiplications, which takes a tenth
// of a second. An answer starts from about a thousand draws, whose number is raised by half until
// it suffices. Means are known to 5 percent of a standard deviation, within a minute on two
// processors for the 4,100 effects of the table InstEval.
//
// laplaceEffort is for responses that are not gaussian, whose densities need searches for modes.
// Log evidences have standard errors of 0.03 nats, and standard deviations of 2.5 percent.
var (
	exactEffort   = effort{first: 1 << 12, most: 1 << 17, se: 0.005, ess: 1 << 13, sharp: true}
	dearEffort    = effort{first: 3 << 8, most: 3 << 11, se: laplaceSE, ess: leastESS, problem: integrate.Problem{Dear: true, PerRound: 10}}
	laplaceEffort = effort{first: 1 << 10, most: 1 << 16, se: laplaceSE, ess: 1 << 10, pilots: true, problem: integrate.Problem{Noise: 1e-3, PerRound: 25}}
)

const (
	pilotEffects   = 500
	laplaceSE      = 0.03
	laplaceNumbers = 1 << 26 // largest count of stored numbers of all draws of a model
)

// effort returns the effort for the regression, by the cost of its density.
func (r *Regression) effort() effort {
	e := exactEffort
	switch {
	case !r.Frame.Response.Conjugate():
		e = laplaceEffort
		e.most = max(e.first, min(e.most, laplaceNumbers/(2*laplaceMostPairs*r.Dim())))
	case r.joint().symbolic.Work() > exactWork:
		e = dearEffort
	default:
		e.pilots = r.joint().effects >= pilotEffects || len(r.space.masks) > exactModels
	}
	// A model with fewer effects than the largest model has larger noise. With the proposal of the
	// largest model, its log evidence under a Student likelihood would be up to 800 nats too low.
	e.apart = e.pilots && r.noise >= 0
	return e
}

// asked returns e adapted to the Precision and the MaxTime of a run, if these are set. With
// Precision, the effective number of draws and the error of the log odds of models are chosen such
// that a probability of one half has a standard error of at most Precision.
func (e effort) asked(cfg Run) effort {
	if p := cfg.Precision; p > 0 {
		e.ess, e.se = math.Max(1/(4*p*p), leastESS), math.Min(e.se, 4*p)
	}
	e.time = budget.Start(cfg.MaxTime)
	return e
}

// opened returns the effort of an answer by an amortized family, an approximation that was trained
// on simulated tables. The answer should take about a second. Standard deviations have errors of 3
// percent, and a search for a proposal takes fewer draws.
func (e effort) opened() effort {
	e.apart, e.pilots = e.apart || !e.pilots, true
	e.ess, e.se, e.sharp = math.Min(e.ess, 1<<9), math.Max(e.se, laplaceSE), false
	e.problem.PerRound = cmp.Or(e.problem.PerRound, 100)
	return e
}

// Methods that integrate effects out without training. ClosedForm integrates exactly. Laplace draws
// effects from a Laplace approximation, which importance weights correct.
const (
	ClosedForm = "closed form"
	Laplace    = "laplace"
)

// integrable reports whether [Regression.Run] needs no training: given the standard deviations,
// correlations and noise of a gaussian regression its effects are normal, and these hyperparameters
// are few enough to integrate over.
func (r *Regression) integrable() bool {
	models := len(r.space.masks)
	if !r.Frame.Response.Conjugate() || models > pilotModels || !r.fewHyperparameters(0) {
		return false
	}
	if models > 1 && r.joint().symbolic.Work()*math.Max(1, float64(models)/exactModels) > exactWork {
		return false
	}
	return r.joint().symbolic.Work() <= dearWork
}

// weighable reports whether the effects of a response that is not gaussian are drawn from a Laplace
// approximation without training. If the density of a row is not log-concave, the population
// effects may have several modes, and a regression with one grouping trains a flow. With the
// Student likelihood the flow finds second modes that the Laplace approximation misses
// (TestSecondModeOfASlope). Of 50 difficult tables with the beta likelihood the Laplace
// approximation fails on five, and the flow answers four of these tables. With a zero-inflated
// likelihood the flow misses a tail (TestZerosOfEitherSourceInGroups), and the Laplace
// approximation is used.
func (r *Regression) weighable() bool {
	kind := r.Frame.Response
	flow := !kind.LogConcave() && kind != likelihood.ZeroInflatedKind
	if kind.Conjugate() || len(r.groups) == 0 || len(r.groups) == 1 && flow || len(r.space.masks) > exactModels {
		return false
	}
	return r.fewHyperparameters(len(r.Frame.CutNames())) && r.joint().symbolic.Work() <= exactWork
}

// fewHyperparameters reports whether every model has at most exactHyperparameters hyperparameters.
// It does not count shares of the steps of monotonic effects, nor further hyperparameters, whose
// number is the argument others.
func (r *Regression) fewHyperparameters(others int) bool {
	return !slices.ContainsFunc(r.space.masks, func(mask []bool) bool {
		return len(r.hyperparameters(mask))-others-r.sticks(mask) > exactHyperparameters
	})
}

// Constants of the draws of hyperparameters if there are several models. Every model gets
// initialDraws draws. Models whose log posterior probability is less than hopelessNats below the
// largest get pilotDraws in all. Models that may matter get effort.first/notableShare in all.
//
// A proposal suits a model if at least the fraction pilotESS of its draws is effective. With a
// proposal that does not suit, a log evidence may be too small by missedNats, in addition to the
// nats that the function mayMatter allows for. If the model may matter with this addition, its
// proposal is refined, at most mostRefined times.
//
// The proposal is refined once more if a model has a notable probability and weights whose Pareto
// shape k̂ is above mendedK, or a large probability and a share of effective draws below
// preciseESS. Otherwise such a model would need many draws later.
//
// On the table verbagg the proposal of the largest model suits few other models, and log evidences
// from it are up to 7 nats too small; missedNats and hiddenEvidence together allow for 10.
const (
	initialDraws = 1 << 4
	pilotDraws   = 1 << 6
	notableShare = 8
	hopelessNats = 50
	missedNats   = 6
	pilotESS     = 0.2
	preciseESS   = 0.5
	mostRefined  = 2 // refinements
)

// pilots makes the first draws of every model, and only a few for models that cannot matter. It
// finds a proposal for the last model, which has all hyperparameters. Other models use the part of
// this proposal for their hyperparameters, whose posteriors are similar. If the proposal does not
// suit a model that may matter, it is refined for that model. Models with monotonic effects have
// their own proposals.
func (f *integral) pilots(ctx gocontext.Context, e effort) error {
	last := f.list[len(f.list)-1]
	if err := f.drawFirst(ctx, last, e, pilotDraws); err != nil {
		return err
	}
	err := f.each(ctx, func(_ int, m *modelIntegral) error {
		switch {
		case m == last:
			return nil
		case f.r.sticks(m.mask) > 0: // the monotonic effect may have another sign and other shares
			return f.drawFirst(ctx, m, e, pilotDraws)
		default:
			f.follow(last, m, e)
			return f.extend(ctx, m, initialDraws, "glance")
		}
	})
	if err != nil {
		return err
	}
	best := math.Inf(-1)
	for _, m := range f.list {
		best = max(best, m.logPrior+m.weights.LogMean)
	}
	err = f.each(ctx, func(_ int, m *modelIntegral) error {
		if !(m.logPrior+m.weights.LogMean > best-hopelessNats) {
			return nil
		}
		return f.extend(ctx, m, pilotDraws-len(m.sample.Points), "pilot")
	})
	if err != nil {
		return err
	}
	for round := range mostRefined {
		f.combine()
		err := f.each(ctx, func(k int, m *modelIntegral) error {
			if m.suited() || !mayMatter(m.evidence(), f.Probability[k]*math.Exp(missedNats)) {
				return nil
			}
			return f.refine(ctx, m, fmt.Sprintf("refine/%d", round))
		})
		if err != nil {
			return err
		}
	}
	err = f.each(ctx, func(_ int, m *modelIntegral) error {
		if !e.apart || m.suited() {
			return nil
		}
		m.restart(nil)
		return f.drawFirst(ctx, m, e, pilotDraws)
	})
	if err != nil {
		return err
	}
	f.combine()
	err = f.each(ctx, func(k int, m *modelIntegral) error {
		if !mayMatter(m.evidence(), f.Probability[k]) {
			return nil
		}
		return f.extend(ctx, m, e.first/notableShare-len(m.sample.Points), "notable")
	})
	if err != nil {
		return err
	}
	f.combine()
	return f.each(ctx, func(k int, m *modelIntegral) error {
		poor := m.weights.K > mendedK || f.Probability[k] > 100*notableModel && m.weights.ESS < preciseESS*float64(len(m.sample.Points))
		if m.proposal == nil || !poor || !(f.Probability[k] > 10*notableModel) {
			return nil
		}
		return f.refine(ctx, m, "mended")
	})
}

// each calls the function do for all models, side by side. Each model has its own random streams,
// and a model alone leaves processors idle between its rounds of draws.
func (f *integral) each(ctx gocontext.Context, do func(k int, m *modelIntegral) error) error {
	return parallel.For(ctx, len(f.list), func(k int) error { return do(k, f.list[k]) })
}

// follow gives the model m the proposal of the model neighbour, restricted to the hyperparameters
// of m, and its starts of searches for modes. The neighbour has all hyperparameters of m.
func (f *integral) follow(neighbour, m *modelIntegral, e effort) {
	m.by = neighbour.by
	if len(m.free) == 0 {
		return
	}
	places := apply.To(m.free, func(j int) int { return slices.Index(neighbour.free, j) })
	m.proposal = neighbour.proposal.Of(places, f.problem(m, e).LogDensity)
}

// suited reports whether the proposal of a pilot suits its model: the k̂ of the weights is
// reliable, and at least the fraction pilotESS of the draws is effective.
func (m *modelIntegral) suited() bool {
	return len(m.free) == 0 || m.weights.K <= psis.Reliable && m.weights.ESS >= pilotESS*float64(len(m.sample.Points))
}

// refine moves the proposal of a model to the draws with large weights, and draws anew.
func (f *integral) refine(ctx gocontext.Context, m *modelIntegral, purpose string) error {
	better, err := m.proposal.Refined(ctx, m.sample, f.random(m, purpose))
	if err != nil || better == nil {
		return err
	}
	n := len(m.sample.Points)
	m.restart(better)
	return f.extend(ctx, m, n, purpose+"/draws")
}
