package hbm

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// TestCovariances trains the nine families of Agrawal and Domke (2021), table 1, on regressions of
// two groups with correlated predictors. The posterior is normal. If Λ is its precision and b are
// the blocks of a covariance, the best approximation is ½ (Σ log|Λ_bb| − log|Λ|) below the log
// evidence.
func TestCovariances(t *testing.T) {
	const groups, rows, dim = 2, 6, 2
	m := NewModel()
	group, row := m.Plate("group", groups), m.Plate("row", rows)
	theta := m.Latent("theta", Normal(Number(0), Number(1)), Event(dim))
	z := m.Latent("z", Normal(theta, Number(1)), On(group), Event(dim))
	x := m.Constant("x", On(group, row), Event(dim))
	y := m.Observed("y", Normal(Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], v[1]), -1) }, x, z), Number(1)), On(group, row))

	const n = dim * (1 + groups) // θ, then the coefficients of each group
	random, data := stream.Rand(1, "covariances"), Values{}
	precision, linear, squares := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil), 0.0
	for i := range n {
		precision.SetSym(i, i, 1)
		if i < dim {
			precision.SetSym(i, i, 1+groups)
		} else {
			precision.SetSym(i, i%dim, -1)
		}
	}
	for g := range groups {
		for range rows {
			first := random.NormFloat64()
			predictors := []float64{first, first + 0.5*random.NormFloat64()}
			response := 2*predictors[0] - predictors[1] + random.NormFloat64()
			data[x], data[y] = append(data[x], predictors...), append(data[y], response)
			whole := mat.NewVecDense(n, nil)
			for d, value := range predictors {
				whole.SetVec(dim*(1+g)+d, value)
			}
			precision.SymRankOne(precision, 1, whole)
			linear.AddScaledVec(linear, response, whole)
			squares += response * response
		}
	}
	// sum returns half the sum of log|Λ_bb| over consecutive blocks of a number of rows each.
	sum := func(size int) (total float64) {
		for at := 0; at < n; at += size {
			logDet, _ := mat.LogDet(precision.SliceSym(at, at+size))
			total += logDet / 2
		}
		return total
	}
	var mode mat.VecDense
	require.NoError(t, mode.SolveVec(precision, linear))
	logEvidence := 0.5*mat.Dot(linear, &mode) - 0.5*squares - 0.5*groups*rows*math.Log(2*math.Pi) - sum(n)
	require.Greater(t, sum(1)-sum(dim), 0.2)
	require.Greater(t, sum(dim)-sum(n), 0.2)
	for covariance, gap := range map[Covariance]float64{DenseCovariance: 0, BlockCovariance: sum(dim) - sum(n), DiagonalCovariance: sum(1) - sum(n)} {
		for _, family := range []Family{Joint, Branch, AmortizedBranch} {
			p := fit(t, m, data, Config{Family: family, Covariance: covariance, Steps: 1000, Products: true})
			elbo, se, err := p.ELBO(t.Context(), 4000, "elbo")
			require.NoError(t, err)
			require.InDelta(t, gap, logEvidence-elbo, 0.03+5*se, "%v, covariance %d", family, covariance)
		}
	}
	require.ErrorContains(t, Config{Family: PAVIE, Covariance: BlockCovariance}.Validate(), "got a Covariance with family pavi-e")
	require.ErrorContains(t, Config{Family: Branch, Covariance: 3}.Validate(), "got Covariance 3")
}
