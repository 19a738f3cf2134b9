//go:build quality

package hbm

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// regressions is eq. 16 of the branch paper: a linear regression in each group with coefficients
// about common ones.
type regressions struct {
	model        *Model
	group, row   *Plate
	x, y         *Variable
	groups, rows int
	data         Values
	logEvidence  float64
}

const regressors = 10

// newRegressions simulates data, with so many rows in each group, and finds the evidence in closed
// form. With A = X'X and b = X'y of a group,
//
//	log p(y | θ) = −½ (n log 2π + log|I + A| + y'y − (θ + b)'(I + A)⁻¹(θ + b) + θ'θ),
//
// which is quadratic in θ.
func newRegressions(t testing.TB, groups, rows int) *regressions {
	g := &regressions{model: NewModel(), groups: groups, rows: rows}
	m := g.model
	g.group, g.row = m.Plate("group", groups), m.Plate("row", rows)
	theta := m.Latent("theta", Normal(Number(0), Number(1)), Event(regressors))
	z := m.Latent("z", Normal(theta, Number(1)), On(g.group), Event(regressors))
	g.x = m.Constant("x", On(g.group, g.row), Event(regressors))
	predictor := Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], v[1]), -1) }, g.x, z)
	g.y = m.Observed("y", Normal(predictor, Number(1)), On(g.group, g.row))

	random := stream.Rand(1, fmt.Sprintf("regressions/%d", groups))
	vector := func(about []float64) []float64 {
		v := make([]float64, regressors)
		for i := range v {
			v[i] = random.NormFloat64()
			if about != nil {
				v[i] += about[i]
			}
		}
		return v
	}
	common := vector(nil)
	g.data = Values{}
	precision, linear, constant := identity(regressors), mat.NewVecDense(regressors, nil), 0.0
	for range groups {
		own := vector(common)
		a, b, yy := identity(regressors), mat.NewVecDense(regressors, nil), 0.0
		for range rows {
			x := vector(nil)
			y := random.NormFloat64()
			for i := range x {
				y += x[i] * own[i]
			}
			g.data[g.x], g.data[g.y] = append(g.data[g.x], x...), append(g.data[g.y], y)
			column := mat.NewVecDense(regressors, x)
			a.SymRankOne(a, 1, column)
			b.AddScaledVec(b, y, column)
			yy += y * y
		}
		var cholesky mat.Cholesky
		require.True(t, cholesky.Factorize(a))
		var inverse mat.SymDense
		require.NoError(t, cholesky.InverseTo(&inverse))
		var shift mat.VecDense
		shift.MulVec(&inverse, b)
		constant -= 0.5 * (float64(rows)*math.Log(2*math.Pi) + cholesky.LogDet() + yy - mat.Dot(b, &shift))
		linear.AddVec(linear, &shift)
		for i := range regressors {
			for j := i; j < regressors; j++ {
				own := -inverse.At(i, j)
				if i == j {
					own++
				}
				precision.SetSym(i, j, precision.At(i, j)+own)
			}
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(precision))
	var mode mat.VecDense
	require.NoError(t, cholesky.SolveVecTo(&mode, linear))
	g.logEvidence = constant + 0.5*mat.Dot(linear, &mode) - 0.5*cholesky.LogDet()
	return g
}

func identity(n int) *mat.SymDense {
	m := mat.NewSymDense(n, nil)
	for i := range n {
		m.SetSym(i, i, 1)
	}
	return m
}

// TestQualityOfBranches compares joint, branch and amortized branch with the exact evidence on eq.
// 16 of the branch paper. The encoder reads products of two numbers. Where there are many groups a
// step takes part in 100 of them:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfBranches -v ./hbm -quality.sizes 10,1000
func TestQualityOfBranches(t *testing.T) {
	t.Log("| groups | rows in each | family | weights | steps | CPU seconds | log evidence | ELBO | below, nats | below, nats per group |")
	for _, size := range []struct{ groups, rows, batch, steps, draws int }{{10, 100, 0, 6000, 2000}, {1000, 100, 100, 2000, 20}, {100_000, 10, 100, 2000, 2}} {
		if !chosen(*qualityGroups, fmt.Sprint(size.groups)) {
			continue
		}
		g := newRegressions(t, size.groups, size.rows)
		for _, family := range []Family{Joint, Branch, AmortizedBranch} {
			if !chosen(*qualityFamily, family.String()) || family == Joint && size.groups*regressors > MaxJoint {
				continue
			}
			p := measure(t, g.model, g.data, size.draws, Config{Family: family, Products: true, Steps: size.steps, Batch: map[*Plate]int{g.group: size.batch}})
			gap := g.logEvidence - p.elbo
			t.Logf("| %d | %d | %v | %d | %d | %.0f | %.2f | %.2f ± %.2f | %.2f | %.4f |", g.groups, g.rows, family, p.Weights(), p.Steps(), p.cpu, g.logEvidence, p.elbo, p.se, gap, gap/float64(g.groups))
		}
	}
}
