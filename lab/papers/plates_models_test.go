package papers

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/stream"
)

// TestEvidenceOfEffects compares the evidence of a model of random effects with the joint normal
// density of all samples.
func TestEvidenceOfEffects(t *testing.T) {
	const groups, samples = 3, 2
	sd := [3]float64{1, 0.5, 0.25}
	e := newEffects(groups, samples, 1, sd, 4)
	covariance := mat.NewSymDense(groups*samples, nil)
	for i := range groups * samples {
		for j := i; j < groups*samples; j++ {
			v := sd[0] * sd[0]
			if i/samples == j/samples {
				v += sd[1] * sd[1]
			}
			if i == j {
				v += sd[2] * sd[2]
			}
			covariance.SetSym(i, j, v)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, groups*samples), covariance, nil)
	require.True(t, ok)
	for _, x := range e.data {
		require.InDelta(t, normal.LogProb(x), e.logEvidence, 1e-9)
	}
	two := newEffects(groups, samples, 2, sd, 4) // the first dimension is the same as in e
	require.Len(t, two.data, 1)
	require.NotEqual(t, e.logEvidence, two.logEvidence)
}

// TestEvidenceOfRegressions compares the evidence of regressions with the joint normal density of
// all responses y = X (θ + w) + noise, where w are the deviations of the coefficients of groups
// from θ.
func TestEvidenceOfRegressions(t *testing.T) {
	const groups, rows, dim = 2, 3, 2
	g, err := newRegressions(groups, rows, dim)
	require.NoError(t, err)
	var x, y []float64
	for _, values := range g.data {
		if len(values) == groups*rows {
			y = values
		} else {
			x = values
		}
	}
	covariance := mat.NewSymDense(groups*rows, nil)
	for i := range groups * rows {
		for j := i; j < groups*rows; j++ {
			product := 0.0
			for d := range dim {
				product += x[i*dim+d] * x[j*dim+d]
			}
			v := product // covariance that the common coefficients cause
			if i/rows == j/rows {
				v += product
			}
			if i == j {
				v++
			}
			covariance.SetSym(i, j, v)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, groups*rows), covariance, nil)
	require.True(t, ok)
	require.InDelta(t, normal.LogProb(y), g.logEvidence, 1e-9)
}

// TestEvidenceOfOtherModels compares integrals with means of the likelihood over draws from the
// prior. A mean is at most five standard errors off.
func TestEvidenceOfOtherModels(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	const draws, dim = 200_000, 2
	// check compares the evidence of data [n, dim] with the likelihoods of the function of, which
	// takes the data of one dimension.
	check := func(p *plates, err error, of func(data []float64) (logLikelihood float64)) {
		require.NoError(t, err)
		var want, variance float64
		for _, data := range p.data {
			for d := range dim {
				var column []float64
				for i := d; i < len(data); i += dim {
					column = append(column, data[i])
				}
				likelihoods := make([]float64, draws)
				for i := range likelihoods {
					likelihoods[i] = math.Exp(of(column))
				}
				mean, sd := stat.MeanStdDev(likelihoods, nil)
				want += math.Log(mean)
				variance += sd * sd / mean / mean / draws
			}
		}
		require.InDelta(t, want, p.logEvidence, 5*math.Sqrt(variance))
		require.Less(t, variance, 0.01)
	}
	random := stream.Rand(1, "priors")
	p, err := newNonConjugate(t.Context(), device, 3)
	check(p, err, func(data []float64) (sum float64) {
		location := 2 * random.ExpFloat64()
		for _, x := range data {
			sum += distuv.Laplace{Mu: location, Scale: 0.3}.LogProb(x)
		}
		return sum
	})
	const groups, samples = 2, 2
	p, err = newVariances(t.Context(), device, groups, samples, dim, 3)
	check(p, err, func(data []float64) (sum float64) {
		common := math.Exp(random.NormFloat64())
		for g := range groups {
			variance := math.Exp(math.Sqrt(common) * random.NormFloat64())
			for _, x := range data[g*samples : (g+1)*samples] {
				sum += distuv.LogNormal{Mu: 0, Sigma: math.Sqrt(variance)}.LogProb(x)
			}
		}
		return sum
	})
}

// TestNormalMixture compares the densities of one point and of two points of one component with
// sums over the components.
func TestNormalMixture(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	logShares, means, sds := []float64{math.Log(0.3), math.Log(0.7)}, []float64{-1, 0, 2, 1}, []float64{0.5, 2}
	points := []float64{0.3, -0.2, 1.5, 0.4}
	want := func(points []float64) float64 {
		sum := 0.0
		for l, share := range logShares {
			product := math.Exp(share)
			for i, x := range points {
				product *= distuv.Normal{Mu: means[2*l+i%2], Sigma: sds[l]}.Prob(x)
			}
			sum += product
		}
		return math.Log(sum)
	}
	// model returns a model of points whose latent number is independent of them, so that its
	// evidence is their density.
	model := func(points int, event ...int) (*hbm.Model, *hbm.Variable) {
		m := hbm.NewModel()
		m.Latent("number", hbm.Normal(hbm.Number(0), hbm.Number(1)))
		mean := hbm.Of(func(v []*graph.Node) *graph.Node { return graph.Reshape(v[0], 1, 1, 2, 2) }, hbm.Numbers(means...))
		density := normalMixture(hbm.Numbers(logShares...), mean, hbm.Numbers(sds...))
		return m, m.Observed("x", density, hbm.On(m.Plate("point", points)), hbm.Event(event...))
	}
	for _, event := range [][]int{{2}, {2, 2}} {
		data := points[:2*len(event)]
		m, x := model(1, event...)
		p, err := hbm.Fit(t.Context(), device, m, hbm.Values{x: data}, hbm.Config{Family: hbm.MeanField, Steps: 300})
		require.NoError(t, err)
		elbo, _, err := p.ELBO(t.Context(), 100, "elbo")
		require.NoError(t, err)
		require.InDelta(t, want(data), elbo, 1e-3)
	}

	const drawn = 20_000
	m, x := model(drawn, 2)
	simulator, err := hbm.NewSimulator(device, m)
	require.NoError(t, err)
	values, err := simulator.Draw(t.Context(), nil, 1, "points")
	require.NoError(t, err)
	second := 0.0 // share of the second component, by the means of the first coordinate
	for i := range drawn {
		second += (values[x][2*i] + 1) / 3 / drawn
	}
	require.InDelta(t, 0.7, second, 5*2/3/math.Sqrt(drawn)) // standard deviations are at most 2
}
