//go:build quality

package hbm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestQualityOfNonConjugate compares families with the exact log evidence of eq. 7 of ADAVI, a
// product of integrals over one number each, and with the mean field of that paper: a gamma
// distribution of each number, with a rate for both:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfNonConjugate -v ./hbm
func TestQualityOfNonConjugate(t *testing.T) {
	p := nonConjugate()
	var evidence, mean []float64
	families := []Family{PAVIF, PAVIE, Branch, MeanField}
	elbos := make([][]float64, len(families))
	for set := range *qualitySets {
		data := p.draw(t, uint64(set))
		likelihood := laplaceLikelihoods(data[p.x])
		evidence = append(evidence, logIntegral(likelihood[0])+logIntegral(likelihood[1]))
		mean = append(mean, gammaBound(t, likelihood))
		for i, family := range families {
			elbos[i] = append(elbos[i], measure(t, p.model, data, 1000, Config{Family: family, Seed: uint64(set), Steps: 1000}).elbo)
		}
	}
	t.Log("| | mean over data sets | below the evidence |")
	row := func(name string, values []float64) {
		t.Logf("| %s | %.3f | %.3f |", name, stat.Mean(values, nil), stat.Mean(evidence, nil)-stat.Mean(values, nil))
	}
	row("exact log evidence", evidence)
	for i, family := range families {
		row(family.String(), elbos[i])
	}
	row("gamma distributions, one rate", mean)
}

// laplaceLikelihoods are the log densities of the data and of the prior of each number.
func laplaceLikelihoods(data []float64) [2]func(a float64) float64 {
	of := func(d int) func(a float64) float64 {
		return func(a float64) float64 {
			total := distuv.Gamma{Alpha: 1, Beta: 0.5}.LogProb(a)
			for i := d; i < len(data); i += 2 {
				total += distuv.Laplace{Mu: a, Scale: 0.3}.LogProb(data[i])
			}
			return total
		}
	}
	return [2]func(a float64) float64{of(0), of(1)}
}

// The integrals are sums over a grid: what varies has a scale of 0.1.
const (
	gridStep = 2e-3
	gridEnd  = 60.
)

func logIntegral(logDensity func(a float64) float64) float64 {
	largest, sum := math.Inf(-1), 0.0
	for a := gridStep / 2; a < gridEnd; a += gridStep {
		largest = math.Max(largest, logDensity(a))
	}
	for a := gridStep / 2; a < gridEnd; a += gridStep {
		sum += math.Exp(logDensity(a)-largest) * gridStep
	}
	return largest + math.Log(sum)
}

// gammaBound is the largest ELBO of independent gamma distributions with a common rate.
func gammaBound(t testing.TB, logDensity [2]func(a float64) float64) float64 {
	var table [2][]float64
	for d := range table {
		for a := gridStep / 2; a < gridEnd; a += gridStep {
			table[d] = append(table[d], logDensity[d](a))
		}
	}
	bound := func(x []float64) float64 {
		rate, total := math.Exp(x[2]), 0.0
		for d := range table {
			shape := math.Exp(x[d])
			constant, _ := math.Lgamma(shape)
			constant = shape*x[2] - constant
			for i, value := range table[d] {
				a := (float64(i) + 0.5) * gridStep
				if q := math.Exp((shape-1)*math.Log(a) - rate*a + constant); q > 0 {
					total += q * value * gridStep
				}
			}
			log, _ := math.Lgamma(shape)
			total += shape - x[2] + log + (1-shape)*mathext.Digamma(shape) // entropy
		}
		return total
	}
	best := math.Inf(-1)
	for _, start := range []float64{0, 2, 4} {
		found, err := optimize.Minimize(optimize.Problem{Func: func(x []float64) float64 { return -bound(x) }}, []float64{start, start, start},
			&optimize.Settings{Converger: &optimize.FunctionConverge{Absolute: 1e-6, Iterations: 100}, FuncEvaluations: 300}, &optimize.NelderMead{})
		require.NoError(t, err)
		best = math.Max(best, -found.F)
	}
	return best
}
