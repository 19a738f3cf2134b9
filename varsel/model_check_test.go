package varsel

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/table"
)

// The linear predictor of a draw on the scale of the table equals the linear predictor of the draw
// on the working scale, in the units of the response, for models as lists.
func TestLinearPredictorOfDraws(t *testing.T) {
	packed := packedProblem(t)
	codes, theta := packedDraws(packed)
	draws := packed.toOriginal(codes, theta)
	design := packed.Design
	rows := []int{3, 0, 17}
	eta := make([]float64, len(rows))
	for i, code := range codes {
		scale := packed.linearPredictor(draws.Codes[i], draws.Values.RawRowView(i), rows, eta)
		require.InEpsilon(t, math.Exp(theta.At(i, packed.Slots.scaleCoordinate()))*design.Scaling.YSD, scale, 1e-12)
		for k, row := range rows {
			want := 0.0
			for a, j := range packed.Slots.fixed {
				want += theta.At(i, a) * design.X.At(row, j)
			}
			for _, member := range packed.Slots.byTable(code) {
				for w, j := range design.Predictors[member.predictor].Coordinates {
					want += theta.At(i, packed.Slots.block(member.place)+w) * design.X.At(row, j)
				}
			}
			require.InDelta(t, want*design.Scaling.YSD+design.Scaling.YMean, eta[k], 1e-9)
		}
	}
}

// If the table is drawn from the model, the check finds nothing, for every likelihood. If a value
// of the table is changed, the check finds the value and its row.
func TestCheckModel(t *testing.T) {
	const n = 80
	random := stream.Rand(3, "test")
	x, y := make([]float64, n), make(map[likelihood.Kind][]float64)
	for i := range x {
		x[i] = 1e4 + 3*random.NormFloat64() // a mean far from zero
		for _, kind := range likelihood.Kinds() {
			if kind.HasCategories() {
				continue
			}
			eta := 0.5 + (x[i]-1e4)/3
			y[kind] = append(y[kind], likelihood.New(kind, likelihood.Shape{}).Draw(eta, 1, random))
		}
	}
	check := func(kind likelihood.Kind, x, y []float64) *modelcheck.Report {
		data, err := table.New("test", &table.Column{Name: "x", Values: x}, &table.Column{Name: "y", Values: y})
		require.NoError(t, err)
		design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: kind})
		require.NoError(t, err)
		problem, err := NewProblem(design, ModelOptions{Likelihood: kind})
		require.NoError(t, err)
		values := mat.NewDense(200, len(problem.coordinateNames()), nil)
		codes := make([][]int32, 200)
		for i := range codes {
			codes[i] = []int32{1}
			row := values.RawRowView(i)
			row[0], row[1] = 0.5-1e4/3, 1.0/3
			if problem.UnknownScale() {
				row[2] = 1
			}
		}
		report, err := problem.checkModel(t.Context(), &Draws{Names: problem.coordinateNames(), Codes: codes, Values: values}, 1)
		require.NoError(t, err)
		return report
	}
	for _, kind := range likelihood.Kinds() {
		if kind.HasCategories() {
			continue // categorical likelihoods have tests in categories_test.go
		}
		report := check(kind, x, y[kind])
		require.Equal(t, modelcheck.Good, report.Verdict, "%v: %v", kind, report)
	}

	spoiled := slices.Clone(y[likelihood.GaussianKind])
	spoiled[11] = -999
	report := check(likelihood.GaussianKind, x, spoiled)
	require.Equal(t, modelcheck.Poor, report.Verdict)
	require.True(t, slices.ContainsFunc(report.Findings, func(f modelcheck.Finding) bool {
		return strings.HasPrefix(f.What, "suspicious value: -999 occurs once") && strings.HasSuffix(f.Where, " 12")
	}), "%v", report)
}

// The check of an exact answer must report curvature if the response depends on the square of a
// predictor, and none if it depends on the predictor.
func TestExactAnswersAreChecked(t *testing.T) {
	random := stream.Rand(4, "test")
	x, z, y := make([]float64, 60), make([]float64, 60), make([]float64, 60)
	for i := range x {
		x[i], z[i] = random.NormFloat64(), random.NormFloat64()
		y[i] = 5*x[i]*x[i] + random.NormFloat64()
	}
	for _, curved := range []bool{true, false} {
		if !curved {
			for i := range y {
				y[i] = x[i] + random.NormFloat64()
			}
		}
		data, err := table.New("test", table.Numbers("x", x), table.Numbers("z", z), table.Numbers("y", y))
		require.NoError(t, err)
		design, err := NewDesign(data, DesignOptions{Target: "y"})
		require.NoError(t, err)
		problem, err := NewProblem(design, ModelOptions{})
		require.NoError(t, err)
		result, err := RunExact(t.Context(), problem, nil, "")
		require.NoError(t, err)
		require.Equal(t, curved, strings.Contains(result.ModelCheck.String(), "curvature"), "%v", result.ModelCheck)
	}
}
