package networks

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/logsum"
)

// pooledWindow is the largest difference in nats from the largest log evidence of a node for which
// a set of parents takes part in pooling (function pool). effectSDs and deviationSDs are candidates
// for the standard deviations, in nats, of the effects and deviations in the model of pool. Results
// are averaged over all pairs of candidates, with weights by their likelihoods.
const pooledWindow = 25

var effectSDs, deviationSDs = [3]float64{1, 3, 10}, [3]float64{1, 2, 4}

// pool replaces the estimated log evidences of the probable families (sets of parents) of each node
// by their posterior given all these estimates. In its model a log evidence is a sum of effects of
// the parents and a deviation of the family. Without pooling, families with the largest errors
// would have most of the probability, because the largest of hundreds of estimates usually has a
// large error.
func pool(scores *score.Scores, nodes int) {
	for j := range nodes {
		best, families := math.Inf(-1), []int(nil)
		for i, f := range scores.Families {
			if f.Node == j {
				best, families = math.Max(best, scores.LogEvidence[i]), append(families, i)
			}
		}
		families = slices.DeleteFunc(families, func(i int) bool { return scores.LogEvidence[i] < best-pooledWindow })
		var fits []additiveFit
		var logLik []float64
		for k := range len(effectSDs) * len(deviationSDs) {
			fit := fitAdditive(scores, families, nodes, best, effectSDs[k%3], deviationSDs[k/3])
			fits, logLik = append(fits, fit), append(logLik, fit.logLik)
		}
		weights := logsum.Shares(logLik)
		for _, i := range families {
			mean, square := 0.0, 0.0 // posterior mean and mean square of the log evidence less best
			for k, fit := range fits {
				value, se := fit.posterior(scores.Families[i], scores.LogEvidence[i]-best, scores.SE[i])
				mean, square = mean+weights[k]*value, square+weights[k]*(value*value+se*se)
			}
			scores.LogEvidence[i], scores.SE[i] = best+mean, math.Sqrt(math.Max(square-mean*mean, 0))
		}
	}
}

// additiveFit is a regression of log evidences, less an origin, on a constant and indicators of
// parents.
type additiveFit struct {
	deviationSD, logLik float64
	effects             []float64 // posterior means of the effects of parents and of the constant [N+1]
	precision           dense.Factor
}

func fitAdditive(scores *score.Scores, families []int, nodes int, origin, effectSD, deviationSD float64) additiveFit {
	order := nodes + 1
	fit := additiveFit{deviationSD: deviationSD, effects: make([]float64, order)}
	gram, pull := make([]float64, order*order), fit.effects
	for k := range nodes {
		gram[k*order+k] = 1 / (effectSD * effectSD)
		fit.logLik -= math.Log(effectSD)
	}
	gram[order*order-1] = 1.0 / (pooledWindow * pooledWindow)
	for _, i := range families {
		variance := dgraph.Square(deviationSD) + dgraph.Square(scores.SE[i])
		value, terms := scores.LogEvidence[i]-origin, append(scores.Families[i].Parents.List(), nodes)
		for _, a := range terms {
			pull[a] += value / variance
			for _, b := range terms {
				gram[a*order+b] += 1 / variance
			}
		}
		fit.logLik -= (value*value/variance + math.Log(variance)) / 2
	}
	fit.precision, _ = dense.Factorize(gram, order, 0) // a factor exists because the prior is proper
	fit.precision.SolveLower(pull)
	fit.logLik += floats.Dot(pull, pull)/2 - fit.precision.LogDet()/2
	fit.precision.SolveUpper(pull)
	return fit
}

// posterior returns the posterior mean of the log evidence of a node with its parents, less the
// origin, and its standard error, given an estimate with its standard error and the regression.
func (a *additiveFit) posterior(f dgraph.Family, estimate, se float64) (logEvidence, posteriorSE float64) {
	row := make([]float64, len(a.effects))
	for _, k := range append(f.Parents.List(), len(row)-1) {
		row[k] = 1
	}
	expected := floats.Dot(row, a.effects)
	a.precision.SolveLower(row)
	weight := dgraph.Square(a.deviationSD) / (dgraph.Square(a.deviationSD) + se*se)
	return expected + weight*(estimate-expected), math.Sqrt(weight*se*se + dgraph.Square(1-weight)*floats.Dot(row, row))
}
