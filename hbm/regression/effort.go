package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
)

// Limits of what is integrated without training: beyond them a flow is trained. Chosen by hand, so
// that an answer within them takes at most a few minutes on two processors.
const (
	exactModels          = 128
	pilotModels          = 1024
	exactHyperparameters = 10
	exactWork            = 2e7 // multiplications of a factor
	dearWork             = 1e9 // of one model alone, from fewer draws
)

// leastESS is what every answer is to have: a verdict asks for a little less.
const leastESS = 1.1 * verdict.DoubtfulESS

// effort says how many draws of the hyperparameters of a model are made: first, and at most. They
// double until the log evidence of all models has the standard error se, and the sample the
// effective size ess.
type effort struct {
	first, most int
	se, ess     float64
	// pilots says that a model takes seconds, so that of several those that do not matter have only
	// pilots
	pilots bool
	// sharp says that densities cost little: moments are to be known as well as draws can tell
	// them, and proposals whose weights have a tail are mended
	sharp bool
	// problem is how the proposal of a model is searched for, with draws in a round of the
	// adaptation for each hyperparameter and one more, and noise the error of a log density
	problem integrate.Problem
	// time is that after which no more draws are begun
	time budget.Time
}

// Efforts, chosen by hand.
//
// Of exact evidences: Bayes factors to half a percent, a fifth of what a comparison of models can
// use. With pilotEffects effects a model takes seconds, and of more than exactModels models most do
// not matter.
//
// Where a factor of more than exactWork multiplications takes a tenth of a second, answers are what
// a thousand of them can tell, which grow by half: means to 5 percent of a standard deviation,
// within a minute on two processors for the 4,100 effects of InstEval.
//
// Of other responses, each density of which finds modes: evidences to a thirtieth of a nat,
// standard deviations to 2.5 percent.
var (
	exactEffort   = effort{first: 1 << 12, most: 1 << 17, se: 0.005, ess: 1 << 13, sharp: true}
	dearEffort    = effort{first: 3 << 8, most: 3 << 11, se: laplaceSE, ess: leastESS, problem: integrate.Problem{Dear: true, PerRound: 10}}
	laplaceEffort = effort{first: 1 << 10, most: 1 << 16, se: laplaceSE, ess: 1 << 10, pilots: true, problem: integrate.Problem{Noise: closeOuter / 10, PerRound: 40}}
)

const (
	pilotEffects   = 500
	laplaceSE      = 0.03
	laplaceNumbers = 1 << 26 // kept, of all draws of a model
)

// effort is by what a density costs.
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

// asked is effort for the precision and the time that a run asks for, where it does: effective
// draws and odds of models that leave a probability of a half the error Precision.
func (e effort) asked(cfg Run) effort {
	if p := cfg.Precision; p > 0 {
		e.ess, e.se = math.Max(1/(4*p*p), leastESS), math.Min(e.se, 4*p)
	}
	e.time = budget.Start(cfg.MaxTime)
	return e
}

// How effects are integrated out where nothing is trained: exactly, or by draws from a Laplace
// approximation that importance weights correct.
const (
	ClosedForm = "closed form"
	Laplace    = "laplace"
)

// integrable reports whether [Regression.Run] needs no training as effects are normal given
// standard deviations, correlations and noise of a gaussian regression, and there are few enough of
// these to integrate over.
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
// approximation without training. Where the density of a row is not log-concave the effects of the
// population may have several modes; with one grouping a flow is trained then.
func (r *Regression) weighable() bool {
	kind := r.Frame.Response
	if kind.Conjugate() || len(r.groups) == 0 || len(r.groups) == 1 && !kind.LogConcave() || len(r.space.masks) > exactModels {
		return false
	}
	return r.fewHyperparameters(len(r.Frame.CutNames())) && r.joint().symbolic.Work() <= exactWork
}

// fewHyperparameters reports whether no model has too many hyperparameters beside shares of steps
// and so many others.
func (r *Regression) fewHyperparameters(others int) bool {
	for _, mask := range r.space.masks {
		if len(r.hyperparameters(mask))-others-r.sticks(mask) > exactHyperparameters {
			return false
		}
	}
	return true
}

// Draws of the hyperparameters of each of several models before it is known which matter: of all;
// of those that are then less than hopelessNats below the best; and, once those that have a part in
// the answer have a proposal that suits them, of these. A proposal suits if it leaves pilotESS of
// the draws; evidences by one that does not may be too small by missedNats more than mayMatter
// allows for. Weights of a model with a notable part in the answer whose tail is heavier than
// mendedK cost many draws later, so that its proposal is refined once more. Chosen by hand: on
// verbagg the proposal of the largest model, which suits few others, left evidences up to 7 nats
// too small.
const (
	glanceDraws  = 1 << 4
	pilotDraws   = 1 << 6
	notableDraws = 1 << 8
	hopelessNats = 50
	missedNats   = 6
	pilotESS     = 0.2
	mostRefined  = 2 // times
)

// pilots makes draws of every model, of those that cannot matter a few, from the proposal of the
// largest or, where it does not suit a model that may matter, from one that was refined for it.
// Models with monotonic effects have proposals of their own. The last of the models has all
// hyperparameters: those of others are about as far from zero, and their modes not far.
func (f *integral) pilots(ctx gocontext.Context, e effort) error {
	last := f.list[len(f.list)-1]
	if err := f.begin(ctx, last, e, pilotDraws); err != nil {
		return err
	}
	best := last.logPrior + last.weights.LogMean
	for _, m := range f.list[:len(f.list)-1] {
		var err error
		if f.r.sticks(m.mask) > 0 { // its effect may have the other sign, and other shares
			err = f.begin(ctx, m, e, pilotDraws)
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
	f.combine()
	for k, m := range f.list {
		if mayMatter(m.evidence(), f.Probability[k]) {
			if err := f.extend(ctx, m, notableDraws-len(m.sample.Points), "notable"); err != nil {
				return err
			}
		}
	}
	f.combine()
	for k, m := range f.list {
		if m.proposal != nil && m.weights.K > mendedK && f.Probability[k] > 10*notableModel {
			if err := f.refine(ctx, m, "mended"); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow gives a model the proposal, and the searches for modes, of one that has its
// hyperparameters and others.
func (f *integral) follow(of, m *modelIntegral, e effort) {
	m.by = of.by
	if len(m.free) == 0 {
		return
	}
	var places []int
	for _, j := range m.free {
		places = append(places, slices.Index(of.free, j))
	}
	m.proposal = of.proposal.Of(places, f.problem(m, e).LogDensity)
}

// suited reports whether enough of the draws of a pilot are effective.
func (m *modelIntegral) suited() bool {
	return len(m.free) == 0 || m.weights.K <= psis.Reliable && m.weights.ESS >= pilotESS*float64(len(m.sample.Points))
}

// refine takes the proposal of a pilot to where the weights of its draws are, and draws anew.
func (f *integral) refine(ctx gocontext.Context, m *modelIntegral, what string) error {
	better, err := m.proposal.Refined(ctx, m.sample, f.random(m, what))
	if err != nil || better == nil {
		return err
	}
	n := len(m.sample.Points)
	m.restart(better)
	return f.extend(ctx, m, n, what+"/draws")
}
