// Package networks holds the tasks of Mittal et al. (2023, table 1) on exchangeable data sets, as
// families of problems for package amortize, and measures trained networks on them.
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

// leastRows and mostRows are the smallest and the largest number of rows of a data set.
const leastRows, mostRows = 64, 128

// These are constants of Mittal et al. (2023): the variance of the noise of regressions, and the
// number by which logits are divided.
const (
	regressionVariance = 0.25
	temperature        = 0.1
)

// mixtureVariance is the variance of each coordinate about the mean of its component.
const mixtureVariance = 0.05

// hiddenUnits is the number of hidden units, with tanh activation, of networks of nonlinear tasks.
const hiddenUnits = 32

// kind is the kind of rows of a task.
type kind int

const (
	gaussianMean     kind = iota // rows have the distribution N(θ, Σ) with known Σ
	mixtureMeans                 // rows from a mixture of two normals with means θ, equal weights and known variance
	regression                   // y normal about x'θ
	classes                      // y is 1 with odds exp(x'θ / temperature)
	nonlinear                    // y normal about a network of x with weights θ
	nonlinearClasses             // y is 1 with odds exp(output of the network / temperature)
)

// hasResponse reports whether rows are predictors followed by a response.
func (k kind) hasResponse() bool { return k >= regression }

// isNetwork reports whether θ are the weights of a network.
func (k kind) isNetwork() bool { return k == nonlinear || k == nonlinearClasses }

// hasClasses reports whether responses are −1 and 1.
func (k kind) hasClasses() bool { return k == classes || k == nonlinearClasses }

// Options holds settings of the networks that are trained on tasks, and of their data.
type Options struct {
	// Encoder holds the sizes of the encoder of data sets, and Kind is its architecture.
	Encoder encode.Config
	Kind    Encoder
	// Computed reports whether q(θ | data) starts from a normal approximation computed for each
	// data set, instead of from the prior.
	Computed bool
	// Source is the source of data sets.
	Source Source
}

// Task is a task of table 1 of Mittal et al. (2023), as an amortize.Family with a single model.
// Parameters θ have a standard normal prior. With Options.Computed, the parameters of the family
// are the z for which θ = center + root z, where N(center, root rootᵀ) is a computed approximation
// of the posterior.
type Task struct {
	// Name is the name of the task, for instance "regression-5" with 5 predictors.
	Name    string
	options Options
	kind    kind
	dim     int // numbers in a row, except the response
	// Accuracy reports whether the figure of the task is the accuracy in percent instead of a
	// squared distance.
	Accuracy bool

	encoder    *encode.Encoder
	trace      float64       // trace of Σ
	covariance *mat.SymDense // Σ of gaussianMean
	root       mat.Cholesky
	precision  mat.SymDense // Σ⁻¹
	inverse    mat.TriDense // L⁻¹ of Σ = L Lᵀ, so that Σ⁻¹ = L⁻ᵀ L⁻¹
}

// Tasks returns the tasks of table 1 of Mittal et al. (2023). For data from outside the model,
// these are the regressions.
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
	if o.Source != FromModel { // other sources have a response
		tasks = slices.DeleteFunc(tasks, func(t *Task) bool { return t.kind != regression && t.kind != nonlinear })
	}
	return tasks, nil
}

// drawCovariance draws a covariance Σ that is not diagonal. Its trace is the expected squared
// distance of the networks in the paper.
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
		panic("networks: the covariance is singular")
	}
	var lower mat.TriDense
	t.root.LTo(&lower)
	if err := t.inverse.InverseTri(&lower); err != nil {
		panic("networks: " + err.Error())
	}
}

func fill(m *mat.Dense, draw func() float64) {
	values := m.RawMatrix().Data
	for i := range values {
		values[i] = draw()
	}
}

// Space implements amortize.Family. There is one model.
func (t *Task) Space() space.Space {
	sp, err := space.NewTable([][]bool{slices.Repeat([]bool{true}, t.parameters())})
	if err != nil {
		panic(err) // impossible, since there is a parameter
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

// mostPaired is the largest number of predictors for which a network reads products of the numbers
// of a row.
const mostPaired = 8

// Encode implements amortize.Family. If there are few predictors, the network also reads the
// products of the numbers in each row, whose means are sufficient statistics of linear tasks. With
// a computed start, the network also reads the summary of the anchor.
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

// check returns an error if an objective cannot be trained on the task.
func (t *Task) check(objective amortize.Objective) error {
	if t.options.Source != FromModel && objective == amortize.BothKL {
		return fmt.Errorf("data from a %s have no parameters of the model: want the objective reverse or forward, which trains on the model's own", t.options.Source)
	}
	return nil
}
