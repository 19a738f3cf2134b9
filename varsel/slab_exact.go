package varsel

import (
	gocontext "context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/space"
)

// mostSlabGroups is the largest number of predictors whose models are enumerated under a mixture
// of g-priors: 2^20 models, each with a decomposition and a quadrature of its own, take minutes.
// Chosen by hand.
const mostSlabGroups = 20

// runSlab is RunExact under a mixture of g-priors. Probabilities are sums over all models;
// coefficients are summaries of draws from their exact posteriors.
func (p *Problem) runSlab(ctx gocontext.Context, clock *run.Clock, progress func(done, total int), dir string) (*Result, error) {
	groups := len(p.Design.Predictors)
	if groups > mostSlabGroups {
		return nil, fmt.Errorf("%d predictors make 2^%d models, of which 2^%d can be enumerated with --slab %s: use vti varsel", groups, groups, mostSlabGroups, p.Model.Slab)
	}
	bits := *p
	bits.Slots = nil
	target := bits.forms()
	logPrior := bits.logPriors(1 << groups)
	answer := &ExactResult{Inclusion: make([]float64, groups)}
	var codes [][]int32
	var logPriors []float64
	for index, code := range space.All(p.Target.Space().Cards()) {
		if !math.IsInf(logPrior[index], -1) {
			codes, logPriors = append(codes, slices.Clone(code)), append(logPriors, logPrior[index])
		}
	}
	const chunk = 1 << 10
	var logEvidence []float64
	for first := 0; first < len(codes); first += chunk {
		values, err := target.LogEvidences(ctx, codes[first:min(first+chunk, len(codes))])
		if err != nil {
			return nil, err
		}
		logEvidence = append(logEvidence, values...)
		if progress != nil {
			progress(len(logEvidence), len(codes))
		}
	}
	answer.Count = len(codes)
	logJoint := floats.AddTo(make([]float64, len(codes)), logEvidence, logPriors)
	total := logsum.Of(logJoint)
	answer.LogEvidence = total + p.Design.LogJacobian()
	for i, code := range codes {
		m := ExactModel{Code: code, Size: len(bitMembers(code)), LogEvidence: logEvidence[i] + p.Design.LogJacobian(), Probability: math.Exp(logJoint[i] - total)}
		for _, s := range bitMembers(code) {
			answer.Inclusion[s] += m.Probability
		}
		answer.Models = append(answer.Models, m)
	}
	slices.SortStableFunc(answer.Models, func(a, b ExactModel) int {
		switch {
		case a.Probability > b.Probability:
			return -1
		case a.Probability < b.Probability:
			return 1
		}
		return 0
	})
	answer.Covered = 1
	result := p.newResult("exact")
	p.fillExact(result, answer, dir)
	sample := bits.drawExact(target, answer, resampled)
	if sample == nil {
		return nil, errors.New("the coefficients of a model cannot be drawn")
	}
	result.Coefficients = bits.summarizeDraws(sample, slices.Repeat([]float64{1}, len(sample.Codes)), nil)
	return result, bits.finishExact(ctx, clock, result, answer, sample, dir)
}
