// Package amortizecheck has tasks of the paper on exchangeable data sets (Mittal et al. 2023,
// table 1) as families of problems, and measures networks on them.
//
// # Files
//
//	tasks.go    the tasks
//	measure.go  training a network on a task, and how good it is
package amortizecheck

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// Data sets have leastRows to mostRows rows.
const leastRows, mostRows = 64, 128

// Sizes of noise of the paper: the variance of linear regressions, and the temperature of logits.
const (
	regressionVariance = 0.25
	temperature        = 0.1
)

// kind is what rows are.
type kind int

const (
	gaussianMean kind = iota // rows N(θ, Σ), Σ known
	mixtureMeans             // rows of two normals with means θ, equal weights and known variance
	regression               // y normal about x'θ
	classes                  // y one with odds exp(x'θ / temperature)
)

// Task is one of table 1, as a family with a single model. Parameters are standard normal.
type Task struct {
	Name string
	kind kind
	dim  int // of rows without the response
	// Accuracy reports whether the figure is the accuracy in percent, and not a squared distance.
	Accuracy bool
	// Published are the figures of the paper: of the prior, of an optimum for each data set, and
	// of its best network.
	Published [3]float64

	encoder    *encode.Encoder
	covariance *mat.SymDense // Σ of gaussianMean
	root       mat.Cholesky
}

// mixtureVariance is that of each coordinate around the nearest mean.
const mixtureVariance = 0.05

// Tasks are those that are there, with an encoder of the kind given.
func Tasks(cfg encode.Config) ([]*Task, error) {
	encoder, err := encode.New(cfg)
	if err != nil {
		return nil, err
	}
	tasks := []*Task{
		{Name: "gaussian-5", kind: gaussianMean, dim: 5, Published: [3]float64{11.7, 1.6, 1.6}},
		{Name: "gaussian-25", kind: gaussianMean, dim: 25, Published: [3]float64{54.3, 4.6, 4.4}},
		{Name: "mixture", kind: mixtureMeans, dim: 2, Published: [3]float64{1.8, 0.1, 0.1}},
		{Name: "regression-5", kind: regression, dim: 5, Published: [3]float64{5.4, 0.3, 0.3}},
		{Name: "classes-5", kind: classes, dim: 5, Accuracy: true, Published: [3]float64{50.5, 95.6, 92.4}},
	}
	for _, t := range tasks {
		t.encoder = encoder
		if t.kind == gaussianMean {
			t.drawCovariance()
		}
	}
	return tasks, nil
}

// drawCovariance makes a full covariance whose trace is the paper's optimum.
func (t *Task) drawCovariance() {
	random := stream.Rand(1, "covariance")
	a := mat.NewDense(t.dim, t.dim, nil)
	for i := range t.dim {
		for j := range t.dim {
			a.Set(i, j, random.NormFloat64())
		}
	}
	var s mat.SymDense
	s.SymOuterK(1, a)
	for i := range t.dim {
		s.SetSym(i, i, s.At(i, i)+0.5)
	}
	s.ScaleSym(t.Published[2]/mat.Trace(&s), &s)
	t.covariance = &s
	t.root.Factorize(&s)
}

// Space implements vti.Family: one model.
func (t *Task) Space() space.Space {
	sp, err := space.NewTable([][]bool{slices.Repeat([]bool{true}, t.parameters())})
	if err != nil {
		panic(err) // at least one parameter
	}
	return sp
}

func (t *Task) parameters() int {
	if t.kind == mixtureMeans {
		return 2 * t.dim
	}
	return t.dim
}

// width is the number of numbers of a row.
func (t *Task) width() int {
	if t.kind >= regression {
		return t.dim + 1
	}
	return t.dim
}

// Width implements vti.Family.
func (t *Task) Width() int { return t.encoder.Config().Hidden }

// Settings implements vti.Family.
func (t *Task) Settings() any { return map[string]any{"task": t.Name, "encoder": t.encoder.Config()} }

// Encode implements vti.Family: each row is read with the products of its numbers, whose means are
// all that linear tasks depend on.
func (t *Task) Encode(ctx *vti.Context, data []*Node) *Node {
	rows, present := data[0], data[1]
	dims := rows.Shape().Dimensions
	if t.kind >= regression {
		pairs := Mul(InsertAxes(rows, -1), InsertAxes(rows, -2))
		rows = Concatenate([]*Node{rows, Reshape(pairs, dims[0], dims[1], -1)}, -1)
	}
	return t.encoder.Encode(ctx, rows, GreaterThan(present, ZerosLike(present)))
}

// LogPrior implements vti.Family.
func (t *Task) LogPrior(_ []*Node, codes *Node) *Node {
	return Zeros(codes.Graph(), shapes.Make(dtypes.Float64, codes.Shape().Dim(0)))
}

