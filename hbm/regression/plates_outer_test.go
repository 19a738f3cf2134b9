package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
)

// crossedRows are rows of every pair of 5 of a and 3 of b, twice; y is normal, k is 0 or 1.
func crossedRows(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	var text strings.Builder
	text.WriteString("y,k,x,a,b\n")
	var as, bs []float64
	for range 5 {
		as, bs = append(as, random.NormFloat64()), append(bs, 0.8*random.NormFloat64())
	}
	for a := range 5 {
		for b := range 3 {
			for range 2 {
				x := random.NormFloat64()
				eta := 0.3 + 0.5*x + as[a] + bs[b]
				k := 0
				if random.Float64() < 1/(1+math.Exp(-eta)) {
					k = 1
				}
				fmt.Fprintf(&text, "%v,%d,%v,a%d,b%d\n", eta+0.7*random.NormFloat64(), k, x, a, b)
			}
		}
	}
	return text.String()
}

// nestedRows are rows of plots p in sites s in regions r, of 1 to 3 each.
func nestedRows(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 2))
	var text strings.Builder
	text.WriteString("y,x,r,s,p\n")
	for r := range 3 {
		region := random.NormFloat64()
		for s := range 1 + r {
			site := 0.6 * random.NormFloat64()
			for p := range 3 - s {
				plot := 0.4 * random.NormFloat64()
				for range 1 + (r+p)%3 {
					x := random.NormFloat64()
					fmt.Fprintf(&text, "%v,%v,%d,%d,%d\n", 1+0.5*x+region+site+plot+0.3*random.NormFloat64(), x, r, s, p)
				}
			}
		}
	}
	return text.String()
}

// threeCrossed are rows of a third of the combinations of 10 of a, 2 of b and 4 of c.
func threeCrossed(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 3))
	effects := [3][]float64{}
	for k, levels := range []int{10, 2, 4} {
		for range levels {
			effects[k] = append(effects[k], 1.2*random.NormFloat64())
		}
	}
	var text strings.Builder
	text.WriteString("y,a,b,c\n")
	for a, left := range effects[0] {
		for b, middle := range effects[1] {
			for c, right := range effects[2] {
				if random.Float64() < 0.35 {
					fmt.Fprintf(&text, "%v,a%d,b%d,c%d\n", left+middle+right+0.5*random.NormFloat64(), a, b, c)
				}
			}
		}
	}
	return text.String()
}

// logGiven is log p(y, β, h) of a gaussian regression with all groupings summed out of a dense
// covariance of the rows, at coordinates θ of a model.
func logGiven(r *Regression, mask []bool, theta []float64) float64 {
	n := len(r.y)
	covariance, mean := mat.NewSymDense(n, nil), make([]float64, n)
	sum := r.logPriorOfHyperparameters(mask, theta)
	for j := range r.Frame.Columns {
		if mask[j] {
			sum += distuv.Normal{Mu: r.coordinates[j].mean, Sigma: r.coordinates[j].sd}.LogProb(theta[j])
			for i := range mean {
				mean[i] += r.x.At(i, j) * theta[j]
			}
		}
	}
	for i := range n {
		covariance.SetSym(i, i, math.Exp(2*theta[r.noise]))
	}
	for _, g := range r.groups {
		factor := r.factorAt(g, mask, theta)
		for i := range n {
			for k := range i + 1 {
				if g.Index[i] != g.Index[k] {
					continue
				}
				value := 0.0
				for c := range factor {
					left, right := 0.0, 0.0
					for a := range factor {
						left, right = left+g.z.At(i, a)*factor[a][c], right+g.z.At(k, a)*factor[a][c]
					}
					value += left * right
				}
				covariance.SetSym(i, k, covariance.At(i, k)+value)
			}
		}
	}
	normal, ok := distmv.NewNormal(mean, covariance, nil)
	if !ok {
		return math.NaN()
	}
	return sum + normal.LogProb(r.y)
}

