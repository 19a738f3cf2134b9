package hbm

import (
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/space"
)

// feed brings selections of members into graphs: the weights and indices of plates, the data and
// the free encodings of the members selected.
type feed struct {
	model *Model
	// data holds one set of values of each variable, or for an observed variable one set for each
	// draw, [plates..., sets, event...].
	data      Values
	dtype     dtypes.DType
	encodings []*encodings
	// of is the fed family over a space of models; nil: there is one model. If code is not nil, the
	// whole of its model is fed, and data are no inputs.
	of   *targetFamily
	code []int32
	// present lists the unconstrained numbers of each member of each latent variable that the model
	// has: the others weigh nothing. nil: it has all.
	present [][][]int
}

// numbers are the unconstrained numbers of a member of the i-th latent variable that the model has.
func (f *feed) numbers(i int, l *latent, member int) []int {
	if f.present == nil {
		return l.numbers
	}
	return f.present[i][member]
}

// given is the feed of the model of a code, for a family over a space of models.
func (f *feed) given(code []int32) *feed {
	own := *f
	own.code = code
	mask := f.of.space.(space.RowMasker).MaskRow(code, nil)
	for _, l := range f.of.family.latents {
		members := make([][]int, l.Members())
		for member := range members {
			for u := range l.dim {
				if mask[u] {
					members[member] = append(members[member], u)
				}
			}
			mask = mask[l.dim:]
		}
		own.present = append(own.present, members)
	}
	return &own
}

// known lists the variables whose values are data.
func (f *feed) known() []*Variable {
	return append(f.model.withRole(Constant), f.model.withRole(Observed)...)
}

// inputs are the arguments of a graph that calls replica, for one selection.
func (f *feed) inputs(c *selection) []any {
	var inputs []any
	if f.code != nil {
		return append(inputs, tensors.FromFlatDataAndDimensions(slices.Clone(f.code), 1, len(f.code)))
	}
	for _, p := range f.model.plates {
		inputs = append(inputs, c.weight[p])
		for _, parent := range p.parents {
			inputs = append(inputs, c.index[parent])
		}
	}
	for _, v := range f.known() {
		rows, sets := c.rows(v), len(f.data[v])/(v.Members()*v.EventSize())
		size := sets * v.EventSize()
		part := make([]float64, 0, len(rows)*size)
		for _, row := range rows {
			part = append(part, f.data[v][row*size:(row+1)*size]...)
		}
		dims := append(append(c.dims(v), sets), v.event...)
		if f.dtype == dtypes.Float32 {
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(single(part), dims...))
		} else {
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(part, dims...))
		}
	}
	return append(inputs, f.encodingInputs(c)...)
}

// encodingInputs are the last of inputs: the encodings, which change from step to step.
func (f *feed) encodingInputs(c *selection) []any {
	var inputs []any
	for _, e := range f.encodings {
		inputs = append(inputs, e.gather(c.rows(e.variable), c.dims(e.variable))...)
	}
	return inputs
}

// replica reads inputs in a graph. It also returns the columns of each table of encodings.
func (f *feed) replica(s *selector, inputs []*Node) (r *replica, columns [][]*Node) {
	if f.code != nil {
		models := f.of.space
		return f.of.given(models.Mask(inputs[0]), space.Features(models, inputs[0], f.dtype), f.dtype), nil
	}
	r = &replica{
		graph: inputs[0].Graph(), dtype: f.dtype, sizes: map[*Plate]int{}, index: map[*membership]*Node{},
		values: map[*Variable]*Node{}, weights: map[*Plate]*Node{}, encodings: map[*Variable]*Node{},
	}
	next := func() (input *Node) {
		input, inputs = inputs[0], inputs[1:]
		return input
	}
	for _, p := range f.model.plates {
		r.sizes[p] = s.size(p)
		r.weights[p] = next()
		for _, parent := range p.parents {
			r.index[parent] = next()
		}
	}
	for _, v := range f.known() {
		r.values[v] = next()
	}
	for _, e := range f.encodings {
		var own []*Node
		for range encodingColumns {
			own = append(own, next())
		}
		columns = append(columns, own)
		r.encodings[e.variable] = InsertAxes(ConvertDType(own[encodingValue], f.dtype), -2)
	}
	return r, columns
}

