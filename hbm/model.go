package hbm

import (
	"errors"
	"fmt"
	"slices"
)

// Model is a hierarchical model with plates: the graph template of PAVI, section 3.1. It is built
// from top to bottom: each variable names existing variables on which it depends, so there are no
// cycles. Mistakes are collected, and reported together by Err and by every use of the model.
type Model struct {
	plates    []*Plate
	variables []*Variable
	errs      []error
}

// NewModel returns a model without variables.
func NewModel() *Model { return &Model{} }

// Role says whether a variable is latent, observed or a constant.
type Role int

const (
	Latent   Role = iota // to be inferred
	Observed             // data with a density
	Constant             // data without a density: covariates, numbers of trials, known scales
)

// String returns "latent", "observed" or "constant".
func (r Role) String() string { return [...]string{"latent", "observed", "constant"}[r] }

// Variable is a template of random variables, one member for each combination of members of its
// plates: θ_i or X of PAVI eq. 2. A variable is a Term: in the density of another variable it
// stands for its value at the member to which the member of the other variable belongs.
type Variable struct {
	model   *Model
	name    string
	role    Role
	plates  []*Plate
	event   []int
	density Density
	link    Link // the map from real numbers to the values of a latent variable
	// initial has the mean and sd of each number at the start of inference (see Near), or nil
	initial [2][]float64
}

// Option sets a property of a variable.
type Option func(*Variable)

// On puts a variable on plates, in the order of the axes of its values.
func On(plates ...*Plate) Option { return func(v *Variable) { v.plates = plates } }

// Event gives the value of each member a shape; without this option it is a number.
func Event(dims ...int) Option { return func(v *Variable) { v.event = dims } }

// Through replaces the link of a latent variable, by default a link for the support of its density.
func Through(link Link) Option { return func(v *Variable) { v.link = link } }

// Near starts the inference of a latent variable near a normal distribution of its unconstrained
// numbers, with a mean and a standard deviation for each. By default inference starts near the
// prior, if the prior has a normal approximation. Only the start of training depends on this
// option.
func Near(mean, sd []float64) Option { return func(v *Variable) { v.initial = [2][]float64{mean, sd} } }

// Latent adds a variable to be inferred.
func (m *Model) Latent(name string, density Density, options ...Option) *Variable {
	return m.add(&Variable{name: name, role: Latent, density: density}, options)
}

// Observed adds a variable whose values are data.
func (m *Model) Observed(name string, density Density, options ...Option) *Variable {
	return m.add(&Variable{name: name, role: Observed, density: density}, options)
}

// Constant adds known numbers that densities of other variables may depend on.
func (m *Model) Constant(name string, options ...Option) *Variable {
	return m.add(&Variable{name: name, role: Constant}, options)
}

func (m *Model) add(v *Variable, options []Option) *Variable {
	v.model = m
	for _, option := range options {
		option(v)
	}
	if err := v.check(); err != nil {
		m.fail("variable %q: %w", v.name, err)
	}
	m.variables = append(m.variables, v)
	return v
}

// check returns an error if a variable cannot be added to its model.
func (v *Variable) check() error {
	if v.name == "" {
		return errors.New("it has no name")
	}
	for _, other := range v.model.variables {
		if other.name == v.name {
			return errors.New("there are two of this name")
		}
	}
	for i, plate := range v.plates {
		if plate == nil || plate.model != v.model {
			return fmt.Errorf("plate %d is not of this model", i)
		}
		if slices.Contains(v.plates[:i], plate) {
			return fmt.Errorf("it is twice on plate %q", plate.name)
		}
	}
	for i, dim := range v.event {
		if dim < 1 {
			return fmt.Errorf("axis %d of its event has size %d", i, dim)
		}
	}
	if v.role == Constant {
		return nil
	}
	if v.density.logProb == nil {
		return errors.New("it has no density")
	}
	for _, parent := range v.Parents() {
		if !slices.Contains(v.model.variables, parent) {
			return fmt.Errorf("its parent %q is unknown to the model", parent.name)
		}
		for _, plate := range parent.plates {
			if plate.carrier(v.plates) < 0 {
				return fmt.Errorf("its parent %q is on plate %q, and no plate of it leads there: it would have many parents", parent.name, plate.name)
			}
		}
	}
	if v.role == Observed {
		return nil
	}
	if v.link == nil {
		if v.link = v.density.support.link(); v.link == nil {
			return fmt.Errorf("%s takes %s: it cannot be latent, sum it out in a mixture", v.density.name, v.density.support)
		}
	}
	if got := v.link.Support(); got != v.density.support {
		return fmt.Errorf("%s takes %s, and its link yields %s", v.density.name, v.density.support, got)
	}
	dim, err := v.link.Dim(v.event)
	if n, m := len(v.initial[0]), len(v.initial[1]); err == nil && n+m > 0 && (n != dim || m != dim) {
		return fmt.Errorf("it starts near %d means and %d standard deviations, want %d of each", n, m, dim)
	}
	return err
}

// Err returns all mistakes in building the model; nil if there are none.
func (m *Model) Err() error { return errors.Join(m.errs...) }

func (m *Model) fail(format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf("hbm: "+format, args...))
}

// Variables lists the variables, parents before children.
func (m *Model) Variables() []*Variable { return slices.Clone(m.variables) }

// Plates lists the plates in the order they were added.
func (m *Model) Plates() []*Plate { return slices.Clone(m.plates) }

// Latents lists the variables to be inferred, parents before children.
func (m *Model) Latents() []*Variable { return m.withRole(Latent) }

func (m *Model) withRole(role Role) []*Variable {
	return slices.DeleteFunc(m.Variables(), func(v *Variable) bool { return v.role != role })
}

// Name returns the name of the variable.
func (v *Variable) Name() string { return v.name }

// Members returns the number N_i of members: the product of the sizes of the plates.
func (v *Variable) Members() int { return sizeOf(v.plates) }

// EventSize returns the number of entries in the value of one member.
func (v *Variable) EventSize() int { return product(v.event) }

// Parents returns the variables on which the density depends, each once, in order of its terms.
func (v *Variable) Parents() []*Variable {
	var parents []*Variable
	for _, term := range v.density.terms {
		for _, parent := range term.variables() {
			if !slices.Contains(parents, parent) {
				parents = append(parents, parent)
			}
		}
	}
	return parents
}

// String writes the variable with its plates and its event, as in x[group[3] sample[50]][2].
func (v *Variable) String() string {
	s := v.name
	if len(v.plates) > 0 {
		s += fmt.Sprint(v.plates)
	}
	if len(v.event) > 0 {
		s += fmt.Sprint(v.event)
	}
	return s
}

func product(dims []int) int {
	size := 1
	for _, dim := range dims {
		size *= dim
	}
	return size
}
