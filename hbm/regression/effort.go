package regression

import (
	"math"
	"time"

	"github.com/transdim/vti/internal/integrate"
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
	// until, if not zero, is when no more draws are begun
	until time.Time
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
func (e effort) asked(cfg Run, started time.Time) effort {
	if p := cfg.Precision; p > 0 {
		e.ess, e.se = math.Max(1/(4*p*p), leastESS), math.Min(e.se, 4*p)
	}
	if cfg.MaxTime > 0 {
		e.until = started.Add(cfg.MaxTime)
	}
	return e
}

// late reports whether the time is over.
func (e effort) late() bool { return !e.until.IsZero() && !time.Now().Before(e.until) }

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
	return r.fewHyperparameters(len(r.Frame.cutNames())) && r.joint().symbolic.Work() <= exactWork
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
