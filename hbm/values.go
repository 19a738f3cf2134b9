package hbm

import (
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/english"
)

// Values are the numbers of variables, each [plates..., event...] in row-major order.
type Values map[*Variable][]float64

// shape is that of all values of a variable, [plates..., event...].
func (v *Variable) shape() []int {
	var dims []int
	for _, p := range v.plates {
		dims = append(dims, p.size)
	}
	return append(dims, v.event...)
}

// memberName says which member has the given number: "x[group 2, sample 7]".
func (v *Variable) memberName(number int) string {
	at := make([]string, len(v.plates))
	for i := len(v.plates) - 1; i >= 0; i-- {
		at[i] = fmt.Sprintf("%s %d", v.plates[i].name, number%v.plates[i].size)
		number /= v.plates[i].size
	}
	return fmt.Sprintf("%s[%s]", v.name, strings.Join(at, ", "))
}

// CheckData reports what keeps values from being data of the model: an observed variable or a
// constant that is missing, a wrong number of values, or one outside the support of its density.
func (m *Model) CheckData(data Values) error {
	if err := m.Err(); err != nil {
		return err
	}
	for _, v := range m.variables {
		if v.role == Latent {
			continue
		}
		values, ok := data[v]
		if !ok {
			return fmt.Errorf("hbm: %s variable %q has no values", v.role, v.name)
		}
		size := v.EventSize()
		if len(values) != v.Members()*size {
			return fmt.Errorf("hbm: variable %q: got %s, want %d of shape %v", v.name, english.Count(len(values), "value"), v.Members()*size, v.shape())
		}
		support := Reals
		if v.role == Observed {
			support = v.density.support
		}
		for member := range v.Members() {
			if err := support.check(values[member*size : (member+1)*size]); err != nil {
				return fmt.Errorf("hbm: %s: %w", v.memberName(member), err)
			}
		}
	}
	return nil
}

// whole is the replica that holds all members of all plates in their order.
func (m *Model) whole(g *Graph, dtype dtypes.DType) *replica {
	r := &replica{graph: g, dtype: dtype, sizes: map[*Plate]int{}, index: map[*membership]*Node{}, values: map[*Variable]*Node{}}
	for _, p := range m.plates {
		r.sizes[p] = p.size
		for _, parent := range p.parents {
			r.index[parent] = Const(g, parent.index)
		}
	}
	return r
}

// tensorOf holds values of one or more sets of a variable as [plates..., sets, event...].
func (v *Variable) tensorOf(values []float64) *tensors.Tensor {
	dims := append(v.shape()[:len(v.plates)], len(values)/(v.Members()*v.EventSize()))
	return tensors.FromFlatDataAndDimensions(values, append(dims, v.event...)...)
}
