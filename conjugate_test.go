package vti_test

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// conjugate is a linear model with known noise and independent standard normal coefficients. Each
// model includes the first column and a subset of the other columns. Evidences have a closed form.
type conjugate struct {
	x     *mat.Dense // [n, D]
	y     []float64
	sigma float64
	space *space.Subsets
}

// Unimodal returns true, so that checks by chains are unnecessary.
func (*conjugate) Unimodal() bool { return true }

// newConjugate simulates n rows of data with p selectable columns in correlated pairs. The response
// depends on the first two selectable columns.
func newConjugate(n, p int) *conjugate {
	random := stream.Rand(7, "conjugate")
	c := &conjugate{x: mat.NewDense(n, p+1, nil), y: make([]float64, n), sigma: 0.8}
	groups := make([][]int, p)
	for j := range p {
		groups[j] = []int{j + 1}
	}
	for i := range n {
		c.x.Set(i, 0, 1)
		shared := random.NormFloat64()
		for j := 1; j <= p; j++ {
			c.x.Set(i, j, 0.6*shared+0.8*random.NormFloat64())
		}
		c.y[i] = 0.5 + 0.5*c.x.At(i, 1) - 0.25*c.x.At(i, 2) + c.sigma*random.NormFloat64()
	}
	var err error
	if c.space, err = space.NewSubsets(p+1, []int{0}, groups); err != nil {
		panic(err)
	}
	return c
}

func (c *conjugate) Space() space.Space { return c.space }

// LogPrior returns the log of a uniform prior for each of the codes.
func (c *conjugate) LogPrior(codes *Node) *Node {
	sites := codes.Shape().Dimensions[1]
	return AddScalar(MulScalar(ReduceSum(ConvertDType(codes, dtypes.Float64), -1), 0), -float64(sites)*math.Ln2)
}

func (c *conjugate) LogJoint(_, mask, theta *Node) *Node {
	g, dtype := theta.Graph(), theta.DType()
	n, d := c.x.Dims()
	active := Where(mask, theta, ZerosLike(theta))
	x := ConvertDType(Reshape(Const(g, c.x.RawMatrix().Data), n, d), dtype)
	y := ConvertDType(Reshape(Const(g, c.y), 1, n), dtype)
	residual := MulScalar(Sub(y, Einsum("bd,nd->bn", active, x)), 1/c.sigma)
	logLikelihood := AddScalar(MulScalar(ReduceSum(Square(residual), -1), -0.5),
		-float64(n)*(math.Log(c.sigma)+math.Log(2*math.Pi)/2))
	logNormal := AddScalar(MulScalar(Square(theta), -0.5), -math.Log(2*math.Pi)/2)
	return Add(logLikelihood, ReduceSum(Where(mask, logNormal, ZerosLike(theta)), -1))
}

// exact returns log p(y | m) of a code, the posterior mean and covariance of the active
// coefficients, and the indices of these coefficients.
func (c *conjugate) exact(code []int32) (logEvidence float64, mean *mat.VecDense, covariance *mat.SymDense, active []int) {
	for j, on := range c.space.MaskRow(code, nil) {
		if on {
			active = append(active, j)
		}
	}
	n, _ := c.x.Dims()
	k := len(active)
	design := mat.NewDense(n, k, nil)
	for a, j := range active {
		for i := range n {
			design.Set(i, a, c.x.At(i, j)/c.sigma)
		}
	}
	y := mat.NewVecDense(n, nil)
	for i, value := range c.y {
		y.SetVec(i, value/c.sigma)
	}
	precision := mat.NewSymDense(k, nil)
	precision.SymOuterK(1, design.T())
	for a := range k {
		precision.SetSym(a, a, precision.At(a, a)+1)
	}
	var cholesky mat.Cholesky
	cholesky.Factorize(precision)
	right := mat.NewVecDense(k, nil)
	right.MulVec(design.T(), y)
	mean = mat.NewVecDense(k, nil)
	if err := cholesky.SolveVecTo(mean, right); err != nil {
		panic(err)
	}
	covariance = mat.NewSymDense(k, nil)
	if err := cholesky.InverseTo(covariance); err != nil {
		panic(err)
	}
	logEvidence = -float64(n)*(math.Log(c.sigma)+math.Log(2*math.Pi)/2) -
		(mat.Dot(y, y)-mat.Dot(mean, right))/2 - cholesky.LogDet()/2
	return logEvidence, mean, covariance, active
}

// posterior returns the exact log evidence and posterior probability of every model, in the order
// of their index.
func (c *conjugate) posterior() (logEvidence, probability []float64) {
	count, _ := space.Count(c.space)
	logEvidence, probability = make([]float64, count), make([]float64, count)
	largest := math.Inf(-1)
	for index, code := range space.All(c.space.Cards()) {
		logEvidence[index], _, _, _ = c.exact(code)
		largest = math.Max(largest, logEvidence[index])
	}
	var total float64
	for index, value := range logEvidence {
		probability[index] = math.Exp(value - largest)
		total += probability[index]
	}
	for index := range probability {
		probability[index] /= total
	}
	return logEvidence, probability
}
