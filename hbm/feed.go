package hbm

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// feed brings selections of members into graphs: the weights and indices of plates, the data and
// the free encodings of the members selected.
type feed struct {
	model *Model
	// data holds one set of values of each variable, or as many sets of an observed variable as
	// there are draws, [plates..., sets, event...].
	data      Values
	dtype     dtypes.DType
	encodings []*encodings
	models    []int32 // of each draw, or of all, of a choice
}

// known lists the variables whose values are data.
func (f *feed) known() []*Variable {
	return append(f.model.withRole(Constant), f.model.withRole(Observed)...)
}

// inputs are the arguments of a graph that calls replica, for one selection.
func (f *feed) inputs(c *selection) []any {
	var inputs []any
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

// encodingInputs are the last of inputs, which change from step to step: encodings, and models.
func (f *feed) encodingInputs(c *selection) []any {
	var inputs []any
	for _, e := range f.encodings {
		inputs = append(inputs, e.gather(c.rows(e.variable), c.dims(e.variable))...)
	}
	if f.model.choice != nil {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(f.models, len(f.models)))
	}
	return inputs
}

// replica reads inputs in a graph. It also returns the columns of each table of encodings.
func (f *feed) replica(s *selector, inputs []*Node) (r *replica, columns [][]*Node) {
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
	if f.model.choice != nil {
		r.models, r.choice = next(), f.model.choice
	}
	return r, columns
}

// dims are the numbers of members of the plates of a variable in a selection.
func (c *selection) dims(v *Variable) []int {
	dims := make([]int, len(v.plates))
	for i, p := range v.plates {
		dims[i] = len(c.members[p])
	}
	return dims
}

// counts tells for each of the rows of a variable whether it stands for a member or was left over.
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
