package hbm

import (
	gocontext "context"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/space"
)

// Simulator draws all variables of a model, parents first, in Float64.
type Simulator struct {
	model *Model
	steps []*simulation
	over  *Target // the target over a space of models; nil if there is one model
}

// simulation evaluates the parameters of one variable from the values of its parents.
type simulation struct {
	variable *Variable
	parents  []*Variable
	exec     *Exec
	absent   []float64 // over a space of models: the value of numbers that a model lacks
}

// NewSimulator prepares to draw from a model.
func NewSimulator(device *gpu.Device, m *Model) (*Simulator, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	s := &Simulator{model: m}
	for _, v := range m.variables {
		if v.role == Constant {
			continue
		}
		if v.density.draw == nil {
			return nil, fmt.Errorf("hbm: variable %q cannot be simulated: density %q cannot draw", v.name, v.density.name)
		}
		step := &simulation{variable: v, parents: v.Parents()}
		if len(v.density.terms) > 0 {
			exec, err := NewExecAny(device.Backend(), step.graphFor(m))
			if err != nil {
				return nil, err
			}
			step.exec = exec
		}
		s.steps = append(s.steps, step)
	}
	return s, nil
}

// Simulator prepares to draw from the models of the space; see Simulator.DrawSets.
func (t *Target) Simulator(device *gpu.Device) (*Simulator, error) {
	if _, ok := t.space.(space.RowMasker); !ok {
		return nil, fmt.Errorf("hbm: got a space %T, want one with masks of single models (space.RowMasker)", t.space)
	}
	s, err := NewSimulator(device, t.model)
	if err != nil {
		return nil, err
	}
	s.over = t
	for _, l := range latents(t.model, false) {
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) {
			return ExecOnceN(device.Backend(), func(u *Node) *Node {
				value, _ := l.link.ToEvent(u, l.event)
				return value
			}, make([]float64, l.dim))
		})
		if err != nil {
			return nil, err
		}
		for _, step := range s.steps {
			if step.variable == l.Variable {
				step.absent = tensors.MustCopyFlatData[float64](outputs[0])
			}
		}
	}
	return s, nil
}

// graphFor returns a function that builds the graph of the parameters. Its inputs are a vector with
// an entry for each data set, the values of the parents and, over a space of models, which numbers
// of latent parents are present.
func (s *simulation) graphFor(m *Model) func(inputs []*Node) []*Node {
	return func(inputs []*Node) []*Node {
		r := m.wholeReplica(inputs[0].Graph(), dtypes.Float64)
		for i, parent := range s.parents {
			r.values[parent] = inputs[1+i]
		}
		if present := inputs[1+len(s.parents):]; len(present) > 0 {
			r.present = map[*Variable]*Node{}
			for _, parent := range s.latentParents() {
				r.present[parent], present = present[0], present[1:]
			}
		}
		rank := len(s.variable.plates)
		parameters := r.parameters(s.variable)
		for i, p := range parameters {
			dims := append([]int{}, p.Shape().Dimensions...)
			copy(dims, append(s.variable.shape()[:rank], inputs[0].Shape().Dim(0)))
			parameters[i] = BroadcastToDims(p, dims...)
		}
		return parameters
	}
}

func (s *simulation) latentParents() []*Variable {
	return slices.DeleteFunc(slices.Clone(s.parents), func(v *Variable) bool { return v.role != Latent })
}

// Draw simulates the model: values of all latent and observed variables, with the given seed and
// stream name. Constants, and other variables with values in known, keep these values. If ctx is
// cancelled, it stops with an error that wraps ctx.Err().
func (s *Simulator) Draw(ctx gocontext.Context, known Values, seed uint64, name string) (Values, error) {
	return s.DrawSets(ctx, known, 1, nil, seed, name)
}

