package hbm

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/apply"
)

// Term is a parameter of a density: a Variable, a number (Number, Numbers), or a function of
// variables (Of). For a variable whose density has this parameter, the value is a graph node of
// shape [plates..., draws, event...], with the plates of that variable. Axes along which the value
// does not change may have size 1.
type Term interface {
	variables() []*Variable
	node(r *replica, plates []*Plate) *Node
}

func (v *Variable) variables() []*Variable { return []*Variable{v} }

func (v *Variable) node(r *replica, plates []*Plate) *Node {
	value, ok := r.values[v]
	if !ok {
		panic(fmt.Errorf("hbm: variable %q has no value yet", v.name))
	}
	return r.align(value, v.plates, plates)
}

// number is a constant, the same for all members.
type number struct {
	values []float64
	vector bool
}

// Number returns a constant parameter.
func Number(value float64) Term { return number{values: []float64{value}} }

// Numbers returns a constant vector, one number for each component of the event.
func Numbers(values ...float64) Term { return number{values: values, vector: true} }

func (number) variables() []*Variable { return nil }

func (n number) node(r *replica, plates []*Plate) *Node {
	dims := ones(len(plates) + 1)
	if n.vector {
		dims = append(dims, len(n.values))
	}
	return Reshape(ConvertDType(Const(r.graph, n.values), r.dtype), dims...)
}

// expression is a function of other terms.
type expression struct {
	function func(values []*Node) *Node
	inputs   []Term
}

// Of returns a differentiable function of other terms, such as a linear predictor. The function
// builds a graph. Its arguments are the values of the inputs, in order, as nodes [plates..., draws,
// event...] with the same leading axes; some axes may have size 1. It returns a node of this shape.
func Of(function func(values []*Node) *Node, inputs ...Term) Term {
	return expression{function, inputs}
}

func (e expression) variables() []*Variable {
	return slices.Concat(apply.To(e.inputs, Term.variables)...)
}

func (e expression) node(r *replica, plates []*Plate) *Node {
	values := apply.To(e.inputs, func(input Term) *Node { return input.node(r, plates) })
	return e.function(values)
}
