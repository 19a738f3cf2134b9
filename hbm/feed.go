package hbm

import (
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/space"
)

// feed provides the inputs of a graph for a selection of members of plates: the indices of the
// selected members, their weights, and the data.
type feed struct {
	model *Model
	// data holds one set of values of each variable, or for an observed variable one set for each
	// draw, [plates..., sets, event...].
	data  Values
	dtype dtypes.DType
	// target is the model over a space of models; nil if there is one model. If code is not nil, it
	// names a model of this space. The graph then uses all members of that model, and the data are
	// not among its inputs.
	target *targetFamily
	code   []int32
	// present lists, for each member of each latent variable, the unconstrained numbers that the
	// model named by code has. nil stands for all numbers.
	present [][][]int
}

// numbers returns the indices of the unconstrained numbers that the model of the feed has, for a
// member of the i-th latent variable.
func (f *feed) numbers(i int, l *latent, member int) []int {
	if f.present == nil {
		return l.numbers
	}
	return f.present[i][member]
}

// conditionOn returns the feed of the model that code names, for a family over a space of models.
func (f *feed) conditionOn(code []int32) *feed {
	ofCode := *f
	ofCode.code = code
	mask := f.target.space.(space.RowMasker).MaskRow(code, nil)
	for _, l := range f.target.family.latents {
		ofCode.present = append(ofCode.present, apply.UpTo(l.Members(), func(member int) []int {
			return apply.Where(l.dim, func(u int) bool { return mask[member*l.dim+u] })
		}))
		mask = mask[l.Members()*l.dim:]
	}
	return &ofCode
}

// known lists the observed variables and the constants.
func (f *feed) known() []*Variable {
	return append(f.model.withRole(Constant), f.model.withRole(Observed)...)
}

// inputs returns the inputs of a graph that calls the method replica, for one selection of members.
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
	for _, v := range f.model.Latents() {
		rows := apply.To(c.rows(v), func(row int) int32 { return int32(row) })
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(rows, len(rows), 1))
	}
	return inputs
}

// replica returns the members, weights and data that the inputs of a graph describe.
func (f *feed) replica(s *selector, inputs []*Node) *replica {
	if f.code != nil {
		models := f.target.space
		return f.target.conditionedReplica(models.Mask(inputs[0]), space.Features(models, inputs[0], f.dtype), f.dtype)
	}
	r := &replica{
		graph: inputs[0].Graph(), dtype: f.dtype, sizes: map[*Plate]int{}, index: map[*membership]*Node{},
		values: map[*Variable]*Node{}, weights: map[*Plate]*Node{},
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
	if !s.isWhole() {
		r.rows, r.encodings = map[*Variable]*Node{}, map[*Variable]*Node{}
		for _, v := range f.model.Latents() {
			r.rows[v] = next()
		}
	}
	return r
}

func (c *selection) dims(v *Variable) []int {
	return apply.To(v.plates, func(p *Plate) int { return len(c.members[p]) })
}

func single(values []float64) []float32 {
	return apply.To(values, func(value float64) float32 { return float32(value) })
}
