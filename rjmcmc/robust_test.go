package rjmcmc

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// robustTarget is the misspecified regression in section 5.1 of Davies et al. (2025): y_i ~ 0.9
// N(x_i'β, 1) + 0.1 N(x_i'β, 10²), β_j ~ N(0, 1.5²), all subsets of the columns after the first
// equally likely.
type robustTarget struct {
	space *space.Subsets
	x     [][]float64 // [n][D]
	y     []float64
}

func (r robustTarget) Space() space.Space { return r.space }

func (r robustTarget) LogPrior(codes *graph.Node) *graph.Node {
	return graph.BroadcastToDims(graph.Const(codes.Graph(), 0.0), codes.Shape().Dim(0))
}

func (r robustTarget) LogJoint(_, mask, theta *graph.Node) *graph.Node {
	g, dtype := theta.Graph(), theta.DType()
	x := graph.ConvertDType(graph.Const(g, r.x), dtype)
	y := graph.ConvertDType(graph.Const(g, [][]float64{r.y}), dtype)
	square := graph.Square(graph.Sub(y, graph.DotGeneral(theta, []int{1}, nil, x, []int{1}, nil)))
	const halfLog2Pi = 0.91893853320467274
	inlier := graph.AddScalar(graph.MulScalar(square, -0.5), math.Log(0.9)-halfLog2Pi)
	outlier := graph.AddScalar(graph.MulScalar(square, -0.005), math.Log(0.1/10)-halfLog2Pi)
	each := graph.Add(graph.Max(inlier, outlier), graph.Log1P(graph.Exp(graph.MulScalar(graph.Abs(graph.Sub(inlier, outlier)), -1))))
	prior := graph.AddScalar(graph.MulScalar(graph.Square(theta), -0.5/(1.5*1.5)), -halfLog2Pi-math.Log(1.5))
	return graph.Add(graph.ReduceSum(each, 1), graph.ReduceSum(graph.Where(mask, prior, graph.ZerosLike(prior)), 1))
}

func readNumbers(t *testing.T, path string) [][]float64 {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	var rows [][]float64
	for _, record := range records[1:] {
		var row []float64
		for _, cell := range record {
			v, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}

// The evidences of all 128 models are known from tempered sequential Monte Carlo
// (testdata/README.md). The chains must reproduce the model probabilities. A sampler that reuses
// old values of inactive coefficients has an error of 0.16 in total variation.
func TestRobustRegressionAgainstTemperedSMC(t *testing.T) {
	testkit.Long(t)
	for _, name := range []string{"high_1000", "mid_1000"} {
		t.Run(name, func(t *testing.T) {
			if name == "mid_1000" {
				testkit.Long(t)
			}
			var target robustTarget
			for _, row := range readNumbers(t, "../testdata/robust_vs/"+name+".csv") {
				target.x, target.y = append(target.x, row[:8]), append(target.y, row[8])
			}
			var err error
			target.space, err = space.NewSubsets(8, []int{0}, [][]int{{1}, {2}, {3}, {4}, {5}, {6}, {7}})
			require.NoError(t, err)

			oracle := make([]float64, 128)
			var total, oracleError float64
			for _, row := range readNumbers(t, "../testdata/robust_vs/"+name+"_logz.csv") {
				// The file writes the bits of a model as decimal digits, without leading zeros.
				index, err := strconv.ParseInt(strconv.Itoa(int(row[0])), 2, 32)
				require.NoError(t, err)
				oracle[index] = math.Exp(row[1])
				total += oracle[index]
				oracleError += oracle[index] * row[2] // the standard deviation of log Z is the relative error of Z
			}
			r, err := Run(context.Background(), testkit.Backend(t), target, Config{Chains: 128, BurnIn: 400, Iterations: 1600, Thin: 2, Seed: 1})
			require.NoError(t, err)
			got := make([]float64, 128)
			var samplerError float64
			for _, m := range r.Models(0) {
				got[space.Encode(target.space.Cards(), m.Codes)] = m.Mean
				samplerError += m.MCSE
			}
			var distance float64
			for i := range oracle {
				distance += math.Abs(got[i]-oracle[i]/total) / 2
			}
			// The bound is three times half the sum of all standard errors, of the chains and of
			// the file.
			assert.Less(t, distance, 3*(samplerError+oracleError/total)/2)
			assert.Less(t, distance, 0.03)
			for j := 1; j < r.Dim; j++ {
				in := r.Inclusion(j)
				assert.Less(t, in.RHat, 1.02)
				t.Logf("x%d %.4f ± %.4f, R-hat %.4f, ESS %.0f", j, in.Mean, in.MCSE, in.RHat, in.ESS)
			}
			t.Logf("total variation %.4f; acceptance: jump %.2f swap %.2f walk %.2f joint %.2f", distance,
				r.Info.Acceptance(Jump), r.Info.Acceptance(Swap), r.Info.Acceptance(Walk), r.Info.Acceptance(Joint))
		})
	}
}