// presentIn returns, for sets from the models of codes, which numbers of the latent variables are
// present: 1 for these and 0 for others, [plates..., sets, U]. It returns nil if codes is nil.
func (s *Simulator) presentIn(codes [][]int32) map[*Variable][]float64 {
	if codes == nil {
		return nil
	}
	present, first := map[*Variable][]float64{}, 0
	for _, l := range latents(s.model, false) {
		size := l.Members() * l.dim
		mask := make([]float64, size*len(codes))
		for set, code := range codes {
			for i, in := range s.over.space.(space.RowMasker).MaskRow(code, nil)[first : first+size] {
				if in {
					mask[(i/l.dim*len(codes)+set)*l.dim+i%l.dim] = 1
				}
			}
		}
		present[l.Variable], first = mask, first+size
	}
	return present
}

// DrawSets simulates several data sets at once. It returns values [plates..., sets, event...]. A
// variable in known has values [plates..., event...] for all sets, or values for each set. Over a
// space of models, codes names the model of each set. Numbers that a model lacks have the values
// that Target describes. Without a space of models, codes is nil.
func (s *Simulator) DrawSets(ctx gocontext.Context, known Values, sets int, codes [][]int32, seed uint64, name string) (Values, error) {
	present := s.presentIn(codes)
	all := Values{}
	for _, v := range s.model.variables {
		values, ok := known[v]
		if !ok && v.role == Constant {
			return nil, fmt.Errorf("hbm: constant %q has no values", v.name)
		}
		if size := v.Members() * v.EventSize(); ok && len(values) != size && len(values) != size*sets {
			return nil, fmt.Errorf("hbm: variable %q: got %s, want %d of shape %v", v.name, english.Count(len(values), "value"), v.Members()*v.EventSize(), v.shape())
		}
		if ok {
			all[v] = values
		}
	}
	for _, step := range s.steps {
		v := step.variable
		if _, ok := all[v]; ok {
			continue
		}
		parameters, err := step.parameters(all, sets, present)
		if err != nil {
			return nil, fmt.Errorf("hbm: parameters of %q: %w", v.name, err)
		}
		random := stream.Rand(seed, "simulate/"+name+"/"+v.name)
		size := v.EventSize()
		values := make([]float64, v.Members()*sets*size)
		rowParameters := make([][]float64, len(parameters))
		for row := range v.Members() * sets {
			if row%rowsPerCheck == 0 && ctx.Err() != nil {
				return nil, fmt.Errorf("hbm: simulation of %q stopped: %w", v.name, ctx.Err())
			}
			for i, p := range parameters {
				n := len(p) / (v.Members() * sets)
				rowParameters[i] = p[row*n : (row+1)*n]
			}
			v.density.draw(random, rowParameters, values[row*size:(row+1)*size])
			if mask := present[v]; mask != nil {
				step.remove(values[row*size:(row+1)*size], mask[row*len(mask)/(v.Members()*sets):])
			}
		}
		all[v] = values
	}
	return all, nil
}

// remove overwrites the components of value whose entries in present are 0, by the value of absent
// numbers.
func (s *simulation) remove(value, present []float64) {
	_, partly := s.variable.link.(partialLink)
	for i := range value {
		u := 0
		if partly {
			u = i
		}
		if present[u] == 0 {
			value[i] = s.absent[i]
		}
	}
}

// rowsPerCheck is the number of rows (far below a millisecond each) between cancellation checks.
const rowsPerCheck = 1 << 10

// parameters evaluates the parameters of the variable, [plates..., sets, event...] each.
func (s *simulation) parameters(known Values, sets int, present map[*Variable][]float64) ([][]float64, error) {
	if s.exec == nil {
		return nil, nil
	}
	inputs := []any{make([]bool, sets)} // its length tells the graph the number of data sets
	for _, parent := range s.parents {
		inputs = append(inputs, parent.tensorOf(known[parent]))
	}
	for _, parent := range s.latentParents() {
		if mask := present[parent]; mask != nil {
			dims := append(parent.shape()[:len(parent.plates)], sets)
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(mask, append(dims, len(mask)/(parent.Members()*sets))...))
		}
	}
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return s.exec.Exec(inputs...) })
	if err != nil {
		return nil, err
	}
	flat := apply.To(outputs, tensors.MustCopyFlatData[float64])
	return flat, nil
}
