package varsel

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// Target is the posterior over subsets of predictors of a linear or generalised linear model, on
// the scale the flow works on. It satisfies vti.Target and rjmcmc.Target.
//
// Coordinates are the columns of the design (the intercept first, if there is one) and then log σ
// if it is unknown, or what a response of categories has (categories.go). Each has a normal prior,
// independent of the others.
type Target struct {
	design    *Design
	space     *space.Subsets
	x         *mat.Dense  // [n, D], D/M where rows have M predictors; the column of log σ is zero
	columns   [][]float64 // [D][n] of x
	offset    []float64   // [n] or nil
	kind      likelihood.Kind
	responses responses
	dim       int           // number of coordinates
	scale     int           // coordinate of log σ, or −1
	logScale  float64       // log σ when it is known
	outliers  *outlierModel // of the robust likelihood with known scales; nil for others
	// logConstant is the part of the log density of the responses that depends on no parameter.
	logConstant float64
	mean, sd    []float64
	prior       Prior
	heredity    *heredity // nil: every model is allowed
}

// Space is the set of subsets: one site per selectable predictor, in table order.
func (t *Target) Space() space.Space { return t.space }

// Unimodal reports whether the posterior given a model has one mode, as it has unless rows can take
// turns in being outliers.
func (t *Target) Unimodal() bool { return !heavyTails(t.kind) }

// heavyTails reports whether rows can take turns in being outliers, so that the posterior given a
// model can have several modes.
func heavyTails(kind likelihood.Kind) bool {
	return kind == likelihood.RobustKind || kind == likelihood.StudentKind
}

// LogPrior is log p(m). [B,S] -> [B]
func (t *Target) LogPrior(codes *Node) *Node {
	logPrior := t.prior.LogProb(codes)
	if t.heredity == nil {
		return logPrior
	}
	fine := Equal(t.heredity.violations(codes), ScalarZero(codes.Graph(), codes.DType()))
	none := BroadcastToShape(Const(codes.Graph(), math.Inf(-1)), logPrior.Shape())
	return Where(fine, AddScalar(logPrior, -t.heredity.logMass), none)
}

// LogJoint is log p(y, θ | m). codes [B,S], mask [B,D], theta [B,D] -> [B]
func (t *Target) LogJoint(_, mask, theta *Node) *Node {
	active := Where(mask, theta, ZerosLike(theta))
	eta := t.predictors(active)
	if t.offset != nil {
		eta = Add(eta, constant(theta, t.offset, 1, len(t.offset)))
	}
	return Add(t.responses.logDensity(eta, t.parametersOf(active)), logNormalPrior(mask, theta, t.mean, t.sd))
}

// logScaleOf returns log σ of each row [B,1]: the coordinate that holds it, or the known value.
func (t *Target) logScaleOf(active *Node) *Node {
	if t.scale < 0 {
		return BroadcastToDims(constant(active, []float64{t.logScale}, 1, 1), active.Shape().Dim(0), 1)
	}
	return columnOf(active, t.scale)
}

// columnOf returns column j of x [B,D] as [B,1], as a product, which every backend can
// differentiate.
func columnOf(x *Node, j int) *Node {
	dim := x.Shape().Dim(1)
	unit := make([]float64, dim)
	unit[j] = 1
	return InsertAxes(ReduceSum(Mul(x, constant(x, unit, 1, dim)), -1), -1)
}

// logNormalPrior is Σ_active log N(θ_j; mean_j, sd_j²). [B]
func logNormalPrior(mask, theta *Node, mean, sds []float64) *Node {
	dim := len(mean)
	inverse, constants := make([]float64, dim), make([]float64, dim)
	for j, sd := range sds {
		inverse[j] = 1 / sd
		constants[j] = -math.Log(sd) - halfLog2Pi
	}
	standard := Mul(Sub(theta, constant(theta, mean, 1, dim)), constant(theta, inverse, 1, dim))
	logDensity := Add(MulScalar(Square(standard), -0.5), constant(theta, constants, 1, dim))
	return ReduceSum(Where(mask, logDensity, ZerosLike(theta)), -1)
}
