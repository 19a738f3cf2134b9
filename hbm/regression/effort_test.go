package regression

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
)

// A run without training has the effective draws that the precision asks for, and begins no more
// when the time is over.
func TestPrecisionAndTimeWithoutTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	f := frameOf(t, schools, FrameOptions{Formula: "y ~ x + (1 | school)"})
	counts := frameOf(t, "y,g\n1,a\n4,a\n0,b\n2,b\n7,c\n5,c\n3,d\n1,d\n", FrameOptions{Formula: "y ~ 1 + (1 | g)", Response: PoissonResponse})
	for name, frame := range map[string]*Frame{"gaussian": f, "counts": counts} {
		t.Run(name, func(t *testing.T) {
			r := newRegression(t, frame, Options{})
			answer := func(precision float64, most time.Duration) *Certificate {
				result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 1}, Precision: precision, MaxTime: most})
				require.NoError(t, err)
				return result.Certificate
			}
			precise, late := answer(0.004, 0), answer(0.004, time.Nanosecond)
			require.GreaterOrEqual(t, float64(precise.ESS), 1/(4*0.004*0.004))
			require.Less(t, late.Draws, precise.Draws)
			require.Less(t, answer(0, 0).Draws, precise.Draws)
		})
	}
}
