package regression

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/table"
)

// Linear predictors at the parameters that made a table leave nothing to find; without the effect
// of a column its square is found. The offset and the scaling of the response take part.
func TestCheckModel(t *testing.T) {
	const n = 120
	random := stream.Rand(1, "test")
	x, o, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], o[i] = random.NormFloat64(), 100*random.NormFloat64()
		y[i] = 500 + 3*x[i]*x[i] + o[i] + random.NormFloat64()
	}
	data, err := table.New("test", table.Numbers("x", x), table.Numbers("o", o), table.Numbers("y", y))
	require.NoError(t, err)
	frame, err := NewFrame(data, FrameOptions{Formula: "y ~ x + offset(o)"})
	require.NoError(t, err)
	r, err := New(frame, Options{})
	require.NoError(t, err)
	require.Equal(t, formula.InterceptName, frame.Columns[0].Name)
	for _, square := range []float64{3, 0} {
		s := &posteriorSample{predictors: r.newKept(1500)}
		for draw := range 1500 {
			eta := make([]float64, n)
			for i := range eta {
				eta[i] = (500 + square*x[i]*x[i] - r.yMean) / r.ySD
			}
			s.predictors.add(draw, eta, r.responseOf(1/r.ySD))
		}
		report, err := r.checkModel(t.Context(), s, 1)
		require.NoError(t, err)
		if square > 0 {
			require.Equal(t, modelcheck.Good, report.Verdict, "%v", report)
		} else {
			require.Contains(t, report.String(), "curvature: a square along x")
		}
	}
}
