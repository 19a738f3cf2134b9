package varsel

import (
	gocontext "context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/run"
)

// ExactProblem is the problem for Exact. It fails for likelihoods without a closed form.
func (p *Problem) ExactProblem() (ExactProblem, error) {
	if p.Model.Likelihood != likelihood.GaussianKind {
		return ExactProblem{}, fmt.Errorf("exact answers exist for the gaussian likelihood only, not for %s: use varsel or rjmcmc", p.Model.Likelihood)
	}
	dim := p.Design.Dim()
	exact := ExactProblem{
		X: mat.DenseCopyOf(p.Design.X), Y: p.Design.Y, Always: p.Design.Always, Groups: p.Design.Groups(),
		PriorMean: p.Target.mean[:dim], PriorSD: p.Target.sd[:dim], Prior: p.Model.Prior,
		heredity: p.Target.heredity,
		Scaling:  &p.Design.Scaling, LogConstant: p.Design.LogJacobian(),
	}
	if p.UnknownScale() {
		exact.LogSigmaMean, exact.LogSigmaSD = p.Target.mean[p.Target.scale], p.Target.sd[p.Target.scale]
	} else {
		exact.Sigma = p.Model.Sigma / p.Design.Scaling.YSD
	}
	return exact, nil
}

// coefficient puts two summaries into one row.
func coefficient(name string, averaged, givenIn MarginalSummary) Coefficient {
	return Coefficient{
		Name: name,
		Mean: Number(averaged.Mean), SD: Number(averaged.SD), Q025: Number(averaged.Q025), Q975: Number(averaged.Q975),
		MeanGivenIn: Number(givenIn.Mean), SDGivenIn: Number(givenIn.SD), Q025GivenIn: Number(givenIn.Q025), Q975GivenIn: Number(givenIn.Q975),
	}
}

// RunExact enumerates every subset of a Gaussian problem. progress, if not nil, is called with the
// number of models done. If dir is not empty the tables are written there.
func RunExact(ctx gocontext.Context, problem *Problem, progress func(done, total int), dir string) (*Result, error) {
	clock := run.NewClock()
	exact, err := problem.ExactProblem()
	if err != nil {
		return nil, err
	}
	exact.Progress = progress
	answer, err := Exact(ctx, exact)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(answer.LogEvidence) || math.IsInf(answer.LogEvidence, 0) {
		return nil, fmt.Errorf("the evidence of the models is not finite: is the noise scale σ = %g meant?", problem.Model.Sigma)
	}
	result := problem.newResult("exact")
	result.RunDir = dir
	result.LogEvidence, result.LogEvidSE = number(answer.LogEvidence), number(0)
	for s, predictor := range problem.Design.Predictors {
		result.Inclusion = append(result.Inclusion, Inclusion{Name: predictor.Name, Certified: Number(answer.Inclusion[s])})
	}
	for _, model := range answer.Models {
		result.Models = append(result.Models, ModelReport{
			Code: modelText(bitMembers(model.Code), len(model.Code)), Size: model.Size, Certified: Number(model.Probability),
			LogEvidence: number(model.LogEvidence), LogEvidenceSE: number(0),
		})
	}
	result.Coefficients = problem.exactCoefficients(answer)
	if result.ModelCheck, err = problem.checkExact(ctx, answer); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, result.writeTables(dir)
}

// exactCoefficients are the rows of an exact answer, that of σ last where it is unknown.
func (p *Problem) exactCoefficients(answer *ExactResult) (rows []Coefficient) {
	for j, c := range answer.Coefficients {
		rows = append(rows, coefficient(p.Design.Names[j], c.Averaged, c.GivenIn))
	}
	if p.UnknownScale() {
		rows = append(rows, coefficient(p.Design.scaleName(), answer.Sigma, answer.Sigma))
	}
	return rows
}
