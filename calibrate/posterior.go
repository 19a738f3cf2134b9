package calibrate

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// regressionProblem is a regression with selection on its working scale, for exact posteriors.
//
//	η = X θ + offset,  θ_j ~ N(priorMean_j, priorSD_j²) where j is in the model,
//	σ known, or log σ ~ N(logSigmaMean, logSigmaSD²).
type regressionProblem struct {
	x      *mat.Dense // [n, D]
	y      []float64
	offset []float64 // or nil

	priorMean, priorSD       []float64 // [D]
	sigma                    float64   // 0: unknown
	logSigmaMean, logSigmaSD float64

	start []float64 // of the search for the mode of a model; nil: the prior means

	always   []int     // coordinates in every model
	groups   [][]int   // coordinates of each predictor
	logPrior []float64 // of a model, by its number of predictors
}

// modelMoments is the exact posterior of one model.
type modelMoments struct {
	logEvidence float64
	// mean and variance of each coordinate of the model, then of σ where it is unknown.
	mean, variance []float64
}

// exactPosterior is the exact posterior over models.
type exactPosterior struct {
	logEvidence float64
	models      []float64 // probability of each that the prior allows, in the order of subsets
	inclusion   []float64 // [G]
	// moments of each coordinate [D], and of σ last: averaged over models, where it is zero in
	// those without it, and given that it is in
	mean, sd, meanIn, sdIn []float64
}

// mostSubsets is the largest number of models that are summed over.
const mostSubsets = 1 << 12

// subsets lists the models that the prior allows, as predictors in ascending order: without the
// last predictor first, then with it. It is nil where there are too many.
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

// solve sums over all models. It fails where one does.
func (p *regressionProblem) solve(of func(coordinates []int) (modelMoments, error)) (*exactPosterior, error) {
	groups, dim := len(p.groups), len(p.priorSD)
	subsets := p.subsets()
	if subsets == nil {
		return nil, errors.New("too many models")
	}
	type one struct {
		coordinates []int
		moments     modelMoments
	}
	all := make([]one, len(subsets))
	logJoint := make([]float64, len(all))
	for m, subset := range slices.Backward(subsets) { // what has too many parameters fails on the largest
		coordinates := append([]int(nil), p.always...)
		for _, g := range subset {
			coordinates = append(coordinates, p.groups[g]...)
		}
		moments, err := of(coordinates)
		if err != nil {
			return nil, err
		}
		all[m] = one{coordinates, moments}
		logJoint[m] = p.logPrior[len(subset)] + moments.logEvidence
	}
	out := &exactPosterior{
		logEvidence: floats.LogSumExp(logJoint), models: make([]float64, len(all)), inclusion: make([]float64, groups),
		mean: make([]float64, dim+1), sd: make([]float64, dim+1), meanIn: make([]float64, dim+1), sdIn: make([]float64, dim+1),
	}
	mass := make([]float64, dim+1)
	for i, m := range all {
		w := math.Exp(logJoint[i] - out.logEvidence)
		out.models[i] = w
		for _, g := range subsets[i] {
			out.inclusion[g] += w
		}
		for k, mean := range m.moments.mean {
			j := dim // of σ
			if k < len(m.coordinates) {
				j = m.coordinates[k]
			}
			mass[j] += w
			out.mean[j] += w * mean
		}
	}
	// variances as sums of squares about the means, which do not cancel
	within, about := make([]float64, dim+1), make([]float64, dim+1)
	for j := range out.mean {
		out.meanIn[j] = out.mean[j] / mass[j]
	}
	for i, m := range all {
		for k, mean := range m.moments.mean {
			j := dim
			if k < len(m.coordinates) {
				j = m.coordinates[k]
			}
			within[j] += out.models[i] * (m.moments.variance[k] + (mean-out.meanIn[j])*(mean-out.meanIn[j]))
			about[j] += out.models[i] * (m.moments.variance[k] + (mean-out.mean[j])*(mean-out.mean[j]))
		}
	}
	for j := range out.mean {
		out.sdIn[j] = math.Sqrt(within[j] / mass[j])
		out.sd[j] = math.Sqrt(about[j] + math.Max(0, 1-mass[j])*out.mean[j]*out.mean[j])
	}
	return out, nil
}

var halfLog2Pi = math.Log(2*math.Pi) / 2
