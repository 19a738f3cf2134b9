package wide

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/regression"
)

// searchOf returns a search among the predictors of d, with coefficients ~ N(0, 1.5²) and the noise
// scale sigma, which is unknown if sigma is 0.
func searchOf(d *design.Design, sigma float64) Search {
	n, dim := d.X.Dims()
	r := &regression.Regression{
		X: d.X, Kind: d.Likelihood, Responses: regression.Responses{Likelihood: likelihood.New(d.Likelihood, likelihood.Shape{}), Y: d.Y},
		Scale: -1, LogScale: math.Log(sigma), Mean: make([]float64, dim), SD: slices.Repeat([]float64{1.5}, dim),
	}
	r.SD[0] = 10
	if sigma == 0 {
		r.X, r.Scale = regression.WithZeroColumn(d.X), dim
		r.Mean, r.SD = append(r.Mean, math.Log(stat.StdDev(d.Y, nil))), append(r.SD, 2)
	}
	for j := range r.Mean {
		r.Columns = append(r.Columns, mat.Col(make([]float64, n), j, r.X))
	}
	return Search{r, d, space.Prior{Kind: space.BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
}

// evidence returns the log evidence of a Gaussian model in closed form.
func (s Search) evidence(t *testing.T, model ...int) float64 {
	t.Helper()
	f := s.fit()
	posterior, err := s.Posterior(f.active(f.coordinates(model)))
	require.NoError(t, err)
	return posterior.LogEvidence()
}

// hiddenPair is a pair of predictors that matter only together. The first is a cause of the
// response plus a disturbance, and the second measures the disturbance, so that neither alone
// explains the cause. The third, unless it is 0, measures a second disturbance.
type hiddenPair struct {
	first, second, third int
	cause                int     // number of the cause, 0 or 1
	disturbance          float64 // standard deviation of the disturbance
}

// hiddenPairs returns a design of n rows with p predictors, which are pure noise except for the
// given pairs, and a response to two independent causes with the given effects.
func hiddenPairs(kind likelihood.Kind, seed uint64, n, p int, effects [2]float64, sigma float64, pairs ...hiddenPair) *design.Design {
	random := stream.Rand(seed, "pairs")
	x, y := mat.NewDense(n, p+1, nil), make([]float64, n)
	for i := range n {
		cause := [2]float64{random.NormFloat64(), random.NormFloat64()}
		row := x.RawRowView(i)
		row[0] = 1
		for j := range p {
			row[1+j] = random.NormFloat64()
		}
		for _, pair := range pairs {
			disturbance := pair.disturbance * random.NormFloat64()
			row[1+pair.first], row[1+pair.second] = cause[pair.cause]+disturbance, -disturbance+0.02*random.NormFloat64()
			if pair.third > 0 {
				other := pair.disturbance * random.NormFloat64()
				row[1+pair.first], row[1+pair.third] = row[1+pair.first]+other, -other+0.02*random.NormFloat64()
			}
		}
		eta := effects[0]*cause[0] + effects[1]*cause[1]
		y[i] = eta + sigma*random.NormFloat64()
		if kind.Binary() {
			y[i] = math.Round(0.5 + 0.5*math.Copysign(1, eta+random.NormFloat64()/3))
		}
	}
	return design.OfColumns(x, y, kind)
}

// correlated returns a design with p predictors, each correlated with the predictor before it.
// Every third predictor has an effect.
func correlated(n, p int) *design.Design {
	random := stream.Rand(uint64(p), "correlated")
	x, y := mat.NewDense(n, p+1, nil), make([]float64, n)
	for i := range n {
		row := x.RawRowView(i)
		row[0], y[i] = 1, random.NormFloat64()
		for j := range p {
			if row[1+j] = random.NormFloat64(); j > 0 {
				row[1+j] = 0.5*row[j] + math.Sqrt(0.75)*row[1+j]
			}
			if j%3 == 0 {
				y[i] += 0.5 * row[1+j]
			}
		}
	}
	return design.OfColumns(x, y, likelihood.GaussianKind)
}