func (c *selection) dims(v *Variable) []int {
	dims := make([]int, len(v.plates))
	for i, p := range v.plates {
		dims[i] = len(c.members[p])
	}
	return dims
}

// counts reports for each of the rows of a variable whether it stands for a member or is unused.
func (c *selection) counts(v *Variable) []bool {
	counts := []bool{true}
	for _, p := range v.plates {
		next := make([]bool, 0, len(counts)*len(c.weight[p]))
		for _, above := range counts {
			for _, weight := range c.weight[p] {
				next = append(next, above && weight > 0)
			}
		}
		counts = next
	}
	return counts
}

func single(values []float64) []float32 {
	converted := make([]float32, len(values))
	for i, value := range values {
		converted[i] = float32(value)
	}
	return converted
}

// encodings are the free encodings of all members of a latent variable, E_i of PAVI section 4.3,
// with the state of Adam. They are kept on the host: a step sees and changes only the encodings of
// its members, out of any number.
type encodings struct {
	variable *Variable
	width    int
	// values, first and second moments [N_i, width], steps [N_i]
	columns [encodingColumns][]float32
}

// The columns that are kept for a member.
const (
	encodingValue = iota
	encodingFirst
	encodingSecond
	encodingSteps
	encodingColumns
)

// startSpread is the standard deviation of encodings at the start.
const startSpread = 0.01

func newEncodings(v *Variable, width int, spread float64, seed uint64) *encodings {
	e := &encodings{variable: v, width: width}
	random := stream.Rand(seed, "init/encodings/"+v.name)
	for i := range e.columns {
		e.columns[i] = make([]float32, v.Members()*e.columnWidth(i))
	}
	for i := range e.columns[encodingValue] {
		e.columns[encodingValue][i] = float32(spread * random.NormFloat64())
	}
	return e
}

func (e *encodings) columnWidth(i int) int {
	if i == encodingSteps {
		return 1
	}
	return e.width
}

// gather takes the rows of a selection, as tensors [plates..., width].
func (e *encodings) gather(rows, dims []int) []any {
	inputs := make([]any, encodingColumns)
	for i, column := range e.columns {
		width := e.columnWidth(i)
		part := make([]float32, 0, len(rows)*width)
		for _, row := range rows {
			part = append(part, column[row*width:(row+1)*width]...)
		}
		inputs[i] = tensors.FromFlatDataAndDimensions(part, append(dims[:len(dims):len(dims)], width)...)
	}
	return inputs
}

// scatter stores the results of an update for the rows of a selection that count.
func (e *encodings) scatter(rows []int, counts []bool, outputs []*tensors.Tensor) {
	for i, output := range outputs {
		width := e.columnWidth(i)
		output.MustConstFlatData(func(flat any) {
			part := flat.([]float32)
			for place, row := range rows {
				if counts[place] {
					copy(e.columns[i][row*width:(row+1)*width], part[place*width:(place+1)*width])
				}
			}
		})
	}
}

// updateEncodings is one step of Adam on the gathered columns of some members, in the order of the
// columns. It changes nothing if apply is false.
func updateEncodings(columns []*Node, gradient, learningRate, apply *Node) []*Node {
	steps := AddScalar(columns[encodingSteps], 1)
	increment, first, second := train.Adam{SecondDecay: secondDecay}.Step(gradient, columns[encodingFirst], columns[encodingSecond], learningRate, ConvertDType(steps, dtypes.Float64))
	updated := []*Node{Add(columns[encodingValue], increment), first, second, steps}
	for i := range updated {
		updated[i] = Where(apply, updated[i], columns[i])
	}
	return updated
}
