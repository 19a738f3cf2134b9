package hbm

import (
	"fmt"
	"math"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/made"
)

// setEncoder computes from the data the encodings of members of plates: a few numbers for each
// member, such as a group. Its networks do not depend on the order or the amount of the data. They
// are deep sets (PAVI appendix A.1.3) or set transformers (ADAVI section 2.2). The encoder first
// encodes each datum. It then contracts the encodings, plate by plate, until each member of a plate
// has one: E_h = f(E_{h−1}) of ADAVI eq. 1. Its number of weights does not depend on the plates.
type setEncoder struct {
	pool  pooling
	sizes EncoderConfig
	seed  uint64
	units map[*Variable]units // for observed variables, and for the constants in their densities
	// products says that products of two numbers of a datum are inputs too, because linear
	// regressions depend on the means of these products.
	products bool
}

// pooling is the method that contracts the encodings of the members of a set to one.
type pooling int

const (
	meanPool      pooling = iota // the mean of features of the members (deep sets)
	squarePool                   // the means of features and of their squares (Agrawal and Domke 2021, appendix A)
	attentionPool                // attention (set transformer)
)

// units holds the means and standard deviations by which data are standardised.
type units struct{ mean, sd []float64 } // one for each number of an event

// unitsScope is the scope of the units of data. The units are stored, because a family reads later
// data in the units of its training.
const unitsScope = "units"

// unitsOf returns mean and standard deviation of the numbers of a variable, [n].
func (s *setEncoder) unitsOf(ctx *context.Context, r *replica, v *Variable) (mean, sd *Node) {
	u := s.units[v]
	scope := "/" + unitsScope + "/" + v.scope()
	if flow := "/" + evaluate.FlowScope; strings.HasPrefix(ctx.Scope(), flow+"/") {
		scope = flow + scope // a scope with this prefix is part of a vti.Beginning
	}
	scaling := ctx.InAbsPath(scope).Checked(false)
	both := ConvertDType(scaling.VariableWithValue("values", [][]float64{u.mean, u.sd}).SetTrainable(false).ValueGraph(r.graph), r.dtype)
	row := func(i int) *Node { return Squeeze(SliceAxis(both, 0, AxisElem(i)), 0) }
	return row(0), row(1)
}

func newSetEncoder(m *Model, data Values, pool pooling, cfg Config) *setEncoder {
	s := &setEncoder{pool: pool, sizes: cfg.Encoder.withDefaults(), seed: cfg.Seed, products: cfg.Products, units: map[*Variable]units{}}
	s.measure(m, data)
	return s
}

// rounding is the largest spread of numbers, relative to their mean, that counts as no spread.
// Constants can be the same in all simulated data sets except for rounding errors. Without this
// limit the rounding errors would be the unit of the constants, and some data sets would have
// constants thousands of units away.
const rounding = 1e-9

// measure sets the units of the data to their mean and standard deviation.
func (s *setEncoder) measure(m *Model, data Values) {
	for _, v := range m.variables {
		if v.role == Latent {
			continue
		}
		size := v.EventSize()
		u := units{make([]float64, size), make([]float64, size)}
		for i := range size {
			column := make([]float64, 0, len(data[v])/size)
			for at := i; at < len(data[v]); at += size {
				x := data[v][at]
				if v.isCount() {
					x = math.Log1p(x)
				}
				column = append(column, x)
			}
			u.mean[i] = stat.Mean(column, nil)
			if u.sd[i] = stat.PopStdDev(column, nil); u.sd[i] <= rounding*math.Abs(u.mean[i]) {
				u.sd[i] = 1
			}
		}
		s.units[v] = u
	}
}

// isCount reports whether the values are counts of any magnitude. Encoders read log(1 + x) of
// counts.
func (v *Variable) isCount() bool { return v.role == Observed && v.density.support == Counts }

// level holds the encodings of all members of some plates, [plates..., draws, hidden].
type level struct {
	plates []*Plate
	path   string // names the contractions that led to this level
	value  *Node
}

func (s *setEncoder) encode(ctx, memberScope *context.Context, r *replica, v *Variable, width int) *Node {
	var parts []*Node
	for i, x := range v.model.variables {
		if x.role != Observed {
			continue
		}
		networks := ctx.In(networkScope).In("encoder").In(fmt.Sprintf("data%d", i)).Checked(false) // shared by all latent variables
		l := s.level(networks, r, x, v.plates)
		aligned := r.align(l.value, l.plates, v.plates)
		parts = append(parts, BroadcastToDims(aligned, append(r.dims(v), aligned.Shape().Dim(-2), s.sizes.Units)...))
	}
	init := made.FanIn(s.sizes.Units * len(parts))
	return s.linear(memberScope.In(networkScope).In("encoding"), Concatenate(parts, -1), width, init)
}