// LogJoint implements vti.Family, up to a constant of the data.
func (t *Task) LogJoint(data []*Node, _, _, theta *Node) *Node {
	rows, present := ConvertDType(data[0], theta.DType()), ConvertDType(data[1], theta.DType())
	g, batch := theta.Graph(), theta.Shape().Dim(0)
	prior := MulScalar(ReduceSum(Square(theta), -1), -0.5)
	square := func(x *Node, scale float64) *Node { return MulScalar(ReduceSum(Square(x), -1), -0.5/scale) }
	var each *Node // [B, N]
	switch t.kind {
	case gaussianMean:
		var precision mat.SymDense
		if t.root.InverseTo(&precision) != nil {
			panic("amortizecheck: the covariance is singular")
		}
		flat := make([]float64, 0, t.dim*t.dim)
		for i := range t.dim {
			for j := range t.dim {
				flat = append(flat, precision.At(i, j))
			}
		}
		h := ConvertDType(Reshape(Const(g, flat), t.dim, t.dim), theta.DType())
		left := Sub(rows, InsertAxes(theta, 1))
		each = MulScalar(ReduceSum(Mul(Einsum("bnd,de->bne", left, h), left), -1), -0.5)
	case mixtureMeans:
		means := Reshape(theta, batch, 2, t.dim)
		distances := Sub(InsertAxes(rows, 2), InsertAxes(means, 1)) // [B, N, 2, d]
		terms := square(distances, mixtureVariance)
		peak := StopGradient(ReduceAndKeep(terms, ReduceMax, -1))
		each = Add(Log(ReduceSum(Exp(Sub(terms, peak)), -1)), Squeeze(peak, -1))
	default:
		x := SliceAxis(rows, 2, AxisRange(0, t.dim))
		y := Squeeze(SliceAxis(rows, 2, AxisElem(t.dim)), -1)
		eta := Einsum("bnd,bd->bn", x, theta)
		if t.kind == regression {
			each = MulScalar(Square(Sub(y, eta)), -0.5/regressionVariance)
		} else { // y is −1 or 1
			margin := MulScalar(Mul(y, eta), -1/temperature)
			each = Neg(Add(MaxScalar(margin, 0), Log1P(Exp(Neg(Abs(margin))))))
		}
	}
	return Add(prior, ReduceSum(Mul(each, present), -1))
}

// Simulate implements vti.Family.
func (t *Task) Simulate(random *rand.Rand) (*vti.Problem, error) {
	theta := make([]float64, t.parameters())
	for i := range theta {
		theta[i] = random.NormFloat64()
	}
	n := leastRows + random.IntN(mostRows-leastRows+1)
	rows, present := make([]float64, mostRows*t.width()), make([]float64, mostRows)
	for i := range n {
		copy(rows[i*t.width():], t.drawRow(theta, random))
		present[i] = 1
	}
	return &vti.Problem{
		Data: []vti.Array{{Values: rows, Dims: []int{mostRows, t.width()}}, {Values: present, Dims: []int{mostRows}}},
		Code: []int32{0}, Theta: theta,
	}, nil
}

// drawRow draws a row given the parameters.
func (t *Task) drawRow(theta []float64, random *rand.Rand) []float64 {
	row := make([]float64, t.width())
	z := mat.NewVecDense(t.dim, nil)
	for j := range t.dim {
		z.SetVec(j, random.NormFloat64())
	}
	switch t.kind {
	case gaussianMean:
		var lower mat.TriDense
		t.root.LTo(&lower)
		var noise mat.VecDense
		noise.MulVec(&lower, z)
		for j := range row {
			row[j] = theta[j] + noise.AtVec(j)
		}
	case mixtureMeans:
		from := random.IntN(2) * t.dim
		for j := range row {
			row[j] = theta[from+j] + math.Sqrt(mixtureVariance)*z.AtVec(j)
		}
	default:
		copy(row, z.RawVector().Data)
		eta := mat.Dot(z, mat.NewVecDense(t.dim, theta))
		switch {
		case t.kind == regression:
			row[t.dim] = eta + math.Sqrt(regressionVariance)*random.NormFloat64()
		case random.Float64() < 1/(1+math.Exp(-eta/temperature)):
			row[t.dim] = 1
		default:
			row[t.dim] = -1
		}
	}
	return row
}

// loss is the figure of a row under parameters: a squared distance, or 100 where the class is
// right.
func (t *Task) loss(row, theta []float64) float64 {
	distance := func(mean []float64) (sum float64) {
		for j, m := range mean {
			sum += (row[j] - m) * (row[j] - m)
		}
		return sum
	}
	switch t.kind {
	case gaussianMean:
		return distance(theta)
	case mixtureMeans:
		return math.Min(distance(theta[:t.dim]), distance(theta[t.dim:]))
	}
	eta := 0.0
	for j, b := range theta {
		eta += row[j] * b
	}
	switch {
	case t.kind == regression:
		return (row[t.dim] - eta) * (row[t.dim] - eta)
	case row[t.dim]*eta > 0:
		return 100
	}
	return 0
}
