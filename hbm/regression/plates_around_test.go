package regression

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
)

// Before training, the distribution of what has no plate is the normal approximation at the mode,
// and that of gaussian effects given it is exact, in every model: log p − log q is what the density
// with effects integrated out says, whatever the effects are.
func TestInferenceStartsAtTheDistributionOfEffects(t *testing.T) {
	checked := 0
	for name, formula := range map[string]string{
		"one effect":  "y ~ x + (1 | school)",
		"correlated":  "y ~ x + (1 + x | school)",
		"no mean":     "y ~ 1 + (x | school)",
		"independent": "y ~ 0 + x + (x || school)",
	} {
		for _, choose := range []bool{false, true} {
			if choose && name == "no mean" {
				continue // whose slope has no question
			}
			r := newRegression(t, frameOf(t, schools, FrameOptions{Formula: formula}), Options{Select: choose})
			device := open(t, gpu.CPU)
			require.NoError(t, r.Prepare(t.Context(), device))
			p, err := r.Plates()
			require.NoError(t, err)
			q, err := hbm.Fit(t.Context(), device, p.Model, p.Data, hbm.Config{Family: hbm.Branch, Steps: 1, LearningRate: 1e-30, DType: dtypes.Float64})
			require.NoError(t, err)
			for index, code := range r.codes() {
				own := q
				if choose {
					own = q.In(index)
				}
				draws, err := own.Sample(t.Context(), 4, "draws")
				require.NoError(t, err)
				theta := mat.NewDense(draws.N, r.Dim(), nil)
				codes := make([][]int32, draws.N)
				for at := range draws.N {
					codes[at] = code
					p.coordinatesOf(t, theta.RawRowView(at), func(v *hbm.Variable) []float64 { return draws.Of(v, at) })
				}
				mode, covariance, ok := r.anchors.normal(index)
				require.True(t, ok)
				var used []int
				for j, in := range r.space.masks[index] {
					if in {
						used = append(used, j)
					}
				}
				normal, ok := distmv.NewNormal(chosenOf(mode, used), chosenCovariance(covariance, used), nil)
				require.True(t, ok)
				for at, logJoint := range logJoints(t, r.Target(), codes, theta) {
					if tiny := p.smallest(func(v *hbm.Variable) []float64 { return draws.Of(v, at) }); tiny < 1e-8 {
						continue // rounding of effects is many times that
					}
					checked++
					want := logJoint - normal.LogProb(chosenOf(mat.NewVecDense(r.Dim(), theta.RawRowView(at)), used))
					require.InDelta(t, want, draws.LogJoint[at]-draws.LogQ[at], 1e-6*math.Abs(want), "%s, %s", name, r.FormulaOf(code))
				}
			}
		}
	}
	require.Greater(t, checked, 60)
}

// smallest is the smallest standard deviation of effects.
func (p *PlateModel) smallest(value func(v *hbm.Variable) []float64) float64 {
	least := math.Inf(1)
	for _, g := range p.groups {
		for _, j := range g.sd {
			least = math.Min(least, value(p.globals[j])[0])
		}
	}
	return least
}

// coordinatesOf writes the coordinates of what has no plate.
func (p *PlateModel) coordinatesOf(t *testing.T, theta []float64, value func(v *hbm.Variable) []float64) {
	t.Helper()
	if p.population != nil {
		copy(theta, value(p.population))
	}
	for j, v := range p.globals {
		theta[j] = value(v)[0]
		switch c := p.regression.coordinates[j]; c.kind {
		case noiseCoordinate:
			theta[j] = math.Log(theta[j])
		case sdCoordinate: // the inverse of scaleRatio, which increases
			low, high := -60.0, 60.0
			for range 200 {
				middle := (low + high) / 2
				if logRatio, _ := scaleRatio(middle); logRatio < math.Log(theta[j]/c.unit) {
					low = middle
				} else {
					high = middle
				}
			}
			theta[j] = low
		}
	}
}

func chosenOf(v *mat.VecDense, used []int) (values []float64) {
	for _, j := range used {
		values = append(values, v.AtVec(j))
	}
	return values
}

func chosenCovariance(c *mat.SymDense, used []int) *mat.SymDense {
	chosen := mat.NewSymDense(len(used), nil)
	for a, j := range used {
		for b, k := range used {
			chosen.SetSym(a, b, c.At(j, k))
		}
	}
	return chosen
}
