package exact

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestEnumerateQuantiles checks the quantiles against the distribution function of the mixture over
// all models, by dense algebra. In the first case each model is a separate component of the
// mixture; in the second most models are joined in one component.
func TestEnumerateQuantiles(t *testing.T) {
	var groups [][]int
	for j := 1; j <= 11; j++ {
		groups = append(groups, []int{j})
	}
	for name, test := range map[string]struct {
		p   Problem
		tol float64
	}{
		"all models":       {randomProblem(1, 25, groups[:6], 7), 1e-9},
		"with a remainder": {randomProblem(2, 12, groups, 12), 2e-3},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.p
			p.Noise = Noise{Log: math.Log(1.5)}
			r, err := Enumerate(context.Background(), p)
			require.NoError(t, err)
			_, dim := p.X.Dims()
			// averaged and included hold the distribution functions, by dense algebra, at the
			// reported quantiles.
			averaged, included := make([][2]float64, dim), make([][2]float64, dim)
			mass := make([]float64, dim)
			for _, m := range r.Models {
				active := p.active(m.Code)
				_, mean, cov := naiveModel(&p, active, math.Exp(p.Noise.Log))
				in := make([]bool, dim)
				for a, j := range active {
					in[j] = true
					normal := distuv.Normal{Mu: mean.AtVec(a), Sigma: math.Sqrt(cov.At(a, a))}
					c := r.Coefficients[j]
					mass[j] += m.Probability
					for k, q := range []float64{c.Averaged.Q025, c.Averaged.Q975} {
						averaged[j][k] += m.Probability * normal.CDF(q)
					}
					for k, q := range []float64{c.GivenIn.Q025, c.GivenIn.Q975} {
						included[j][k] += m.Probability * normal.CDF(q)
					}
				}
			}
			zeros := 0
			for j := range dim {
				c := r.Coefficients[j]
				for k, level := range []float64{0.025, 0.975} {
					assert.InDelta(t, level, included[j][k]/mass[j], test.tol, "coordinate %d", j)
					q := []float64{c.Averaged.Q025, c.Averaged.Q975}[k]
					below := averaged[j][k]
					if q == 0 {
						zeros++
						assert.LessOrEqual(t, below, level+test.tol)
						assert.GreaterOrEqual(t, below+1-mass[j], level-test.tol)
						continue
					}
					if q > 0 {
						below += 1 - mass[j]
					}
					assert.InDelta(t, level, below, test.tol, "coordinate %d", j)
				}
			}
			assert.Positive(t, zeros, "some interval ends at the atom")
		})
	}
}

func TestNormalMixtureQuantile(t *testing.T) {
	standard := mixture{components: []component{{1, 0, 1}}}
	assert.InDelta(t, 1.959963984540054, standard.quantile(0.975), 1e-11)
	atom := mixture{atZero: 0.5, components: []component{{0.5, 0, 1}}}
	assert.Zero(t, atom.quantile(0.5))
	assert.Zero(t, atom.quantile(0.7))
	assert.InDelta(t, 1.6448536269514722, atom.quantile(0.975), 1e-11)
	assert.InDelta(t, -1.6448536269514722, atom.quantile(0.025), 1e-11)
	assert.Zero(t, (&mixture{atZero: 1}).quantile(0.3))
}
