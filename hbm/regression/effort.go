package regression

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/likelihood"
)

// Limits of the integration without training: beyond them a flow is trained. Chosen by hand: an
// answer within them takes at most a few minutes on two processors.
const (
	exactModels          = 128
	pilotModels          = 1024
	exactHyperparameters = 10
	exactWork            = 2e7 // multiplications of a factor
	dearWork             = 1e9 // of one model alone, from fewer draws
)

// leastESS is the effective size that every answer aims at. A verdict asks for a little less.
const leastESS = 1.1 * verdict.DoubtfulESS

// effort is the number of draws of the hyperparameters of a model: first, and at most. The number
// grows until the log evidence of all models has the standard error se, and the sample the
// effective size ess.
type effort struct {
	first, most int
	se, ess     float64
	// pilots says that a model takes seconds, or an answer should not: models that do not matter
	// get a pilot only; with apart, from a proposal of their own if that of the largest suits none
	pilots, apart bool
	// sharp says that densities cost little: draws are added until the moments are known well,
	// twice as many each time, and proposals whose weights have a heavy tail are mended
	sharp bool
	// problem configures the search for the proposal of a model: its draws are the draws in a round
	// of the adaptation for each hyperparameter and one more, its noise the error of a log density
	problem integrate.Problem
	// time is the time after which no more draws begin
	time budget.Time
}

// Efforts, chosen by hand.
//
// Exact evidences: Bayes factors to half a percent, a fifth of the precision that a comparison of
// models can use. With pilotEffects effects a model takes seconds, and of more than exactModels
// models most do not matter.
//
// If a factor of more than exactWork multiplications takes a tenth of a second, an answer starts
// from a thousand draws, which grow by half: means to 5 percent of a standard deviation, within a
// minute on two processors for the 4,100 effects of InstEval.
//
// Other responses, each density of which finds modes: evidences to a thirtieth of a nat, standard
// deviations to 2.5 percent.
var (
	exactEffort   = effort{first: 1 << 12, most: 1 << 17, se: 0.005, ess: 1 << 13, sharp: true}
	dearEffort    = effort{first: 3 << 8, most: 3 << 11, se: laplaceSE, ess: leastESS, problem: integrate.Problem{Dear: true, PerRound: 10}}
	laplaceEffort = effort{first: 1 << 10, most: 1 << 16, se: laplaceSE, ess: 1 << 10, pilots: true, problem: integrate.Problem{Noise: closeOuter / 10, PerRound: 25}}
)

const (
	pilotEffects   = 500
	laplaceSE      = 0.03
	laplaceNumbers = 1 << 26 // kept, of all draws of a model
)

// effort returns the effort for the cost of a density.
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
	return e
}

// asked returns the effort for the precision and the time of a run, if it sets them: effective
// draws and odds of models for which a probability of a half has the error Precision.
func (e effort) asked(cfg Run) effort {
	if p := cfg.Precision; p > 0 {
		e.ess, e.se = math.Max(1/(4*p*p), leastESS), math.Min(e.se, 4*p)
	}
	e.time = budget.Start(cfg.MaxTime)
	return e
}

// opened returns the effort of an answer for another table, in about a second: standard deviations
// to 3 percent, and fewer draws to find a proposal.
func (e effort) opened() effort {
	e.apart, e.pilots = !e.pilots, true
	e.ess, e.se, e.sharp = math.Min(e.ess, 1<<9), math.Max(e.se, laplaceSE), false
	e.problem.PerRound = cmp.Or(e.problem.PerRound, 100)
	return e
}

// Methods that integrate effects out without training: exactly, or by draws from a Laplace
// approximation that importance weights correct.
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
// effects may have several modes; with one grouping a flow is trained then. Under Student tails it
// finds second modes that the approximation misses (TestSecondModeOfASlope), and of 50 difficult
// tables under beta it answers four of the five on which the approximation fails. Where zeros may
// be of either source it is the flow that misses a tail (TestZerosOfEitherSourceInGroups).
func (r *Regression) weighable() bool {
	kind := r.Frame.Response
	flow := !kind.LogConcave() && kind != likelihood.ZeroInflatedKind
	if kind.Conjugate() || len(r.groups) == 0 || len(r.groups) == 1 && flow || len(r.space.masks) > exactModels {
		return false
	}
	return r.fewHyperparameters(len(r.Frame.CutNames())) && r.joint().symbolic.Work() <= exactWork
}

// fewHyperparameters reports whether every model has at most exactHyperparameters hyperparameters,
// apart from shares of steps and others more.
func (r *Regression) fewHyperparameters(others int) bool {
	for _, mask := range r.space.masks {
		if len(r.hyperparameters(mask))-others-r.sticks(mask) > exactHyperparameters {
			return false
		}
	}
	return true
}

