package hard

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// regressionProblem is a regression with selection of predictors, from which exact posteriors are
// computed. Columns are standardised as in vti varsel:
//
//	η = X θ + offset,  θ_j ~ N(priorMean_j, priorSD_j²) where j is in the model,
//	σ known, or log σ ~ N(logSigmaMean, logSigmaSD²).
type regressionProblem struct {
	x      *mat.Dense // [n, D]
	y      []float64
	offset []float64 // or nil

	priorMean, priorSD       []float64 // [D]
	sigma                    float64   // 0 if it is unknown
	logSigmaMean, logSigmaSD float64

	start []float64  // start of the search for the mode of a model; nil stands for the prior means
	level rowDensity // the prior of the last coordinate; nil for a normal prior

	always   []int     // coordinates in every model
	groups   [][]int   // coordinates of each predictor
	logPrior []float64 // log prior probability of a model with each number of predictors
}

// modelMoments is the exact posterior of one model.
type modelMoments struct {
	logEvidence float64
	// mean and variance of each coordinate of the model, then of σ if it is unknown.
	mean, variance []float64
}

// exactPosterior is the exact posterior over models.
type exactPosterior struct {
	logEvidence float64
	models      []float64 // probability of each model that the prior allows, in the order of subsets
	inclusion   []float64 // probability of each predictor [G]
	// meanIn and sdIn hold the mean and sd of each coordinate given that it is in the model [D],
	// and the mean and sd of σ last.
	meanIn, sdIn []float64
}

// mostSubsets is the largest number of models that solve sums over.
const mostSubsets = 1 << 12

// subsets returns the models that the prior allows, each as a list of predictors in ascending
// order. The models without the last predictor come before the models with it. Within both halves,
// the order follows the predictor before the last in the same way, and so on. The result is nil if
// there are more than mostSubsets models.
func (p *regressionProblem) subsets() [][]int {
	list := [][]int{nil}
	for g := range p.groups {
		for _, subset := range list[:len(list):len(list)] {
			larger := append(slices.Clone(subset), g)
			if size := len(larger); slices.ContainsFunc(p.logPrior[size:], func(l float64) bool { return !math.IsInf(l, -1) }) {
				list = append(list, larger)
			}
		}
		if len(list) > mostSubsets {
			return nil
		}
	}
	return slices.DeleteFunc(list, func(subset []int) bool { return math.IsInf(p.logPrior[len(subset)], -1) })
}

// solve returns the exact posterior by a sum over all models. The argument conditional returns the
// posterior of one model. An error of conditional becomes the error of solve.
func (p *regressionProblem) solve(conditional func(coordinates []int) (modelMoments, error)) (*exactPosterior, error) {
	groups, dim := len(p.groups), len(p.priorSD)
	subsets := p.subsets()
	if subsets == nil {
		return nil, fmt.Errorf("too many models to sum over, want at most %d", mostSubsets)
	}
	type solved struct {
		coordinates []int
		moments     modelMoments
	}
	all := make([]solved, len(subsets))
	logJoint := make([]float64, len(all))
	for m, subset := range slices.Backward(subsets) { // the largest model first, because it fails if there are too many parameters
		coordinates := append([]int(nil), p.always...)
		for _, g := range subset {
			coordinates = append(coordinates, p.groups[g]...)
		}
		moments, err := conditional(coordinates)
		if err != nil {
			return nil, err
		}
		all[m] = solved{coordinates, moments}
		logJoint[m] = p.logPrior[len(subset)] + moments.logEvidence
	}
	out := &exactPosterior{logEvidence: floats.LogSumExp(logJoint), models: make([]float64, len(all)), inclusion: make([]float64, groups)}
	for i, subset := range subsets {
		out.models[i] = math.Exp(logJoint[i] - out.logEvidence)
		for _, g := range subset {
			out.inclusion[g] += out.models[i]
		}
	}
	_, out.meanIn, out.sdIn = averages(logJoint, dim+1, func(m int, add func(at int, mean, variance float64)) {
		for k, mean := range all[m].moments.mean {
			j := dim // the index of σ
			if k < len(all[m].coordinates) {
				j = all[m].coordinates[k]
			}
			add(j, mean, all[m].moments.variance[k])
		}
	})
	for j, variance := range out.sdIn {
		out.sdIn[j] = math.Sqrt(variance)
	}
	return out, nil
}

var halfLog2Pi = math.Log(2*math.Pi) / 2
