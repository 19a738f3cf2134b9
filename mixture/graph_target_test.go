package mixture

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/space"
)

// The coordinates are real numbers in blocks. A mixture of k components uses the first k blocks.
//
//	block 1      log β, mean, log variance
//	block j > 1  stick j−1, log increment of the mean over the mean of component j−1, log variance
//
// The sticks s_1, …, s_{k−1} determine the weights: component j takes the share expit(s_j −
// log(k−j)) of the weight that components 1 to j−1 leave. If all sticks are 0, the weights are
// equal.
const blockSize = 3

// dim returns the number of coordinates in all blocks.
func (p *Problem) dim() int { return blockSize * p.Options.MaxComponents }

// graphTarget is the posterior of a problem as a graph, for columns with midrange 0 and range 1
// (the working scale). Model k − 1 has k components and uses the first k blocks of coordinates. The
// likelihood sums over the component of each row. Tests compare the answers of package vti on this
// target with the samplers.
type graphTarget struct {
	problem *Problem
	models  *space.Table
	// sticks, means and variances are the indices of the coordinates of sticks, means and log
	// variances, by block.
	sticks, means, variances []int32
}

var _ vti.Target = (*graphTarget)(nil)

// target returns the posterior as a target for package vti. It fails unless components are normal
// with one column.
func (p *Problem) target() (*graphTarget, error) {
	if p.Options.Family != Normal {
		return nil, fmt.Errorf("a Target needs normal components and one column, got the family %s", p.Options.Family)
	}
	sizes := make([]int, p.Options.MaxComponents)
	t := &graphTarget{problem: p}
	for j := range sizes {
		sizes[j] = blockSize
		t.sticks, t.means, t.variances = append(t.sticks, int32(3*j)), append(t.means, int32(3*j+1)), append(t.variances, int32(3*j+2))
	}
	var err error
	t.models, err = space.NewNested(sizes)
	return t, err
}

// Space returns the space of models, the numbers of components.
func (t *graphTarget) Space() space.Space { return t.models }

// LogPrior returns minus the log of the number of models: [B,1] -> [B].
func (t *graphTarget) LogPrior(codes *Node) *Node {
	return MulScalar(OnesLike(ConvertDType(Squeeze(codes, -1), dtypes.Float64)), -math.Log(float64(t.problem.Options.MaxComponents)))
}

// LogJoint returns log p(y, θ | k): codes [B,1], mask and theta [B,3K] -> [B].
func (t *graphTarget) LogJoint(codes, mask, theta *Node) *Node {
	g, dtype, o := theta.Graph(), theta.DType(), t.problem.Options
	most := o.MaxComponents
	constant := func(value any) *Node { return ConstAsDType(g, dtype, value) }
	matrix := func(entry func(block, component int) bool) *Node { // [K,K]
		rows := make([][]float64, most)
		for b := range rows {
			rows[b] = make([]float64, most)
			for c := range rows[b] {
				if entry(b, c) {
					rows[b][c] = 1
				}
			}
		}
		return constant(rows)
	}
	// [B,K], 1 for components in use
	active := space.TakeColumns(ConvertDType(mask, dtype), t.means)
	first := make([]float64, most)
	first[0] = 1
	later := Mul(active, Sub(OnesLike(active), constant([][]float64{first}))) // 1 for active components except the first
	only := func(x, by *Node) *Node { return Where(GreaterThan(by, ZerosLike(by)), x, ZerosLike(x)) }

	// Weights: stick b divides component b from the components after it.
	count := ConvertDType(AddScalar(codes, 1), dtype) // [B,1]
	numbers := make([]float64, most)
	for b := range numbers {
		numbers[b] = float64(b)
	}
	left := MaxScalar(Sub(count, constant([][]float64{numbers})), 1) // [B,K], k − b
	stick := only(Sub(space.TakeColumns(theta, t.sticks), Log(left)), later)
	logShare, logLeft := only(Neg(Softplus(Neg(stick))), later), only(Neg(Softplus(stick)), later)
	before := MatMul(logLeft, matrix(func(b, c int) bool { return b <= c }))
	logWeight := Add(before, MatMul(logShare, matrix(func(b, c int) bool { return b == c+1 })))
	jacobian := Add(Add(logShare, logLeft), MatMul(logLeft, matrix(func(b, c int) bool { return b < c })))
	jacobian = only(jacobian, later)

	increment := only(space.TakeColumns(theta, t.means), later)
	base := space.TakeColumns(theta, t.means[:1]) // [B,1]
	mean := Add(base, MatMul(only(Exp(increment), later), matrix(func(b, c int) bool { return b <= c })))
	logVariance := only(space.TakeColumns(theta, t.variances), active)
	logBeta := Squeeze(space.TakeColumns(theta, t.sticks[:1]), -1) // [B]

	// [B,K,1] and [1,1,n] -> [B,K,n]
	y := constant([][][]float64{{t.problem.columns[0].y}})
	deviation := Sub(y, InsertAxes(mean, -1))
	logDensity := Sub(InsertAxes(Sub(logWeight, MulScalar(AddScalar(logVariance, math.Log(2*math.Pi)), 0.5)), -1),
		MulScalar(Mul(Square(deviation), InsertAxes(Exp(Neg(logVariance)), -1)), 0.5))
	// Components that are not in use get a density far below the resolution of float32.
	off := MulScalar(Sub(OnesLike(active), active), -1e4)
	logDensity = Add(logDensity, InsertAxes(off, -1))
	largest := StopGradient(ReduceAndKeep(logDensity, ReduceMax, 1))
	sums := Add(Squeeze(largest, 1), Log(ReduceSum(Exp(Sub(logDensity, largest)), 1))) // [B,n]
	likelihood := ReduceSum(sums, -1)

	sd := o.MeanSD
	meanPrior := only(AddScalar(MulScalar(Square(MulScalar(mean, 1/sd)), -0.5), -0.5*math.Log(2*math.Pi*sd*sd)), active)
	a := o.PrecisionShape
	scale := InsertAxes(logBeta, -1)
	// variancePrior is the log density of the log variance, whose Jacobian is the variance.
	variancePrior := Sub(AddScalar(MulScalar(Sub(scale, logVariance), a), -logsum.Gamma(a)), Exp(Sub(scale, logVariance)))
	variancePrior = only(variancePrior, active)
	h, r := o.ScaleShape, o.ScaleRate
	scalePrior := Sub(AddScalar(MulScalar(logBeta, h), h*math.Log(r)-logsum.Gamma(h)), MulScalar(Exp(logBeta), r))

	perComponent := Add(Add(meanPrior, variancePrior), MulScalar(only(logWeight, active), o.Concentration-1))
	perComponent = Add(perComponent, Add(jacobian, increment))
	orders := make([]float64, most) // log(k!), for the orders of the components, plus the log constant of the Dirichlet density
	for k := range orders {
		size := float64(k + 1)
		orders[k] = logsum.Gamma(size+1) + logsum.Gamma(size*o.Concentration) - size*logsum.Gamma(o.Concentration)
	}
	total := Add(likelihood, ReduceSum(perComponent, -1))
	total = Add(total, scalePrior)
	return Add(total, Gather(constant(orders), codes))
}