// level encodes the data of x and contracts the encodings, plate by plate, until all plates of the
// encodings are in plates.
func (s *setEncoder) level(ctx *context.Context, r *replica, x *Variable, plates []*Plate) level {
	l := s.datum(ctx, r, x)
	for {
		axis := len(l.plates) - 1 // the last plate that is not in plates
		for axis >= 0 && slices.Contains(plates, l.plates[axis]) {
			axis--
		}
		if axis < 0 {
			return l
		}
		l.path += "_" + l.plates[axis].scope()
		to := next(l.plates, axis, plates)
		if to != nil {
			l.path += "to" + to.scope()
		}
		inner := l
		l = r.remembered(x.name+l.path, func() level { return s.contract(ctx.In("level"+inner.path), r, inner, axis, to) })
	}
}

func (s *setEncoder) datum(ctx *context.Context, r *replica, x *Variable) level {
	return r.remembered(x.name, func() level {
		numbers := s.standard(ctx, r, x, append([]*Variable{x}, x.constants()...))
		if s.products {
			numbers = withProducts(numbers)
		}
		return level{x.plates, "", s.perceptron(ctx.In("datum"), numbers)}
	})
}

// next returns the plate that replaces from[axis] in the next step towards the list named to. It is
// a plate in which from[axis] is nested and that is not in from, or nil if there is none.
func next(from []*Plate, axis int, to []*Plate) *Plate {
	var first *Plate
	for _, parent := range from[axis].parents {
		if slices.ContainsFunc(from, func(p *Plate) bool { return p == parent.plate }) {
			continue
		}
		if slices.ContainsFunc(to, parent.plate.Determines) {
			return parent.plate
		}
		if first == nil {
			first = parent.plate
		}
	}
	return first
}

func (p *Plate) scope() string { return fmt.Sprint(slices.Index(p.model.plates, p)) }

// standard returns standardised values of variables for each datum of x, [plates..., draws,
// numbers].
func (s *setEncoder) standard(ctx *context.Context, r *replica, x *Variable, variables []*Variable) *Node {
	flat := func(v *Variable) *Node {
		value := r.align(r.values[v], v.plates, x.plates)
		if v.isCount() {
			value = Log1p(value)
		}
		lead := value.Shape().Dimensions[:len(x.plates)+1]
		mean, sd := s.unitsOf(ctx, r, v)
		n := mean.Shape().Dim(0)
		vector := func(values *Node) *Node { return Reshape(values, ones(len(lead), n)...) }
		return Div(Sub(Reshape(value, append(slices.Clone(lead), n)...), vector(mean)), vector(sd))
	}
	draws, parts := 1, make([]*Node, len(variables))
	for i, v := range variables {
		parts[i] = flat(v)
		draws = max(draws, parts[i].Shape().Dim(-2))
	}
	lead := append(r.dims(x), draws)
	for i, part := range parts {
		parts[i] = BroadcastToDims(part, append(slices.Clone(lead), part.Shape().Dim(-1))...)
	}
	return Concatenate(parts, -1)
}

func withProducts(numbers *Node) *Node {
	lead, n := numbers.Shape().Dimensions[:numbers.Rank()-1], numbers.Shape().Dim(-1)
	pairs := Mul(InsertAxes(numbers, -1), InsertAxes(numbers, -2))
	return Concatenate([]*Node{numbers, Reshape(pairs, append(slices.Clone(lead), n*n)...)}, -1)
}

func (v *Variable) constants() []*Variable {
	return slices.DeleteFunc(v.Parents(), func(parent *Variable) bool { return parent.role != Constant })
}

// contract replaces the plate on an axis by an outer plate named to, or removes it if to is nil.
func (s *setEncoder) contract(ctx *context.Context, r *replica, l level, axis int, to *Plate) level {
	set := &sets{replica: r, from: l.plates, axis: axis, to: slices.Clone(l.plates)}
	if to == nil {
		set.to = slices.Delete(set.to, axis, axis+1)
	} else {
		set.to[axis] = to
	}
	weight := r.memberWeights(set.from, l.value.Rank()) // [plates of members..., 1, 1]
	total := set.sum(weight)                            // [plates of sets..., 1, 1]
	var pooled *Node
	if s.pool == attentionPool {
		pooled = s.attention(ctx, set, l.value, weight)
	} else {
		features := s.perceptron(ctx.In("features"), l.value)
		if s.pool == squarePool {
			features = Concatenate([]*Node{features, Square(features)}, -1)
		}
		pooled = Div(set.sum(Mul(features, weight)), MaxScalar(total, 1e-6))
	}
	// The number of members says how much information a set has.
	count := Log(AddScalar(Div(total, MaxScalar(r.memberWeights(set.to, total.Rank()), 1e-6)), 1))
	count = BroadcastToDims(count, append(slices.Clone(pooled.Shape().Dimensions[:pooled.Rank()-1]), 1)...)
	return level{set.to, l.path, s.perceptron(ctx.In("pooled"), Concatenate([]*Node{pooled, count}, -1))}
}

