//go:build quality

package hbm

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/table"
)

func column(t testing.TB, from *table.Table, name string) []float64 {
	c, err := from.Lookup(name)
	require.NoError(t, err)
	return c.Values
}

// TestQualityOfSchools compares families with the reference draws of eight schools (posteriordb): μ
// ~ N(0, 5²), τ ~ half-Cauchy(5), with errors in standard deviations of the reference. Certified
// draws have importance weights:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfSchools -v ./hbm
func TestQualityOfSchools(t *testing.T) {
	schools, err := table.ReadFile(filepath.Join("..", "testdata", "eight_schools.csv"))
	require.NoError(t, err)
	reference, err := table.ReadFile(filepath.Join("..", "testdata", "eight_schools_reference.csv"))
	require.NoError(t, err)
	names, err := reference.Lookup("parameter")
	require.NoError(t, err)
	wantMean, wantSD := map[string]float64{}, map[string]float64{}
	for row := range reference.Rows() {
		wantMean[names.Text(row)], wantSD[names.Text(row)] = column(t, reference, "mean")[row], column(t, reference, "sd")[row]
	}

	m := NewModel()
	school := m.Plate("school", 8)
	mu := m.Latent("mu", Normal(Number(0), Number(5)))
	tau := m.Latent("tau", HalfStudentT(Number(1), Number(5)))
	theta := m.Latent("theta", Normal(mu, tau), On(school))
	sigma := m.Constant("sigma", On(school))
	y := m.Observed("y", Normal(theta, sigma), On(school))
	data := Values{y: column(t, schools, "y"), sigma: column(t, schools, "sigma")}

	t.Log("| family | steps | CPU seconds | ELBO | log evidence | k̂ | verdict | drawn: largest error of a mean | of an sd | certified: of a mean | of an sd |")
	for _, family := range []Family{PAVIF, PAVIE, Branch, Joint, MeanField} {
		if !chosen(*qualityFamily, family.String()) {
			continue
		}
		p := measure(t, m, data, 2000, Config{Family: family})
		c, err := p.Certify(t.Context(), CertifyConfig{Draws: 20000})
		require.NoError(t, err)
		plain, err := p.Sample(t.Context(), 20000, "schools")
		require.NoError(t, err)
		errors := func(draws *Draws, weight func(i int) float64) (mean, sd float64) {
			addErrors := func(name string, value func(i int) float64) {
				var first, second float64
				for i := range draws.N {
					first += weight(i) * value(i)
				}
				for i := range draws.N {
					second += weight(i) * (value(i) - first) * (value(i) - first)
				}
				mean, sd = math.Max(mean, math.Abs(first-wantMean[name])/wantSD[name]), math.Max(sd, math.Abs(math.Sqrt(second)/wantSD[name]-1))
			}
			addErrors("mu", func(i int) float64 { return draws.Of(mu, i)[0] })
			addErrors("tau", func(i int) float64 { return draws.Of(tau, i)[0] })
			for k := range 8 {
				addErrors(fmt.Sprintf("theta%d", k+1), func(i int) float64 { return draws.Of(theta, i)[k] })
			}
			return mean, sd
		}
		drawnMean, drawnSD := errors(plain, func(int) float64 { return 1 / float64(plain.N) })
		certifiedMean, certifiedSD := errors(c.Sample, func(i int) float64 { return c.Weight[i] })
		t.Logf("| %v | %d | %.0f | %.3f ± %.3f | %.3f ± %.3f | %.2f | %v | %.3f | %.3f | %.3f | %.3f |", family, p.Steps(), p.cpu, p.elbo, p.se, c.LogEvidence, c.LogEvidenceSE, c.KHat, c.Verdict,
			drawnMean, drawnSD, certifiedMean, certifiedSD)
	}
}

var qualitySets = flag.Int("quality.sets", 20, "data sets of each model")

// paper is a model of a paper, with its observed variable.
type paper struct {
	model *Model
	x     *Variable
}

// nonConjugate returns eq. 7 of ADAVI: ten 2-D Laplace samples about a location with a gamma prior.
func nonConjugate() paper {
	m := NewModel()
	sample := m.Plate("sample", 10)
	a := m.Latent("a", Gamma(Number(1), Number(0.5)), Event(2))
	return paper{m, m.Observed("b", Laplace(a, Number(0.3)), On(sample), Event(2))}
}

func (p paper) draw(t testing.TB, seed uint64) Values {
	simulator, err := NewSimulator(open(t), p.model)
	require.NoError(t, err)
	drawn, err := simulator.Draw(t.Context(), nil, seed, "data")
	require.NoError(t, err)
	return Values{p.x: drawn[p.x]}
}

// TestQualityOfNonConjugate compares families with the exact log evidence of eq. 7 of ADAVI, a
// product of integrals over one number each, and with the mean field of that paper: gamma
// distributions with one common rate:
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

// laplaceLikelihoods returns, for each of two numbers, the log density of its data and its prior.
func laplaceLikelihoods(data []float64) [2]func(a float64) float64 {
	logDensity := func(d int) func(a float64) float64 {
		return func(a float64) float64 {
			total := distuv.Gamma{Alpha: 1, Beta: 0.5}.LogProb(a)
			for i := d; i < len(data); i += 2 {
				total += distuv.Laplace{Mu: a, Scale: 0.3}.LogProb(data[i])
			}
			return total
		}
	}
	return [2]func(a float64) float64{logDensity(0), logDensity(1)}
}

// The integrals are sums over a grid: the integrands have a scale of 0.1.
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

// gammaBound returns the largest ELBO of independent gamma distributions with a common rate.
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
