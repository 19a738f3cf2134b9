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
	exactHyperparameters = 10
	exactWork            = 2e7 // multiplications of a factor
	dearWork             = 1e9 // of one model alone, from fewer draws
)

// Draws of the hyperparameters of a model: first, and at most; they double until the log evidence
// of all models has the standard error, and the sample the effective size, that is wanted. The
// error is chosen by hand: Bayes factors to half a percent, a fifth of what a comparison of models
// can use.
const (
	exactFirstDraws = 1 << 12
	exactMostDraws  = 1 << 17
	exactSE         = 0.005
	exactESS        = 1 << 13
	// with so many effects a model takes seconds, and those that do not matter only a pilot; with
	// more than exactModels models, of which there may be so many, most do not
	pilotEffects    = 500
	pilotModels     = 1024
	exactPilotDraws = 1 << 8
)

// A proposal whose first weights have a k̂ above mendedK is mended, at most so often.
const (
	mends   = 6
	mendedK = 0.3
)

// leastESS is what every answer is to have: a verdict asks for a little less.
const leastESS = 1.1 * verdict.DoubtfulESS

// effort says how many draws of the hyperparameters of a model are made, and how well its log
// evidence is to be known.
type effort struct {
	first, most int
	// pilot is the number of draws of each of several models before it is known which matter; 0
	// where all are weighed alike
	pilot   int
	se, ess float64
	// sharp reports whether moments are to be known as well as draws can tell them
	sharp    bool
	perRound int // of the adaptation, for each hyperparameter and one more; 0 for the usual
	// until, if not zero, is when no more draws are begun
	until time.Time
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

// effort is by what a density costs: a factor of more than exactWork multiplications may take a
// tenth of a second, and answers are what a thousand of them can tell, which grow by half. Its
// numbers are chosen by hand: means to 5 percent of a standard deviation, within a minute on two
// processors for the 4,100 effects of InstEval.
func (r *Regression) effort() effort {
	if r.joint().symbolic.Work() > exactWork {
		return dearEffort
	}
	e := effort{first: exactFirstDraws, most: exactMostDraws, se: exactSE, ess: exactESS, sharp: true}
	if r.joint().effects >= pilotEffects || len(r.space.masks) > exactModels {
		e.pilot = exactPilotDraws
	}
	return e
}

var dearEffort = effort{first: 3 << 8, most: 3 << 11, se: laplaceSE, ess: leastESS, perRound: 10}

// problem is how the proposal for a model of so many hyperparameters is found.
func (e effort) problem(hyperparameters int) integrate.Problem {
	return integrate.Problem{Dear: e.perRound > 0, PerRound: e.perRound * (hyperparameters + 1)}
}

// How effects are integrated out where nothing is trained: exactly, or by draws from a Laplace
// approximation that importance weights correct.
const (
	ClosedForm = "closed form"
	Laplace    = "laplace"
)

// integrable reports whether [Regression.Run] needs no training: given standard deviations,
// correlations and noise the effects of a gaussian regression are normal, and there are few enough
// of the former to integrate over.
func (r *Regression) integrable() bool {
	models := len(r.space.masks)
	if !r.Frame.Response.Conjugate() || models > pilotModels {
		return false
	}
	if models > 1 && r.joint().symbolic.Work()*math.Max(1, float64(models)/exactModels) > exactWork {
		return false
	}
	for _, mask := range r.space.masks {
		if len(r.hyperparameters(mask))-r.sticks(mask) > exactHyperparameters {
			return false
		}
	}
	return r.joint().symbolic.Work() <= dearWork
}
