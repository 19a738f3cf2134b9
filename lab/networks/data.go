package networks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/amortize"
)

// Source is a source of data sets: the model of the task or, for regressions, functions outside the
// model.
type Source int

const (
	// FromModel draws parameters from the prior.
	FromModel Source = iota
	// FromProcess draws functions of a Gaussian process with a squared exponential kernel.
	FromProcess
	// FromNetwork draws networks of two hidden layers of rectified units.
	FromNetwork
)

var sourceNames = [...]string{"model", "process", "network"}

// String returns "model", "process" or "network".
func (s Source) String() string { return sourceNames[s] }

// ParseSource returns the source for which String returns s.
func ParseSource(s string) (Source, error) {
	if i := slices.Index(sourceNames[:], s); i >= 0 {
		return Source(i), nil
	}
	return 0, fmt.Errorf("unknown source %q; want model, process or network", s)
}

// These are the indices of the arrays of a problem, in which N is the largest number of rows, W the
// width of a row and D the number of parameters. The last four arrays exist only if q(θ | data)
// starts from a computed approximation.
const (
	rowsArray    = iota // [N, W]
	presentArray        // [N]
	centerArray         // [D]
	rootArray           // [D, D]
	logDetArray         // [1]: log |root|
	summaryArray        // input of the network
)

// dataSet is a data set with a function more, which draws further rows from its source.
type dataSet struct {
	rows  [][]float64
	theta []float64 // nil for data from outside the model
	more  func() []float64
}

// dataSet draws a data set.
func (t *Task) dataSet(random *rand.Rand) dataSet {
	var d dataSet
	switch t.options.Source {
	case FromProcess:
		d.more = t.rowsAbout(processFunction(t.dim, random), random)
	case FromNetwork:
		d.more = t.rowsAbout(networkFunction(t.dim, random), random)
	default:
		d.theta = normals(t.parameters(), random)
		d.more = func() []float64 { return t.drawRow(d.theta, random) }
	}
	d.rows = make([][]float64, leastRows+random.IntN(mostRows-leastRows+1))
	for i := range d.rows {
		d.rows[i] = d.more()
	}
	return d
}

func normals(n int, random *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = random.NormFloat64()
	}
	return values
}

// rowsAbout returns a function that draws rows whose response is f of the predictors plus noise.
func (t *Task) rowsAbout(f func(x []float64) float64, random *rand.Rand) func() []float64 {
	return func() []float64 {
		x := normals(t.dim, random)
		return append(x, f(x)+math.Sqrt(regressionVariance)*random.NormFloat64())
	}
}

// functionSD is the standard deviation of the values of functions outside the model. It is about
// the standard deviation of the predictions of a linear regression with 5 predictors.
const functionSD = 2.2

// processFunction draws a function from a Gaussian process with kernel functionSD² exp(−|x − x'|² /
// 2l²), where l² is the number of predictors. It uses random Fourier features (Rahimi and Recht
// 2007).
func processFunction(dim int, random *rand.Rand) func(x []float64) float64 {
	const features = 256
	frequencies, phases := make([][]float64, features), make([]float64, features)
	for k := range frequencies {
		frequencies[k] = normals(dim, random)
		floats.Scale(1/math.Sqrt(float64(dim)), frequencies[k])
		phases[k] = 2 * math.Pi * random.Float64()
	}
	weights := normals(features, random)
	return func(x []float64) (sum float64) {
		for k, w := range weights {
			sum += w * math.Cos(floats.Dot(frequencies[k], x)+phases[k])
		}
		return functionSD * math.Sqrt(2./features) * sum
	}
}

// networkFunction draws a network of two layers of 16 rectified units, with He's initial weights.
func networkFunction(dim int, random *rand.Rand) func(x []float64) float64 {
	const units = 16
	layer := func(inputs, outputs int, scale float64) func(x []float64) []float64 {
		weights := normals(inputs*outputs, random)
		floats.Scale(scale*math.Sqrt(2/float64(inputs)), weights)
		return func(x []float64) []float64 {
			out := make([]float64, outputs)
			for k := range out {
				out[k] = floats.Dot(weights[k*inputs:(k+1)*inputs], x)
			}
			return out
		}
	}
	rectify := func(x []float64) []float64 {
		for i, v := range x {
			x[i] = math.Max(v, 0)
		}
		return x
	}
	first, second, last := layer(dim, units, 1), layer(units, units, 1), layer(units, 1, functionSD/math.Sqrt2)
	return func(x []float64) float64 { return last(rectify(second(rectify(first(x)))))[0] }
}

