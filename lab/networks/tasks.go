// Package networks has the tasks of the paper on exchangeable data sets (Mittal et al. 2023,
// table 1) as families of problems, and measures networks on them.
//
// # Files
//
//	tasks.go      the tasks, and how networks read them
//	densities.go  log p(data, θ) as a graph
//	data.go       data sets, from the model or from other sources
//	anchors.go    normal approximations that are computed for a data set
//	closest.go    the normals closest to the posteriors of classifications
//	measure.go    training a network on a task, and its quality
package networks

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// Data sets have leastRows to mostRows rows.
const leastRows, mostRows = 64, 128

// Sizes of noise of the paper: the variance of regressions, and the temperature of logits.
const (
	regressionVariance = 0.25
	temperature        = 0.1
)

// mixtureVariance is the variance of each coordinate around the nearest mean.
const mixtureVariance = 0.05

// hiddenUnits is the width of the networks of the nonlinear tasks, of tanh units.
const hiddenUnits = 32

// kind is the kind of rows of a task.
type kind int

const (
	gaussianMean     kind = iota // rows N(θ, Σ), Σ known
	mixtureMeans                 // rows of two normals with means θ, equal weights and known variance
	regression                   // y normal about x'θ
	classes                      // y one with odds exp(x'θ / temperature)
	nonlinear                    // y normal about a network of x with weights θ
	nonlinearClasses             // y one with odds exp(network / temperature)
)

// hasResponse reports whether rows are predictors followed by a response.
func (k kind) hasResponse() bool { return k >= regression }

// isNetwork reports whether θ are the weights of a network.
func (k kind) isNetwork() bool { return k == nonlinear || k == nonlinearClasses }

// hasClasses reports whether responses are −1 and 1.
func (k kind) hasClasses() bool { return k == classes || k == nonlinearClasses }

// Options set the start of the networks of tasks, and their training data.
type Options struct {
	Encoder encode.Config
	Kind    Encoder // of Encoder
	// Computed reports whether q(θ | D) starts from a normal approximation computed for every data
	// set, and not from the prior.
	Computed bool
	// Source is the source of data sets.
	Source Source
}

// Task is a task of table 1, as a family with a single model. Parameters are standard normal. With
// Options.Computed the family's parameters are z of θ = center + root z.
type Task struct {
	Name    string
	options Options
	kind    kind
	dim     int // of rows without the response
	// Accuracy reports whether the figure is the accuracy in percent, and not a squared distance.
	Accuracy bool

	encoder    *encode.Encoder
	trace      float64       // of Σ
	covariance *mat.SymDense // Σ of gaussianMean
	root       mat.Cholesky
	precision  mat.SymDense // Σ⁻¹
	inverse    mat.TriDense // L⁻¹ of Σ = L Lᵀ, so that Σ⁻¹ = L⁻ᵀ L⁻¹
}

// Tasks are the tasks of the table.
func Tasks(o Options) ([]*Task, error) {
	encoder, err := encode.New(o.Kind.In(o.Encoder))
	if err != nil {
		return nil, err
	}
	tasks := []*Task{
		{Name: "gaussian-5", kind: gaussianMean, dim: 5, trace: 1.6},
		{Name: "gaussian-25", kind: gaussianMean, dim: 25, trace: 4.4},
		{Name: "mixture", kind: mixtureMeans, dim: 2},
		{Name: "regression-5", kind: regression, dim: 5},
		{Name: "regression-100", kind: regression, dim: 100},
		{Name: "classes-5", kind: classes, dim: 5},
		{Name: "classes-100", kind: classes, dim: 100},
		{Name: "nonlinear-5", kind: nonlinear, dim: 5},
		{Name: "nonlinear-25", kind: nonlinear, dim: 25},
		{Name: "nonlinear-classes-5", kind: nonlinearClasses, dim: 5},
		{Name: "nonlinear-classes-25", kind: nonlinearClasses, dim: 25},
	}
	for _, t := range tasks {
		t.options, t.encoder, t.Accuracy = o, encoder, t.kind.hasClasses()
		if t.kind == gaussianMean {
			t.drawCovariance()
		}
	}
	if o.Source != FromModel { // functions of x
		tasks = slices.DeleteFunc(tasks, func(t *Task) bool { return t.kind != regression && t.kind != nonlinear })
	}
	return tasks, nil
}

