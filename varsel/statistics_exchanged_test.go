package varsel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
)

// logExchanged averages, over predictors, the ratio of the evidence of the z-scores with the sign
// of this predictor's z-score changed to the evidence of the z-scores as they are, and returns the
// logarithm of the mean. Evidences are densities of z-scores, so that the expectation of the mean
// is 1 if no sign is exchanged, and the mean is above 20 in at most one of 20 tables. The evidences
// are sums over the models of a forward search.
func logExchanged(p *Problem) float64 {
	s := p.Design.Statistics
	count := len(s.Names)
	sigma := math.Sqrt(1 - math.Min(s.Explained, 0.8))
	z := slices.Clone(s.Along)
	floats.Scale(math.Sqrt(float64(s.Rows))/sigma, z)
	prior := float64(s.Rows) * math.Pow(p.Model.SlabScale/sigma, 2) // variance of E z by the prior of the effects
	logPrior := p.Model.Prior.LogProbs(count)
	// Given the predictors m of a model, z ~ N(0, R + prior R_m R_m'). Without effects, z ~ N(0,
	// R).
	logDensity := func(members []int) float64 {
		k := len(members)
		matrix, along := make([]float64, k*k), make([]float64, k)
		for a, i := range members {
			for b, j := range members[:a+1] {
				matrix[a*k+b] = prior * s.Correlations[i*count+j]
			}
			matrix[a*k+a]++
			along[a] = z[i]
		}
		factor, ok := dense.Factorize(matrix, k, 0)
		if !ok {
			return math.Inf(-1)
		}
		factor.SolveLower(along)
		return logPrior[k] + prior*floats.Dot(along, along)/2 - factor.LogDet()/2
	}
	sum := func() float64 {
		var members []int
		all := []float64{logPrior[0]}
		for len(members) < min(6, count) {
			next, largest := 0, math.Inf(-1)
			for k := range count {
				if slices.Contains(members, k) {
					continue
				}
				value := logDensity(append(slices.Clone(members), k))
				if all = append(all, value); value > largest {
					next, largest = k, value
				}
			}
			members = append(members, next)
		}
		return logsum.Of(all)
	}
	logTotal := sum()
	ratios := make([]float64, count)
	for j := range ratios {
		weights, nearest, variance := s.Given(j, neighbours, nil)
		expected := 0.0
		for k, at := range nearest {
			expected += weights[k] * z[at]
		}
		ratios[j] = -2 * z[j] * expected / (math.Max(variance, 0) + roundedVariance) // ratio of the densities without effects
		z[j] *= -1
		ratios[j] += sum() - logTotal
		z[j] *= -1
	}
	return logsum.Of(ratios) - math.Log(float64(count))
}

// For 60 tables, logExchanged measures how clearly the statistics show an exchanged allele. It may
// exceed log 20 for at most three tables as they are, and must exceed log 20 for at least 40 tables
// after the sign of one z-score is changed.
func TestExchangedAllelesInTheEvidence(t *testing.T) {
	testkit.Slow(t)
	const tables, n, p = 60, 2000, 10
	limit := math.Log(20)
	found, alarms := 0, 0
	for k := range tables {
		r := newRegion(rand.New(rand.NewPCG(3007, uint64(k))), n, p, 0.05)
		z := r.z()
		if logExchanged(r.statistics(t, z, r.correlations(), n)) > limit {
			alarms++
		}
		z[1+rand.New(rand.NewPCG(93007, uint64(k))).IntN(4)] *= -1
		exchanged := logExchanged(r.statistics(t, z, r.correlations(), n))
		if exchanged > limit {
			found++
		}
		t.Logf("%d: %.2f", k, exchanged)
	}
	t.Logf("of %d tables %d found, and %d called exchanged without a fault", tables, found, alarms)
	assert.LessOrEqual(t, alarms, tables/20)
	assert.GreaterOrEqual(t, found, 40)
}
