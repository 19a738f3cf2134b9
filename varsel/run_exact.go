package varsel

import (
	gocontext "context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	engine "github.com/transdim/vti/models"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel/exact"
)

// RunExact computes the posterior of a Gaussian problem by the sum over all models. progress, if
// not nil, is called with the number of models done. If dir is not empty, tables are written there.
func RunExact(ctx gocontext.Context, problem *Problem, progress func(done, total int), dir string) (*Result, error) {
	if problem.Design.Statistics != nil {
		return nil, errOnStatistics
	}
	clock := run.NewClock()
	asked, err := problem.ExactProblem()
	if err != nil {
		return nil, err
	}
	asked.Progress, asked.TopModels = progress, drawnModels
	if problem.AllModels {
		if len(asked.Groups) > mostListedGroups {
			return nil, fmt.Errorf("got %d models of %d predictors, too many to list: want at most %d predictors", 1<<len(asked.Groups), len(asked.Groups), mostListedGroups)
		}
		asked.TopModels = 1 << len(asked.Groups)
	}
	answer, err := exact.Enumerate(ctx, asked)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(answer.LogEvidence) || math.IsInf(answer.LogEvidence, 0) {
		return nil, fmt.Errorf("the evidence of the models is not finite: check the noise scale, σ = %g", problem.Model.Sigma)
	}
	result := problem.newResult("exact")
	problem.fillExact(result, answer, dir)
	result.Coefficients = problem.coefficients(answer.Coefficients)
	bits := *problem
	bits.Slots = nil // in an exact answer models are written as bits
	sample := bits.drawExact(bits.forms(), answer, resampled)
	if answer.Coefficients == nil {
		if sample == nil {
			return nil, errors.New("the coefficients of a model cannot be drawn")
		}
		result.Coefficients = bits.summarizeDraws(sample, slices.Repeat([]float64{1}, len(sample.Codes)), nil, nil, nil)
	}
	return result, bits.finishExact(ctx, clock, result, answer, sample, dir)
}

func (p *Problem) fillExact(result *Result, answer *exact.Answer, dir string) {
	result.RunDir = dir
	result.LogEvidence, result.LogEvidSE = new(Number(answer.LogEvidence)), new(Number(0))
	for s, predictor := range p.Design.Predictors {
		result.Inclusion = append(result.Inclusion, Inclusion{Name: predictor.Name, Certified: Number(answer.Inclusion[s])})
	}
	result.CredibleSets = p.credibleSets(len(answer.Models), func(k int) ([]int, float64) {
		return bitMembers(answer.Models[k].Code), answer.Models[k].Probability
	})
	for _, model := range answer.Models[:min(len(answer.Models), p.shownModels(1<<len(p.Design.Predictors)))] {
		result.Models = append(result.Models, ModelReport{
			Code: modelText(bitMembers(model.Code), len(model.Code)), Size: model.Size, Certified: Number(model.Probability),
			LogEvidence: new(Number(model.LogEvidence)), LogEvidenceSE: new(Number(0)),
		})
	}
}

// finishExact checks the model with the draws in sample, unless sample is nil, and writes all
// files.
func (p *Problem) finishExact(ctx gocontext.Context, clock *run.Clock, result *Result, answer *exact.Answer, sample *Draws, dir string) (err error) {
	if sample != nil {
		if result.ModelCheck, err = p.checkModel(ctx, sample, 0); err != nil {
			return err
		}
		header := draws.Header{Kind: draws.IID}
		if answer.Covered < wellCovered {
			header.Covered = answer.Covered
		}
		if err := p.writeDraws(dir, header, sample); err != nil {
			return err
		}
	}
	result.Seconds = clock.Seconds()
	return p.finish(result, dir)
}

// drawnModels is the number of models, the most probable ones, from which draws of an exact answer
// are made. It is the number of all models of 14 predictors. With more predictors, the remaining
// models hardly matter.
const drawnModels = 1 << 14

// mostListedGroups is the largest number of predictors for which all models, about a million, may
// be listed. Sums over them take six processor seconds (docs/benchmarks/speed.md), and a list of
// them takes 200 megabytes of JSON, 200 bytes a model.
const mostListedGroups = 20

// drawExact draws n times a model, among the models that an exact answer lists, and its parameters
// by their closed form. It returns nil if the parameters of a model cannot be drawn.
func (p *Problem) drawExact(target engine.Exact, answer *exact.Answer, n int) *Draws {
	random := stream.Rand(0, "exact/draws")
	probabilities, times := make([]float64, len(answer.Models)), make([]int, len(answer.Models))
	for k, model := range answer.Models {
		probabilities[k] = model.Probability
	}
	table := pick.NewTable(probabilities)
	for range n {
		times[table.Index(random.Float64())]++
	}
	var codes [][]int32
	var logQ, logP []float64
	dim := len(p.Target.Mean)
	theta := mat.NewDense(n, dim, nil)
	for at, count := range times {
		if count == 0 {
			continue
		}
		model := answer.Models[at]
		parameters, logDensity, err := target.SampleParameters(model.Code, count, random)
		if err != nil {
			return nil
		}
		theta.Slice(len(codes), len(codes)+count, 0, dim).(*mat.Dense).Copy(parameters)
		codes = append(codes, slices.Repeat([][]int32{model.Code}, count)...)
		for _, l := range logDensity {
			logQ = append(logQ, math.Log(model.Probability)+l)
			logP = append(logP, math.Log(model.Probability)+l+answer.LogEvidence-p.Design.LogJacobian())
		}
	}
	drawn := engine.WeightedSample{Codes: codes, Theta: theta, LogP: logP, LogQ: logQ, Weight: slices.Repeat([]float64{1 / float64(n)}, n)}
	drawn = drawn.Resample(n, 0) // in random order, so that every part of the file is a sample too
	sample := p.toOriginal(drawn.Codes, drawn.Theta)
	sample.LogP, sample.LogQ = drawn.LogP, drawn.LogQ
	return sample
}