// Before training, effects of several groupings have their distribution given what has no plate:
// exactly for nested groupings and for a complete design of two crossed ones, whatever the standard
// deviations are, in every model. Then log p − log q is that of what has no plate alone.
func TestSeveralGroupingsStartAtTheirDistribution(t *testing.T) {
	for name, at := range map[string]struct{ rows, formula string }{
		"crossed": {crossedRows(1), "y ~ x + (1 | a) + (1 | b)"},
		"nested":  {schools, "y ~ x + (1 | school/class)"},
		"deeper":  {nestedRows(1), "y ~ x + (1 | r/s/p)"},
	} {
		for _, choose := range []bool{false, true} {
			r := newRegression(t, frameOf(t, at.rows, FrameOptions{Formula: at.formula}), Options{Select: choose})
			device := open(t, gpu.CPU)
			require.NoError(t, r.prepareFamily(t.Context(), device, 1))
			require.NotNil(t, r.normal, name)
			p, err := r.plates(r.nesting(), r.near(), platesFor{together: true})
			require.NoError(t, err)
			require.Equal(t, name == "crossed", p.outer != nil, name)
			require.Equal(t, name != "crossed", p.nested != nil, name)
			q, err := hbm.Fit(t.Context(), device, p.Model, p.Data, hbm.Config{Family: hbm.Branch, Steps: 1, LearningRate: 1e-30, DType: dtypes.Float64})
			require.NoError(t, err)
			for index, code := range r.codes() {
				own := q
				if choose {
					own = q.In(index)
				}
				draws, err := own.Sample(t.Context(), 4, "draws")
				require.NoError(t, err)
				for at := range draws.N {
					value := func(v *hbm.Variable) []float64 { return draws.Of(v, at) }
					if p.smallest(value) < 1e-4 {
						continue // effects are rounded
					}
					theta := make([]float64, r.Dim())
					p.coordinatesOf(t, theta, value)
					mask := r.space.masks[index]
					want := logGiven(r, mask, theta) - r.logNormalAt(index, theta)
					require.InDelta(t, want, draws.LogJoint[at]-draws.LogQ[at], 1e-4*math.Abs(want), "%s, %s", name, r.FormulaOf(code))
				}
			}
		}
	}
}

// logNormalAt is the density of the coordinates that a model has by its normal approximation.
func (r *Regression) logNormalAt(index int, theta []float64) (sum float64) {
	l := r.normal
	rest := make([]float64, len(l.order))
	for a, j := range l.order {
		rest[a] = theta[j] - l.mode[index][a]
		for b := range a {
			rest[a] -= l.factor[index].At(a, b) * rest[b]
		}
		rest[a] /= l.factor[index].At(a, a)
		if r.space.masks[index][j] {
			sum += distuv.UnitNormal.LogProb(rest[a]) - math.Log(l.factor[index].At(a, a))
		}
	}
	return sum
}

// Answers by families with crossed and nested groupings are those of integrals.
func TestFamiliesOfSeveralGroupings(t *testing.T) {
	for name, at := range map[string]struct {
		rows, formula string
		response      ResponseKind
	}{
		"crossed gaussian": {crossedRows(2), "y ~ x + (1 | a) + (1 | b)", GaussianResponse},
		"crossed slope":    {crossedRows(3), "y ~ x + (1 | a) + (x | b)", GaussianResponse},
		"crossed binary":   {crossedRows(4), "k ~ x + (1 | a) + (1 | b)", LogisticResponse},
		// whose weights looked well while draws missed a tenth of the evidence, with effects
		// independent in the coordinates of the mean of the hyperparameters
		"three crossed": {threeCrossed(5), "y ~ 1 + (1 | a) + (1 | b) + (1 | c)", GaussianResponse},
		"nested counts": {schools, "y ~ x + (1 | school/class)", PoissonResponse},
	} {
		r := newRegression(t, frameOf(t, at.rows, FrameOptions{Formula: at.formula, Response: at.response}), Options{})
		device := open(t, gpu.CPU)
		marginal, err := r.Run(t.Context(), device, Run{})
		require.NoError(t, err)
		own := newRegression(t, frameOf(t, at.rows, FrameOptions{Formula: at.formula, Response: at.response}), Options{})
		result, err := own.RunFamily(t.Context(), device, FamilyRun{Fit: hbm.Config{Family: hbm.PAVIF, Steps: 400, Seed: 1, DType: dtypes.Float64}})
		require.NoError(t, err)
		se := math.Hypot(float64(*result.LogEvidenceSE), float64(*marginal.LogEvidenceSE))
		require.InDelta(t, float64(*marginal.LogEvidence), float64(*result.LogEvidence), 4*se+0.01, name)
		t.Log(name, result.Certificate.Verdict, result.Certificate.KHat, result.Certificate.ESS, result.Certificate.Draws, *result.LogEvidence, *marginal.LogEvidence)
	}
}

// A run of a family whose time is over at once has an answer.
func TestFamilyEndsInTime(t *testing.T) {
	r := newRegression(t, frameOf(t, crossedRows(4), FrameOptions{Formula: "k ~ x + (1 | a) + (1 | b)", Response: LogisticResponse}), Options{Select: true})
	result, err := r.RunFamily(t.Context(), open(t, gpu.CPU), FamilyRun{Fit: hbm.Config{Family: hbm.PAVIF, Steps: 1 << 20, Seed: 1, DType: dtypes.Float64}, MaxTime: time.Millisecond})
	require.NoError(t, err)
	require.Less(t, result.Steps, 10)
	require.NotEmpty(t, result.Certificate.Verdict)
	t.Log(result.Certificate.Verdict, result.Certificate.Reasons)
}
