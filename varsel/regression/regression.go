package regression

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
)

// Regression is the likelihood of the rows of a table given linear predictors, and the priors of
// the coefficients, on the working scale (standardised columns and response).
//
// Coordinates are the columns of the design (the intercept first, if there is one), followed by log
// σ if it is unknown, or the parameters of a categorical response (categories.go). Each has an
// independent normal prior.
type Regression struct {
	X         *mat.Dense  // [n, D], or [n, D/M] for M linear predictors; zeros in the column of log σ
	Columns   [][]float64 // columns of X [D][n]
	Offset    []float64   // [n] or nil
	Kind      likelihood.Kind
	Responses Responses
	Dim       int       // number of coordinates
	Scale     int       // coordinate of log σ, or −1
	LogScale  float64   // log σ when it is known
	Outliers  *Outliers // of the robust likelihood with known scales; nil otherwise
	// LogConstant is the sum of the terms in the log density of the responses that no parameter
	// changes.
	LogConstant float64
	Mean, SD    []float64 // means and standard deviations of the priors [D]
	// Products holds the inner products of Columns, for a Gaussian response with many rows or for
	// summary statistics; it is nil otherwise.
	Products *design.Products
}

// Stored returns the inner products of the columns if all of them are stored, and nil otherwise.
func (t *Regression) Stored() *design.Products {
	if t.Products != nil && t.Products.Stored {
		return t.Products
	}
	return nil
}

// LogJoint returns log p(y, θ | m) of the coordinates in use: mask [B,D], theta [B,D] -> [B].
func (t *Regression) LogJoint(mask, theta *Node) *Node {
	active := Where(mask, theta, ZerosLike(theta))
	eta := t.predictors(active)
	if t.Offset != nil {
		eta = Add(eta, Constant(theta, t.Offset, 1, len(t.Offset)))
	}
	return Add(t.Responses.LogDensity(eta, t.parametersOf(active)), LogNormalPrior(mask, theta, t.Mean, t.SD))
}

// LogScaleOf returns log σ [B,1] at each point: the coordinate that holds it, or the known value.
func (t *Regression) LogScaleOf(active *Node) *Node {
	if t.Scale < 0 {
		return BroadcastToDims(Constant(active, []float64{t.LogScale}, 1, 1), active.Shape().Dim(0), 1)
	}
	return ColumnOf(active, t.Scale)
}

// ColumnOf returns column j of x [B,D] as [B,1], by a product that every backend differentiates.
func ColumnOf(x *Node, j int) *Node {
	dim := x.Shape().Dim(1)
	unit := make([]float64, dim)
	unit[j] = 1
	return InsertAxes(ReduceSum(Mul(x, Constant(x, unit, 1, dim)), -1), -1)
}

// LogNormalPrior returns Σ_active log N(θ_j; mean_j, sd_j²) [B].
func LogNormalPrior(mask, theta *Node, mean, sds []float64) *Node {
	dim := len(mean)
	inverse, constants := make([]float64, dim), make([]float64, dim)
	for j, sd := range sds {
		inverse[j] = 1 / sd
		constants[j] = -math.Log(sd) - halfLog2Pi
	}
	standard := Mul(Sub(theta, Constant(theta, mean, 1, dim)), Constant(theta, inverse, 1, dim))
	logDensity := Add(MulScalar(Square(standard), -0.5), Constant(theta, constants, 1, dim))
	return ReduceSum(Where(mask, logDensity, ZerosLike(theta)), -1)
}

// WithZeroColumn appends a column of zeros for log σ, which is no part of the linear predictor.
func WithZeroColumn(x *mat.Dense) *mat.Dense {
	rows, columns := x.Dims()
	wider := mat.NewDense(rows, columns+1, nil)
	wider.Slice(0, rows, 0, columns).(*mat.Dense).Copy(x)
	return wider
}
