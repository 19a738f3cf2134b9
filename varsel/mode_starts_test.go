package varsel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
)

// With hardly any noise each set of as many rows as there are coefficients is fitted, and all sets
// are there.
func TestModeStartsFitTheirRows(t *testing.T) {
	for name, sigma := range map[string]float64{"known": 1e-6, "unknown": 0} {
		design, err := NewDesign(correlated(t, likelihood.StudentKind, 6, 2, 1), DesignOptions{Target: "y", Exclude: []string{"o"}, Likelihood: likelihood.StudentKind})
		require.NoError(t, err)
		problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.StudentKind, Sigma: sigma})
		require.NoError(t, err)
		target := problem.Target
		code := []int32{1, 0}
		theta, logJoint := heavyTailed{target}.modeStarts(code, 15)
		require.Len(t, theta, 15, "pairs of six rows")
		a := target.active(code)
		seen := map[[2]int]bool{}
		for k, at := range theta {
			require.Zero(t, at[2], "inactive coordinates")
			require.InDelta(t, target.logJointAt(a, at, make([]float64, 6)), logJoint[k], 1e-12)
			var fitted []int
			for i, y := range design.Y {
				if math.Abs(y-at[0]*design.X.At(i, 0)-at[1]*design.X.At(i, 1)) < 0.02 {
					fitted = append(fitted, i)
				}
			}
			if len(fitted) == 2 {
				seen[[2]int(fitted)] = true
			}
		}
		require.GreaterOrEqual(t, len(seen), 12, "%s: but for pairs of rows that are nearly one", name)
		few, _ := heavyTailed{target}.modeStarts(code, 4)
		require.Len(t, few, 4)
		again, _ := heavyTailed{target}.modeStarts(code, 4)
		require.Equal(t, few, again, "the same sets")
	}
}

// Where the scale of noise is known, normal equations give what singular values give, and where
// they have too few digits they say so.
func TestModeStartsGivenTheScale(t *testing.T) {
	for _, c := range []struct {
		sigma  float64
		solved bool
	}{{1, true}, {0.05, true}, {1e-6, false}} {
		design, err := NewDesign(correlated(t, likelihood.RobustKind, 30, 4, 1), DesignOptions{Target: "y", Exclude: []string{"o"}, Likelihood: likelihood.RobustKind})
		require.NoError(t, err)
		problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.RobustKind, Sigma1: c.sigma, Sigma2: 10 * c.sigma})
		require.NoError(t, err)
		target := problem.Target
		a := target.active([]int32{1, 0, 1, 1})
		for _, rows := range [][]int{{0, 3, 7, 9}, {1, 2, 3, 4}, {20, 11, 29, 5}} {
			got, want := make([]float64, target.space.Dim()), make([]float64, target.space.Dim())
			require.Equal(t, c.solved, target.fitGiven(a, rows, got, newRidge(len(rows), len(a.columns))))
			if c.solved {
				require.True(t, target.fit(a, rows, want))
				require.InDeltaSlice(t, want, got, 1e-7)
			}
		}
	}
}

// Likelihoods that have one mode have no such points.
func TestOnlyHeavyTailsHaveModeStarts(t *testing.T) {
	for _, kind := range likelihood.Kinds() {
		problem := slotlessOrNot(t, kind, ModelOptions{Likelihood: kind})
		code := make([]int32, len(problem.Target.space.Cards()))
		code[0] = 1
		theta, _ := heavyTailed{problem.Target}.modeStarts(code, 8)
		require.Equal(t, problem.heavyTails(), len(theta) > 0, "%v", kind)
	}
}
