package varsel

import (
	gocontext "context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	engine "github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/exact"
)

// ExactProblem returns the problem for [exact.Enumerate], or an error if it has no closed form.
func (p *Problem) ExactProblem() (exact.Problem, error) {
	if !p.Model.Likelihood.Conjugate() {
		return exact.Problem{}, fmt.Errorf("exact answers exist for the gaussian and lognormal likelihoods only, not for %s: use varsel or rjmcmc", p.Model.Likelihood)
	}
	t := p.Target
	dim := p.Design.Dim()
	problem := exact.Problem{
		X: mat.DenseCopyOf(p.Design.X), Y: p.Design.Y, Always: p.Design.Always, Groups: p.Design.Groups(),
		PriorMean: t.Mean[:dim], PriorSD: t.SD[:dim], Slab: p.Model.Slab, Prior: p.Model.Prior,
		Noise: t.Noise(), Scaling: &p.Design.Scaling, LogConstant: p.Design.LogJacobian(),
	}
	problem.More, problem.Residual = p.Design.Residual()
	if t.heredity != nil {
		problem.Allowed, problem.LogMass = t.heredity.allows, t.heredity.logMass
	}
	return problem, nil
}

// These bound the sums over all models that a run computes. mostSummed is the largest number of
// models. Sums within summedWork take up to half a minute of one core.
const (
	mostSummed = 1 << mostListedGroups
	summedWork = 1.5e9 // number of models times the cube of their mean number of coordinates
	// summedModels is the largest number of models, the most probable ones, that a sum lists. Draws
	// of parameters come from the listed models.
	summedModels = 1 << 16
	// unlistedModels is the largest total probability of models that the list of sumModels may
	// lack.
	unlistedModels = 1e-9
)

// exactAnswer holds the sum over all models, which is computed once.
type exactAnswer struct {
	lock   sync.Mutex
	answer *exact.Answer
	err    error
	// evidences holds the log evidences of all models, indexed by the bits of their codes. It is
	// nil until they are asked for.
	evidences []float64
}

// summed reports whether a run computes evidences by a sum over all models.
func (p *Problem) summed() bool {
	_, ok := space.Count(p.Target.space)
	return ok && p.Slots == nil && p.Model.Likelihood.Conjugate() && p.Model.Slab == (exact.Slab{}) && len(p.Design.Predictors) > exact.WalkedGroups
}

// sumAll returns the sum over all models, or nil if a run computes none. It returns an error only
// if ctx is cancelled.
func (p *Problem) sumAll(ctx gocontext.Context, progress func(done, total int)) (*exact.Answer, error) {
	x := p.answered
	x.lock.Lock()
	defer x.lock.Unlock()
	if x.answer == nil && x.err == nil {
		var problem exact.Problem
		if problem, x.err = p.ExactProblem(); x.err != nil || !affordable(&problem) {
			return nil, nil
		}
		problem.Progress, problem.TopModels = progress, summedModels
		if p.AllModels {
			problem.TopModels = 1 << len(problem.Groups)
		}
		x.answer, x.err = exact.Enumerate(ctx, problem)
	}
	if err := ctx.Err(); err != nil && x.answer == nil {
		x.err = nil // so that a later call can compute the sum
		return nil, err
	}
	return x.answer, nil
}

// affordable reports whether a run may sum over all models.
func affordable(p *exact.Problem) bool {
	count := math.Exp2(float64(len(p.Groups)))
	mean := float64(len(p.Always)) // mean number of coordinates of a model
	for _, group := range p.Groups {
		mean += float64(len(group)) / 2
	}
	return count <= mostSummed && count*mean*mean*mean <= summedWork && p.Validate() == nil
}

// allEvidences returns the log evidences of all models that the prior allows, indexed by the bits
// of their codes. It returns nil if a run computes no sum over all models, or if the sum does not
// list all models.
func (p *Problem) allEvidences(ctx gocontext.Context) ([]float64, error) {
	answer, err := p.sumAll(ctx, nil)
	if err != nil || answer == nil || len(answer.Models) < answer.Count {
		return nil, err
	}
	p.answered.lock.Lock()
	defer p.answered.lock.Unlock()
	if p.answered.evidences == nil {
		p.answered.evidences = make([]float64, 1<<len(p.Design.Predictors))
		for _, model := range answer.Models {
			p.answered.evidences[maskOf(model.Code)] = model.LogEvidence - p.Design.LogJacobian()
		}
	}
	return p.answered.evidences, nil
}

// maskOf returns a code of zeros and ones as a number, with the first entry as its lowest bit.
func maskOf(code []int32) (bits int) {
	for g, in := range code {
		bits |= int(in) << g
	}
	return bits
}

// sumModels returns the sum over all models for the engine. ok is false if a run computes none.
func (p *Problem) sumModels(ctx gocontext.Context, progress func(done, total int)) (sum engine.Total, ok bool, err error) {
	answer, err := p.sumAll(ctx, progress)
	if err != nil || answer == nil || answer.Covered < wellCovered {
		return sum, false, err
	}
	constant := p.Design.LogJacobian() // targets leave out the units of the response
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

// knownMoments returns the posteriors of the coefficients on the scale of the table, followed by σ
// if it is unknown, averaged over all models with a positive probability. It returns nil if there
// is no closed form, or if the closed form of a model fails.
func (p *Problem) knownMoments(ctx gocontext.Context, models []engine.Estimate) []Coefficient {
	if p.Model.Slab != (exact.Slab{}) || !p.Model.Likelihood.Conjugate() && p.assigned() == nil {
		return nil
	}
	t := p.Target
	all, err := exact.Coefficients(ctx, len(models), p.Design.Dim(), p.UnknownScale(), &p.Design.Scaling, func(k int) ([]exact.Weighted, error) {
		if !(models[k].Certified > 0) {
			return nil, nil
		}
		a := t.active(t.code(p.members(models[k].Code)))
		if p.Model.Likelihood.Conjugate() {
			posterior, err := t.Posterior(a)
			return []exact.Weighted{{Posterior: posterior, Coordinates: a.Coordinates, Probability: models[k].Certified}}, err
		}
		sum, err := p.assigned().Sum(a)
		if err != nil {
			return nil, err
		}
		return sum.Posteriors(models[k].Certified)
	})
	if err != nil {
		return nil
	}
	return p.coefficients(all)
}

// coefficients returns the coefficients of a result from exact posteriors, which end with σ if it
// is unknown.
func (p *Problem) coefficients(all []exact.Coefficient) (rows []Coefficient) {
	for j, c := range all {
		name := p.Design.ScaleName()
		if j < p.Design.Dim() {
			name = p.Design.Names[j]
		}
		rows = append(rows, Coefficient{
			Name: name,
			Mean: Number(c.Averaged.Mean), SD: Number(c.Averaged.SD), Q025: Number(c.Averaged.Q025), Q975: Number(c.Averaged.Q975),
			MeanGivenIn: Number(c.GivenIn.Mean), SDGivenIn: Number(c.GivenIn.SD), Q025GivenIn: Number(c.GivenIn.Q025), Q975GivenIn: Number(c.GivenIn.Q975),
		})
	}
	return rows
}
