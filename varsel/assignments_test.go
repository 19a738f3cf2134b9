package varsel

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/exact"
)

// fewRows returns robust problems of five rows, with known and with unknown noise. The last row
// contradicts the other rows, so that posteriors have two modes.
func fewRows(t *testing.T, model ModelOptions) map[string]*Problem {
	t.Helper()
	problems := map[string]*Problem{}
	for name, unknown := range map[string]bool{"known": false, "unknown": true} {
		model.Likelihood, model.UnknownSigma1 = likelihood.RobustKind, unknown
		design, err := NewDesign(correlated(t, likelihood.RobustKind, 5, 2, 1), DesignOptions{Target: "y", Offset: "o", Likelihood: likelihood.RobustKind})
		require.NoError(t, err)
		design.Y[4] += 6
		problems[name], err = NewProblem(design, model)
		require.NoError(t, err)
		require.NotNil(t, problems[name].assigned())
	}
	return problems
}

// The evidence of the smallest model, by the sum over sets of outliers, must equal the integral
// over the intercept and log σ by quadrature.
func TestAssignmentsSumToTheIntegral(t *testing.T) {
	for name, problem := range fewRows(t, ModelOptions{}) {
		target := problem.Target
		code := []int32{0, 0}
		a, eta := target.active(code), make([]float64, len(target.Responses.Y))
		require.Len(t, a.Coordinates, 1)
		const step, reach, points = 0.02, 40.0, 300
		var terms []float64
		for s := range points {
			theta := make([]float64, len(target.Mean))
			width := 0.0
			if target.Scale >= 0 {
				theta[target.Scale] = -9 + 0.06*float64(s)
				width = math.Log(0.06)
			} else if s > 0 {
				break
			}
			for v := -reach; v <= reach; v += step {
				theta[a.Coordinates[0]] = v
				terms = append(terms, width+math.Log(step)+target.LogJointAt(a, theta, eta))
			}
		}
		got, err := problem.forms().LogEvidences(t.Context(), [][]int32{code})
		require.NoError(t, err)
		require.InDelta(t, logsum.Of(terms), got[0], 1e-4, name)
	}
}

// If outliers and inliers have the same noise scale, 0.8, the evidence of each model by the sum
// over sets of outliers must equal the closed form for Gaussian noise of this scale.
func TestAssignmentsWithoutOutliersAreGaussian(t *testing.T) {
	for name, problem := range fewRows(t, ModelOptions{Sigma1: 0.8, Sigma2: 0.8, Outlier: 0.3}) {
		for _, code := range space.All(problem.Target.Space().Cards()) {
			a := problem.Target.active(code)
			m, err := exact.NewModel(problem.Design.Y, a.Columns, a.Mean, a.SD, 0, 0)
			require.NoError(t, err)
			want, err := m.Posterior(problem.Target.Noise())
			require.NoError(t, err)
			got, err := problem.forms().LogEvidences(t.Context(), [][]int32{code})
			require.NoError(t, err)
			require.InDelta(t, want.LogEvidence(), got[0], 1e-9, name)
		}
	}
}

// Draws have the density that the computation graph computes, and the moments of the sum over sets
// of outliers. About thirty numbers are compared to four standard errors, which gives a false alarm
// in one of 500 seeds.
func TestDrawsOverAssignments(t *testing.T) {
	for name, problem := range fewRows(t, ModelOptions{}) {
		target := withForms{problem.Posterior(), problem.forms()}
		require.NotNil(t, target.Exact)
		dim := target.Space().Dim()
		exec := MustNewExec(testkit.Backend(t), func(codes, theta *Node) *Node {
			return target.LogJoint(codes, target.Space().Mask(codes), theta)
		})
		for _, code := range [][]int32{{0, 1}, {1, 1}} {
			evidences, err := target.LogEvidences(t.Context(), [][]int32{code})
			require.NoError(t, err)
			const n = 20000
			theta, logDensity, err := target.SampleParameters(code, n, stream.Rand(1, name))
			require.NoError(t, err)
			const few = 50
			var codes []int32
			for range few {
				codes = append(codes, code...)
			}
			joint := tensors.MustCopyFlatData[float64](exec.MustExec(tensors.FromFlatDataAndDimensions(codes, few, len(code)),
				tensors.FromFlatDataAndDimensions(theta.RawMatrix().Data[:few*dim], few, dim))[0])
			for k, want := range joint {
				require.InDelta(t, want, evidences[0]+logDensity[k], 1e-8*(1+math.Abs(want)), name)
			}
			rows := problem.knownMoments(t.Context(), []vti.ModelEstimate{{Code: code, Certified: 1}})
			for j, row := range rows {
				if problem.Target.Scale == j || !problem.Target.space.MaskRow(code, nil)[j] {
					continue
				}
				values := make([]float64, n)
				for i := range values {
					values[i] = problem.Design.Scaling.ToOriginal(nil, theta.RawRowView(i)[:problem.Design.Dim()])[j]
				}
				mean, sd := stat.MeanStdDev(values, nil)
				require.InDelta(t, mean, float64(row.MeanGivenIn), 4*sd/math.Sqrt(n), "%s %s", name, row.Name)
				fourth := stat.MomentAbout(4, values, mean, nil)
				require.InDelta(t, sd, float64(row.SDGivenIn), 4*math.Sqrt((fourth-sd*sd*sd*sd)/n)/(2*sd), "%s %s", name, row.Name)
			}
		}
	}
}