// Simulate implements amortize.Family.
func (t *Task) Simulate(random *rand.Rand) (*amortize.Problem, error) {
	d := t.dataSet(random)
	problem, _, err := t.problem(d)
	return problem, err
}

// problem returns a data set in the form that a network reads, and its anchor, the normal
// approximation from which q(θ | data) starts. The anchor is nil if q starts from the prior.
func (t *Task) problem(d dataSet) (*amortize.Problem, *anchor, error) {
	rows, present := make([]float64, mostRows*t.width()), make([]float64, mostRows)
	for i, row := range d.rows {
		copy(rows[i*t.width():], row)
		present[i] = 1
	}
	p := &amortize.Problem{
		Data:  []amortize.Array{{Values: rows, Dims: []int{mostRows, t.width()}}, {Values: present, Dims: []int{mostRows}}},
		Theta: d.theta,
	}
	if d.theta != nil {
		p.Code = []int32{0}
	}
	if !t.options.Computed {
		return p, nil, nil
	}
	a, err := t.anchor(d.rows)
	if err != nil {
		return nil, nil, err
	}
	dim := t.parameters()
	p.Data = append(p.Data,
		amortize.Array{Values: a.center, Dims: []int{dim}}, amortize.Array{Values: a.root.RawMatrix().Data, Dims: []int{dim, dim}},
		amortize.Array{Values: []float64{a.logDet}, Dims: []int{1}}, amortize.Array{Values: t.summary(a), Dims: []int{t.summaries()}})
	if d.theta != nil {
		p.Theta = a.toBase(t.labelled(d.theta, a.center))
	}
	return p, a, nil
}

// labelled returns the parameters of a mixture with its two components in the order in which they
// are nearer to the argument center, because the order is arbitrary. For other tasks, it returns
// theta.
func (t *Task) labelled(theta, center []float64) []float64 {
	if t.kind != mixtureMeans {
		return theta
	}
	swapped := append(slices.Clone(theta[t.dim:]), theta[:t.dim]...)
	if floats.Distance(swapped, center, 2) < floats.Distance(theta, center, 2) {
		return swapped
	}
	return theta
}

// drawRow draws a row given the parameters.
func (t *Task) drawRow(theta []float64, random *rand.Rand) []float64 {
	row := make([]float64, t.width())
	z := normals(t.dim, random)
	switch t.kind {
	case gaussianMean:
		var lower mat.TriDense
		t.root.LTo(&lower)
		var noise mat.VecDense
		noise.MulVec(&lower, mat.NewVecDense(t.dim, z))
		for j := range row {
			row[j] = theta[j] + noise.AtVec(j)
		}
		return row
	case mixtureMeans:
		from := random.IntN(2) * t.dim
		for j := range row {
			row[j] = theta[from+j] + math.Sqrt(mixtureVariance)*z[j]
		}
		return row
	}
	copy(row, z)
	eta := t.predict(z, theta, nil)
	switch {
	case !t.kind.hasClasses():
		row[t.dim] = eta + math.Sqrt(regressionVariance)*random.NormFloat64()
	case random.Float64() < 1/(1+math.Exp(-eta/temperature)):
		row[t.dim] = 1
	default:
		row[t.dim] = -1
	}
	return row
}

// loss returns the error of a row under parameters, a squared distance. For classes it returns 100
// if the predicted class is right and 0 otherwise.
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
	eta := t.predict(row[:t.dim], theta, nil)
	switch {
	case !t.kind.hasClasses():
		return (row[t.dim] - eta) * (row[t.dim] - eta)
	case row[t.dim]*eta > 0:
		return 100
	}
	return 0
}