// perceptron applies the perceptron of a scope to the last axis of x.
func (s *setEncoder) perceptron(ctx *context.Context, x *Node) *Node {
	return made.Perceptron(ctx, s.seed, x, s.sizes.Units)
}

// linear applies a linear layer to the last axis of x.
func (s *setEncoder) linear(ctx *context.Context, x *Node, outputs int, weight made.Init) *Node {
	return made.Linear(ctx, s.seed, x, outputs, weight, made.Zeros)
}

// sets divides the members of the inner plates (field from) into one set for each member of the
// outer plates (field to). The plate at position axis of the field from is replaced by an outer
// plate, or removed.
type sets struct {
	*replica
	from, to []*Plate
	axis     int
}

// sum returns the sums of x [plates of members..., rest...] over each set, [plates of sets...,
// rest...].
func (s *sets) sum(x *Node) *Node {
	return s.reduce(x, 0, func(x *Node) *Node { return ReduceSum(x, s.axis) },
		func(start, index, x *Node) *Node { return ScatterSum(start, index, x, false, false) })
}

// lowest is the result of largestEntry for a set without members.
const lowest = -1e30

// largestEntry returns the largest entry of x over each set. No gradient passes through it.
func (s *sets) largestEntry(x *Node) *Node {
	return StopGradient(s.reduce(StopGradient(x), lowest, func(x *Node) *Node { return ReduceMax(x, s.axis) },
		func(start, index, x *Node) *Node { return ScatterMax(start, index, x, false, false) }))
}

func (s *sets) reduce(x *Node, start float64, whole func(x *Node) *Node, scatter func(start, index, x *Node) *Node) *Node {
	if len(s.to) < len(s.from) {
		return whole(x)
	}
	x = moved(x, s.axis, 0)
	dims := slices.Clone(x.Shape().Dimensions)
	dims[0] = s.sizes[s.to[s.axis]]
	zeros := AddScalar(Zeros(s.graph, shapeOf(s.replica, dims)), start)
	return moved(scatter(zeros, s.position(s.from[s.axis], s.to[s.axis]), x), 0, s.axis)
}

// spread returns the value of its set for each member: x [plates of sets..., rest...] as [plates of
// members..., rest...].
func (s *sets) spread(x *Node) *Node { return s.align(x, s.to, s.from) }

// memberWeights returns the products of the weights of members of plates, with axes of size 1 up to
// rank.
func (r *replica) memberWeights(plates []*Plate, rank int) *Node {
	weights := Ones(r.graph, shapeOf(r, append(r.sizesOf(plates), ones(rank-len(plates))...)))
	for i, p := range plates {
		if w := r.weights[p]; w != nil {
			weights = Mul(weights, Reshape(ConvertDType(w, r.dtype), append(ones(i, r.sizes[p]), ones(rank-i-1)...)...))
		}
	}
	return weights
}

func (r *replica) sizesOf(plates []*Plate) []int {
	return apply.To(plates, func(p *Plate) int { return r.sizes[p] })
}

func (r *replica) remembered(name string, compute func() level) level {
	if l, ok := r.levels[name]; ok {
		return l
	}
	l := compute()
	if r.levels == nil {
		r.levels = map[string]level{}
	}
	r.levels[name] = l
	return l
}

// checkPyramid returns an error unless a model is a pyramid: the plates of any two variables are
// nested in each other.
func checkPyramid(m *Model) error {
	above := func(v *Variable) []string {
		plates := apply.Keep(m.plates, func(p *Plate) bool {
			return slices.ContainsFunc(v.plates, func(q *Plate) bool { return q.Determines(p) })
		})
		return apply.To(plates, (*Plate).Name)
	}
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
	}
	for i, v := range m.variables {
		for _, other := range m.variables[:i] {
			a, b := above(other), above(v)
			if v.role != Constant && other.role != Constant && !within(a, b) && !within(b, a) {
				return fmt.Errorf("hbm: family %v needs nested plates, but %q is on plates (%s) and %q on (%s), which are crossed: use %v or, for a formula, the family marginal", ADAVI, other.name, strings.Join(a, ", "), v.name, strings.Join(b, ", "), Joint)
			}
		}
	}
	return nil
}
