package varsel

import (
	gocontext "context"
	"errors"
	"sync"

	engine "github.com/transdim/vti/models"
)

// Bounds of the sums over all models that a run makes. Chosen by hand: the second is about ten
// seconds of one core.
const (
	mostSummed   = 1 << mostListedGroups
	summedWork   = 1.5e10 // models times points of the grid over log σ times entries of a mean factor
	fewestPoints = 16     // that the grid has
	// summedModels of the most probable ones may come with a sum: draws of parameters are of these.
	summedModels = 1 << 16
	// unlistedModels is the probability that models which do not come with it have at most,
	// if there are not as many of them.
	unlistedModels = 1e-9
)

// exactAnswer makes an exact answer once.
type exactAnswer struct {
	lock   sync.Mutex
	answer *ExactResult
	err    error
}

// exactAnswer is the sum over all models that Exact makes; nil where a run makes none. It fails
// where ctx is cancelled only.
func (p *Problem) exactAnswer(ctx gocontext.Context, progress func(done, total int)) (*ExactResult, error) {
	x := p.answered
	x.lock.Lock()
	defer x.lock.Unlock()
	if x.answer == nil && x.err == nil {
		x.answer, x.err = p.sumExactly(ctx, progress)
	}
	if err := ctx.Err(); err != nil && x.answer == nil {
		x.err = nil // another may have time
		return nil, err
	}
	return x.answer, nil
}

var errTooMuchWork = errors.New("the models are too many for a sum over them")

func (p *Problem) sumExactly(ctx gocontext.Context, progress func(done, total int)) (*ExactResult, error) {
	problem, err := p.ExactProblem()
	if err != nil {
		return nil, err
	}
	problem.Progress = progress
	switch {
	case p.Slots != nil:
		return nil, errTooMuchWork
	case len(problem.Groups) <= mostListed: // the engine lists the models
		return Exact(ctx, problem)
	case !problem.affordable():
		return nil, errTooMuchWork
	}
	problem.TopModels = summedModels
	if p.AllModels {
		problem.TopModels = 1 << len(problem.Groups)
	}
	return Exact(ctx, problem)
}

// affordable reports whether a run may sum over all models.
func (p *ExactProblem) affordable() bool {
	if len(p.Groups) > MaxExactGroups || 1<<len(p.Groups) > mostSummed || p.Validate() != nil {
		return false
	}
	mean := float64(len(p.Always)) // coordinates of a model
	for _, group := range p.Groups {
		mean += float64(len(group)) / 2
	}
	space := newExactSpace(p)
	work := float64(space.count()) * mean * mean
	if !space.finite() {
		return false
	}
	if p.Sigma == 0 {
		if work*fewestPoints > summedWork {
			return false // the search for the range of the grid would take long too
		}
		work *= float64(len(newLogSigmaGrid(space, p).points()))
	}
	return work <= summedWork
}

// sumModels is Exact for the engine.
func (p *Problem) sumModels(ctx gocontext.Context, progress func(done, total int)) (sum engine.Total, ok bool, err error) {
	answer, err := p.exactAnswer(ctx, progress)
	if err != nil || answer == nil || answer.Covered < wellCovered {
		return sum, false, err
	}
	constant := p.Design.LogJacobian() // of the table's response, which targets leave out
	sum.Count, sum.LogEvidence = answer.Count, answer.LogEvidence-constant
	covered := 0.0
	for _, model := range answer.Models {
		if !p.AllModels && covered >= 1-unlistedModels {
			break
		}
		covered += model.Probability
		sum.Codes, sum.LogEvidences = append(sum.Codes, model.Code), append(sum.LogEvidences, model.LogEvidence-constant)
	}
	return sum, true, nil
}
