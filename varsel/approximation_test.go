package varsel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

// smallProblem returns a problem with few rows, strong effects and a response that suits kind.
// Counts are near a million.
func smallProblem(t *testing.T, kind likelihood.Kind, rows int, model ModelOptions) *Problem {
	t.Helper()
	source := correlatedColumns(rows, 3)
	random := stream.Rand(2, "responses")
	l := likelihood.New(kind, likelihood.Shape{})
	y := make([]float64, rows)
	for i, signal := range source[0] {
		eta := signal
		if kind == likelihood.PoissonKind {
			eta = 13.8 + 0.3*signal
		}
		y[i] = l.Draw(eta, 0.05, random)
	}
	columns := []*table.Column{table.Numbers("y", y)}
	for j, column := range source[1:] {
		columns = append(columns, table.Numbers(fmt.Sprintf("x%d", j+1), column))
	}
	data, err := table.New(kind.String(), columns...)
	require.NoError(t, err)
	design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: kind})
	require.NoError(t, err)
	model.Likelihood = kind
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	return problem
}

// approximation returns the mode, the precision and the active coordinates of a model.
func (a *modelAnchors) approximation(t *testing.T, target *Target, index int, code []int32) (mode *mat.VecDense, precision *mat.SymDense, active []int) {
	t.Helper()
	for j, on := range target.space.MaskRow(code, nil) {
		if on {
			active = append(active, j)
		}
	}
	precision = mat.NewSymDense(len(active), nil)
	linear := mat.NewVecDense(len(active), nil)
	for i, j := range active {
		linear.SetVec(i, a.linear[index*a.dim+j])
		for k, l := range active {
			precision.SetSym(i, k, a.precision[(index*a.dim+j)*a.dim+l])
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(precision))
	mode = mat.NewVecDense(len(active), nil)
	require.NoError(t, cholesky.SolveVecTo(mode, linear))
	return mode, precision, active
}

// For Poisson and logistic responses, the approximation of every model must have the mode and the
// precisions that vti.Laplace finds from the computation graph of the log density.
func TestAnchorsAreTheModesOfCounts(t *testing.T) {
	for _, kind := range []likelihood.Kind{likelihood.PoissonKind, likelihood.LogisticKind} {
		problem := smallProblem(t, kind, 12, ModelOptions{})
		anchors := newModelAnchors(problem.Target)
		require.NotNil(t, anchors)
		var codes [][]int32
		for _, code := range space.All(problem.Target.space.Cards()) {
			codes = append(codes, append([]int32(nil), code...))
		}
		start := make([]float64, problem.Target.space.Dim())
		if kind == likelihood.PoissonKind {
			start[0] = 13.8
		}
		found, err := vti.Laplace(t.Context(), openDevice(t), problem.Target, codes, start)
		require.NoError(t, err)
		other := &modelAnchors{dim: anchors.dim}
		for _, one := range found {
			other.precision, other.linear = append(other.precision, one.Precision...), append(other.linear, one.Linear...)
		}
		for i, code := range codes {
			mode, precision, active := anchors.approximation(t, problem.Target, i, code)
			want, wantPrecision, _ := other.approximation(t, problem.Target, i, code)
			for a := range active {
				require.InDelta(t, want.AtVec(a), mode.AtVec(a), 0.01/math.Sqrt(precision.At(a, a)), "%v %v", kind, code)
				require.InEpsilon(t, wantPrecision.At(a, a), precision.At(a, a), 0.01, "%v %v", kind, code)
			}
		}
	}
}

// Small tables have an approximation of each model; tables with many models have none.
func TestAnchorsOfFewModels(t *testing.T) {
	many := simulatedProblem(t, design.Simulation{Rows: 30, Predictors: 13, Effects: 2, Likelihood: likelihood.LogisticKind, Seed: 1}, ModelOptions{Likelihood: likelihood.LogisticKind})
	require.Nil(t, newModelAnchors(many.Target))
	require.NotNil(t, newModelAnchors(smallProblem(t, likelihood.RobustKind, 10, ModelOptions{}).Target))
}

// The approximation of a model of a normal response is at the mode of log σ with the coefficients
// integrated out, and it is exact in the coefficients given this σ.
func TestApproximationOfNormalResponses(t *testing.T) {
	p := smallProblem(t, likelihood.GaussianKind, 12, ModelOptions{})
	a := p.Target.active([]int32{1, 0, 0})
	f := p.Target.approximate(a)
	m, err := exact.NewModel(p.Target.Responses.Y, a.Columns, a.Mean, a.SD, p.Target.Responses.More, p.Target.Responses.Residual)
	require.NoError(t, err)
	noise := p.Target.Noise()
	density := func(x float64) float64 {
		z := (x - noise.Mean) / noise.SD
		return m.LogEvidence(x) - z*z/2
	}
	const apart = 1e-3
	low, middle, high := density(f.logScale-apart), density(f.logScale), density(f.logScale+apart)
	require.InDelta(t, 0, (high-low)/(2*apart), 1e-5)
	require.InEpsilon(t, f.curvature, (2*middle-low-high)/(apart*apart), 1e-3)
	mode := make([]float64, len(a.Columns))
	m.Mode(f.logScale, mode)
	var solved mat.VecDense
	require.NoError(t, solved.SolveVec(f.precision, f.linear))
	for j, v := range mode {
		require.InDelta(t, v, f.theta[j], 1e-9)
		require.InDelta(t, v, solved.AtVec(j), 1e-9)
	}
}

// With predictors that are nearly copies of each other and known noise scales from 1e-12 to 1e6,
// approximations must be finite, and their precision matrices must have a Cholesky factor.
func TestApproximationsOfNastyTablesAreFinite(t *testing.T) {
	for _, sigma := range []float64{1e-12, 1e-6, 1, 1e6} {
		p := simulatedProblem(t, design.Simulation{Rows: 12, Predictors: 4, Effects: 2, Correlation: 0.999999, Likelihood: likelihood.RobustKind, Seed: 2},
			ModelOptions{Likelihood: likelihood.RobustKind, Sigma1: sigma, Sigma2: 10 * sigma})
		anchors := newModelAnchors(p.Target)
		require.NotNil(t, anchors)
		require.False(t, floats.HasNaN(anchors.linear), "sigma %g", sigma)
		require.False(t, math.IsInf(floats.Norm(anchors.linear, math.Inf(1)), 0), "sigma %g", sigma)
		dim := anchors.dim
		for model := range len(anchors.linear) / dim {
			var factor mat.Cholesky
			require.True(t, factor.Factorize(mat.NewSymDense(dim, anchors.precision[model*dim*dim:(model+1)*dim*dim])), "sigma %g, model %d", sigma, model)
		}
	}
}
