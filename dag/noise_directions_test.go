package dag

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modelcheck"
)

// TestCurvesAreDoubted simulates b as a curve of a. If the noise is smaller in the middle of the
// range of a, the model check of splines and of networks must be poor and name this reason, which a
// plot of residuals against the fitted value would not show. If the noise has a constant scale, the
// model check must be good.
func TestCurvesAreDoubted(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(8, 1))
	even, middle := make([][]float64, 300), make([][]float64, 300)
	for i := range even {
		a, e := random.NormFloat64(), random.NormFloat64()
		even[i] = []float64{a, math.Sin(2*a) + 0.5*e}
		middle[i] = []float64{a, math.Sin(2*a) + 0.3*e}
		if math.Abs(a) > 0.7 {
			middle[i][1] += 0.4 * e
		}
	}
	check := func(rows [][]float64, mechanism sem.Mechanism) *modelcheck.Report {
		d, err := tables.NewData(dagtest.Table(t, []string{"a", "b"}, rows), tables.DataOptions{})
		require.NoError(t, err)
		options := score.ModelOptions{Mechanism: mechanism}
		if mechanism == sem.MLP {
			options.Hidden = 4
		}
		p, err := score.NewProblem(d, options, tables.Constraints{})
		require.NoError(t, err)
		var result *Result
		if mechanism == sem.MLP {
			result, err = RunParticles(t.Context(), p, ParticlesConfig{Islands: 40, Seed: 1, Dir: t.TempDir()})
		} else {
			result, err = RunExact(t.Context(), p, ExactConfig{})
		}
		require.NoError(t, err)
		return result.ModelCheck
	}
	for _, mechanism := range []sem.Mechanism{sem.Spline, sem.MLP} {
		require.Equal(t, modelcheck.Good, check(even, mechanism).Verdict, "%v", mechanism)
		report := check(middle, mechanism)
		require.Equal(t, modelcheck.Poor, report.Verdict, "%v: %s", mechanism, report)
		require.Contains(t, report.String(), "unequal spread: the size of the residuals of b follows the middle against both ends of a")
		require.Contains(t, report.String(), "--sem bge, which takes no direction from curves")
	}
}