// Draws of the hyperparameters of each of several models, in three stages: glanceDraws of all
// models; pilotDraws of models less than hopelessNats below the best; and effort.first/notableShare
// of models with a part in the answer and a proposal that suits them. A proposal suits if
// pilotESS of its draws are effective. An evidence by one that does not suit may be too small by
// missedNats more than mayMatter allows for. If a model with a notable part in the answer has
// weights whose tail is heavier than mendedK, or one with a large part has less than preciseESS
// of its draws effective, it would cost many draws later: its proposal is refined once more.
// Chosen by hand: on verbagg the proposal of the largest model, which suits few others, left
// evidences up to 7 nats too small.
const (
	glanceDraws  = 1 << 4
	pilotDraws   = 1 << 6
	notableShare = 8
	hopelessNats = 50
	missedNats   = 6
	pilotESS     = 0.2
	preciseESS   = 0.5
	mostRefined  = 2 // times
)

// pilots makes draws of every model, a few of models that cannot matter. It takes the proposal of
// the largest model. If that does not suit a model that may matter, it refines the proposal for it.
// Models with monotonic effects have their own proposals. The last model has all hyperparameters:
// in other models they are about as far from zero, with similar modes.
func (f *integral) pilots(ctx gocontext.Context, e effort) error {
	last := f.list[len(f.list)-1]
	if err := f.drawFirst(ctx, last, e, pilotDraws); err != nil {
		return err
	}
	best := last.logPrior + last.weights.LogMean
	for _, m := range f.list[:len(f.list)-1] {
		var err error
		if f.r.sticks(m.mask) > 0 { // its effect may have the other sign, and other shares
			err = f.drawFirst(ctx, m, e, pilotDraws)
		} else {
			f.follow(last, m, e)
			err = f.extend(ctx, m, glanceDraws, "glance")
		}
		if err != nil {
			return err
		}
		best = max(best, m.logPrior+m.weights.LogMean)
	}
	for _, m := range f.list {
		if m.logPrior+m.weights.LogMean > best-hopelessNats {
			if err := f.extend(ctx, m, pilotDraws-len(m.sample.Points), "pilot"); err != nil {
				return err
			}
		}
	}
	for round := range mostRefined {
		f.combine()
		for k, m := range f.list {
			if !m.suited() && mayMatter(m.evidence(), f.Probability[k]*math.Exp(missedNats)) {
				if err := f.refine(ctx, m, fmt.Sprintf("refine/%d", round)); err != nil {
					return err
				}
			}
		}
	}
	for _, m := range f.list {
		if e.apart && !m.suited() {
			m.restart(nil)
			if err := f.drawFirst(ctx, m, e, pilotDraws); err != nil {
				return err
			}
		}
	}
	f.combine()
	for k, m := range f.list {
		if mayMatter(m.evidence(), f.Probability[k]) {
			if err := f.extend(ctx, m, e.first/notableShare-len(m.sample.Points), "notable"); err != nil {
				return err
			}
		}
	}
	f.combine()
	for k, m := range f.list {
		poor := m.weights.K > mendedK || f.Probability[k] > 100*notableModel && m.weights.ESS < preciseESS*float64(len(m.sample.Points))
		if m.proposal != nil && poor && f.Probability[k] > 10*notableModel {
			if err := f.refine(ctx, m, "mended"); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow gives m the proposal and the starts of searches for modes of a model with a superset of
// these.
func (f *integral) follow(neighbour, m *modelIntegral, e effort) {
	m.by = neighbour.by
	if len(m.free) == 0 {
		return
	}
	var places []int
	for _, j := range m.free {
		places = append(places, slices.Index(neighbour.free, j))
	}
	m.proposal = neighbour.proposal.Of(places, f.problem(m, e).LogDensity)
}

// suited reports whether enough draws of a pilot are effective.
func (m *modelIntegral) suited() bool {
	return len(m.free) == 0 || m.weights.K <= psis.Reliable && m.weights.ESS >= pilotESS*float64(len(m.sample.Points))
}

// refine moves the proposal of a pilot to the draws with large weights, and draws anew.
func (f *integral) refine(ctx gocontext.Context, m *modelIntegral, purpose string) error {
	better, err := m.proposal.Refined(ctx, m.sample, f.random(m, purpose))
	if err != nil || better == nil {
		return err
	}
	n := len(m.sample.Points)
	m.restart(better)
	return f.extend(ctx, m, n, purpose+"/draws")
}
