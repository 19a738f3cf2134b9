package hbm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
)

// effects is the model of Gaussian random effects (ADAVI eq. 6): D numbers, G groups of N samples.
type effects struct {
	model           *Model
	mean, groupMean *Variable
	x               *Variable
	groups, samples int
	dim             int
	sd              [3]float64 // σ_μ of the mean of all groups, σ_g of group means, σ_x of samples
}

func newEffects(groups, samples, dim int) *effects {
	e := &effects{model: NewModel(), groups: groups, samples: samples, dim: dim, sd: [3]float64{1, 0.2, 0.05}}
	group, sample := e.model.Plate("group", groups), e.model.Plate("sample", samples)
	e.mean = e.model.Latent("mean", Normal(Number(0), Number(e.sd[0])), Event(dim))
	e.groupMean = e.model.Latent("group mean", Normal(e.mean, Number(e.sd[1])), On(group), Event(dim))
	e.x = e.model.Observed("x", Normal(e.groupMean, Number(e.sd[2])), On(group, sample), Event(dim))
	return e
}

func (e *effects) draw(t testing.TB, seed uint64) Values {
	simulator, err := NewSimulator(open(t), e.model)
	require.NoError(t, err)
	drawn, err := simulator.Draw(t.Context(), nil, seed, "effects")
	require.NoError(t, err)
	return Values{e.x: drawn[e.x]}
}

// exactEffects is the posterior and the evidence of effects in closed form. The samples of a group
// enter through their mean x̄_g, which is normal about the mean of all groups with variance σ_g² +
// σ_x²/N.
type exactEffects struct {
	logEvidence  float64
	mean, meanSD []float64 // posterior of the mean of all groups, [D]
	group        []float64 // posterior means of the means of groups, [G, D]
	groupSD      []float64 // posterior standard deviations of the means of groups, [D]
}

func (e *effects) exact(data Values) exactEffects {
	x, n := data[e.x], float64(e.samples)
	within := e.sd[2] * e.sd[2] / n
	between := e.sd[1]*e.sd[1] + within
	out := exactEffects{group: make([]float64, e.groups*e.dim)}
	for d := range e.dim {
		precision, weighted := 1/(e.sd[0]*e.sd[0]), 0.0
		averages := make([]float64, e.groups)
		for g := range e.groups {
			var sum, squares float64
			for i := range e.samples {
				sum += x[(g*e.samples+i)*e.dim+d]
			}
			averages[g] = sum / n
			for i := range e.samples {
				r := x[(g*e.samples+i)*e.dim+d] - averages[g]
				squares += r * r
			}
			// The density of the samples of a group given its mean is the density of x̄_g times a
			// factor that does not depend on the mean.
			out.logEvidence += -0.5*squares/(e.sd[2]*e.sd[2]) - n*(math.Log(e.sd[2])+0.5*math.Log(2*math.Pi)) + 0.5*math.Log(2*math.Pi*within)
			precision += 1 / between
			weighted += averages[g] / between
		}
		mean := weighted / precision
		// p(x̄) = p(x̄ | μ) p(μ) / p(μ | x̄) at μ = its posterior mean.
		out.logEvidence += distuv.Normal{Sigma: e.sd[0]}.LogProb(mean) - distuv.Normal{Sigma: math.Sqrt(1 / precision)}.LogProb(0)
		for _, average := range averages {
			out.logEvidence += distuv.Normal{Mu: mean, Sigma: math.Sqrt(between)}.LogProb(average)
		}
		out.mean, out.meanSD = append(out.mean, mean), append(out.meanSD, math.Sqrt(1/precision))
		shrink := e.sd[1] * e.sd[1] / between
		for g, average := range averages {
			out.group[g*e.dim+d] = shrink*average + (1-shrink)*mean
		}
		out.groupSD = append(out.groupSD, math.Sqrt(shrink*within+(1-shrink)*(1-shrink)/precision))
	}
	return out
}

// The closed form agrees with the joint normal distribution of a small data set and its parameters.
func TestExactEffects(t *testing.T) {
	e := newEffects(2, 3, 1)
	data := e.draw(t, 4)
	// The latent variables and the data (a mean, two group means, six samples) are A z for standard
	// normal z, where A is the variable loading.
	const latents, size = 3, 9
	var loading mat.Dense
	loading.ReuseAs(size, size)
	for i := range size {
		loading.Set(i, 0, e.sd[0])
	}
	for g := range 2 {
		loading.Set(1+g, 1+g, e.sd[1])
		for i := range 3 {
			loading.Set(latents+3*g+i, 1+g, e.sd[1])
			loading.Set(latents+3*g+i, latents+3*g+i, e.sd[2])
		}
	}
	var full mat.Dense
	full.Mul(&loading, loading.T())
	covariance := mat.NewSymDense(size, full.RawMatrix().Data)
	ofData := mat.NewSymDense(size-latents, nil)
	ofData.CopySym(covariance.SliceSym(latents, size))
	normal, ok := distmv.NewNormal(make([]float64, size-latents), ofData, nil)
	require.True(t, ok)
	exact := e.exact(data)
	require.InDelta(t, normal.LogProb(data[e.x]), exact.logEvidence, 1e-9)

	var solved mat.Dense
	require.NoError(t, solved.Solve(ofData, full.Slice(latents, size, 0, latents)))
	var mean, reduction mat.Dense
	mean.Mul(solved.T(), mat.NewDense(size-latents, 1, data[e.x]))
	reduction.Mul(solved.T(), full.Slice(latents, size, 0, latents))
	require.InDelta(t, mean.At(0, 0), exact.mean[0], 1e-9)
	require.InDelta(t, math.Sqrt(full.At(0, 0)-reduction.At(0, 0)), exact.meanSD[0], 1e-9)
	for g := range 2 {
		require.InDelta(t, mean.At(1+g, 0), exact.group[g], 1e-9)
		require.InDelta(t, math.Sqrt(full.At(1+g, 1+g)-reduction.At(1+g, 1+g)), exact.groupSD[0], 1e-9)
	}
}