// drawCovariance draws a full covariance whose trace is the figure of the paper's networks.
func (t *Task) drawCovariance() {
	random := stream.Rand(1, "covariance")
	a := mat.NewDense(t.dim, t.dim, nil)
	fill(a, random.NormFloat64)
	var s mat.SymDense
	s.SymOuterK(1, a)
	for i := range t.dim {
		s.SetSym(i, i, s.At(i, i)+0.5)
	}
	s.ScaleSym(t.trace/mat.Trace(&s), &s)
	t.covariance = &s
	if !t.root.Factorize(&s) || t.root.InverseTo(&t.precision) != nil {
		panic("amortize: the covariance is singular")
	}
	var lower mat.TriDense
	t.root.LTo(&lower)
	if err := t.inverse.InverseTri(&lower); err != nil {
		panic("amortize: " + err.Error())
	}
}

func fill(m *mat.Dense, draw func() float64) {
	values := m.RawMatrix().Data
	for i := range values {
		values[i] = draw()
	}
}

// Space implements amortize.Family: one model.
func (t *Task) Space() space.Space {
	sp, err := space.NewTable([][]bool{slices.Repeat([]bool{true}, t.parameters())})
	if err != nil {
		panic(err) // at least one parameter
	}
	return sp
}

func (t *Task) parameters() int {
	switch {
	case t.kind == mixtureMeans:
		return 2 * t.dim
	case t.kind.isNetwork():
		return hiddenUnits*(t.dim+2) + 1
	}
	return t.dim
}

func (t *Task) width() int {
	if t.kind.hasResponse() {
		return t.dim + 1
	}
	return t.dim
}

// Width implements amortize.Family.
func (t *Task) Width() int { return t.encoder.Config().Hidden + t.summaries() }

// Settings implements amortize.Family.
func (t *Task) Settings() any {
	return map[string]any{"task": t.Name, "encoder": t.encoder.Config(), "kind": t.options.Kind.String(), "computed": t.options.Computed, "source": t.options.Source.String()}
}

// mostPaired is the largest number of predictors whose products a network reads.
const mostPaired = 8

// Encode implements amortize.Family. Rows of few predictors are read with the products of their
// numbers, whose means suffice for linear tasks; the computed start is read with its summaries.
func (t *Task) Encode(ctx *vti.Context, data []*Node) *Node {
	rows, present := data[rowsArray], data[presentArray]
	dims := rows.Shape().Dimensions
	if t.kind.hasResponse() && t.dim <= mostPaired {
		pairs := Mul(InsertAxes(rows, -1), InsertAxes(rows, -2))
		rows = Concatenate([]*Node{rows, Reshape(pairs, dims[0], dims[1], -1)}, -1)
	}
	encoding := t.encoder.Encode(ctx, rows, GreaterThan(present, ZerosLike(present)))
	if t.options.Computed {
		encoding = Concatenate([]*Node{encoding, data[summaryArray]}, -1)
	}
	return encoding
}

// LogPrior implements amortize.Family.
func (t *Task) LogPrior(_ []*Node, codes *Node) *Node {
	return Zeros(codes.Graph(), shapes.Make(dtypes.Float64, codes.Shape().Dim(0)))
}

// check reports why an objective cannot be trained.
func (t *Task) check(objective amortize.Objective) error {
	if t.options.Source != FromModel && objective == amortize.BothKL {
		return fmt.Errorf("data from a %s have no parameters of the model: want the objective reverse or forward, which trains on the model's own", t.options.Source)
	}
	return nil
}
