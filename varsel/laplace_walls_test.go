package varsel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// drawStep returns a step from the mode with its log density; logStep must compute the same density
// from the step alone. The test checks every node of a ridge, with equal and with different scales
// of the two sides of an axis.
func TestStepsBetweenWalls(t *testing.T) {
	problem := ridge(t, "s_weibull_40_3_2_11", DesignOptions{Likelihood: likelihood.WeibullKind, Censored: "cens"}, space.Prior{})
	line, err := newLaplaceLine(problem.Target, problem.Target.active([]int32{1, 1, 1}))
	require.NoError(t, err)
	require.True(t, line.uneven)
	random := stream.Rand(1, "walls")
	step := make([]float64, 4)
	for _, node := range line.Nodes {
		for _, uneven := range []bool{false, true} {
			s := node.Given.splitAlong(uneven)
			for range 100 {
				drawn := s.drawStep(random, step)
				require.InDelta(t, drawn, s.logStep(step), 1e-6, "x %g", node.X)
			}
		}
	}
}
