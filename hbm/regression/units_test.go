package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
)

// Positive responses in another unit have another intercept, and a density that differs by the
// Jacobian, wherever the other parameters are.
func TestUnitsOfPositiveResponses(t *testing.T) {
	const unit = 1000
	random := rand.New(rand.NewPCG(3, 16))
	texts := [2]string{"y,x,g\n", "y,x,g\n"}
	const rows = 12
	for i := range rows {
		y, x := random.ExpFloat64(), random.NormFloat64()
		for k, scale := range []float64{1, unit} {
			texts[k] += fmt.Sprintf("%.17g,%g,g%d\n", y*scale, x, i%4)
		}
	}
	for _, kind := range []likelihood.Kind{likelihood.GammaKind, likelihood.ExponentialKind, likelihood.WeibullKind} {
		var values [2]float64
		theta := []float64(nil)
		for k, text := range texts {
			r := newRegression(t, frameOf(t, text, FrameOptions{Formula: "y ~ x + (1 | g)", Response: kind}), Options{})
			if theta == nil {
				for range r.Dim() {
					theta = append(theta, random.NormFloat64())
				}
			} else {
				theta[0] += math.Log(unit)
			}
			rule := newInnerRule(r, quadratureNodes)
			values[k] = logJointAt(rule, r.logConstants()+r.LogJacobian(), r.space.masks[0], theta)
		}
		require.InDelta(t, values[0]-rows*math.Log(unit), values[1], 1e-8, "%s", kind)
	}
}
