package regression

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/hbm"
)

// outerEffects are the effects of all groupings but the largest, o = F v with v ~ N(0, I) a priori
// and F the block diagonal matrix of Λ for each level, as one variable: given what has no plate,
// and the rows with the effects of the largest grouping integrated out,
//
//	v | h, β, y ~ N(P⁻¹ Fᵀ s, P⁻¹),   P = Fᵀ G F + I,
//
// of a gaussian response, and nearly so of others (see sites): crossed groupings make all numbers
// depend on each other.
//
// G and s follow from the rows and the hyperparameters of the largest grouping, and are linear in
// features of these that make them exact where levels have as many rows. Few effects have P
// factorized wherever draws are. Of more, of one grouping with one effect, the variable is e = Rᵀ v
// with R the eigenvectors of P where the hyperparameters are at their mean: P in these coordinates
// is diagonal there, for every standard deviation of the grouping, and nearly so for others of the
// largest; the mean is solved for by a few steps. Weights correct the rest.
type outerEffects struct {
	groups []*plateGroup
	first  []int // of each: its place in v, [level, column]
	size   int
	parts  []factorPart
	models []outerModel
	v      *hbm.Variable // e, or v where dense
	inner  *plateGroup
	dense  bool        // P is factorized, and R is I
	cross  [][]float64 // of each column of the inner grouping: D_j of its levels [J, O]
}

// factorPart is an entry Λ_cd of a grouping, which is at so many places of F.
type factorPart struct{ group, c, d int }

// mostOuterEffects bounds the effects of an outerEffects. Chosen by hand: some matrices of them for
// each model are part of a graph.
const mostOuterEffects = 256

// mostDenseEffects bounds those whose P is factorized wherever draws are. With more, of several
// groupings or of correlated effects, there is no outerEffects: where three groupings are crossed,
// coordinates that are independent at the mean of the hyperparameters depend on each other far from
// it, and draws that had them independent missed a tenth of the evidence of a table without a sign
// of it in their weights. Chosen by hand, so that factors of tens of thousands of draws at once fit
// in memory.
const mostDenseEffects = 16

// steps of the solution for the mean; each takes an error to its product with what P has beside its
// diagonal. Chosen by hand.
const outerSolves = 3

// addOuter makes one variable of the effects of all groupings but the largest, if there are some
// and it is known what the rows say of them. It must come after what has no plate.
func (p *PlateModel) addOuter() {
	r := p.regression
	if len(p.groups) < 2 || p.laplace == nil {
		return
	}
	o := &outerEffects{}
	for _, g := range p.groups {
		if g.varyingGroup == r.inner {
			o.inner = g
			continue
		}
		o.groups, o.first = append(o.groups, g), append(o.first, o.size)
		o.size += r.effects(g.varyingGroup)
		for c := range g.Columns {
			for d := range c + 1 {
				if d == c || g.partial[c][d] >= 0 {
					o.parts = append(o.parts, factorPart{len(o.groups) - 1, c, d})
				}
			}
		}
	}
	single := len(o.groups) == 1 && len(o.groups[0].Columns) == 1
	o.dense = o.size <= mostDenseEffects
	if o.size > mostOuterEffects || !o.dense && !single {
		return
	}
	rows, ok := r.outerRowsOf(o)
	if !ok {
		return
	}
	for a := range o.inner.Columns {
		cross := make([]float64, len(rows.levels)*o.size)
		for j, level := range rows.levels {
			for at, d := range level.d {
				cross[j*o.size+at] = d[a]
			}
		}
		o.cross = append(o.cross, cross)
	}
	for index := range r.space.masks {
		o.models = append(o.models, r.outerModelOf(o, rows, p.laplace, index))
	}
	options := []hbm.Option{hbm.Event(o.size)}
	if p.choice != nil {
		var present [][]bool
		for _, mask := range r.space.masks {
			present = append(present, o.present(mask))
		}
		options = append(options, hbm.PresentIn(present))
	}
	p.outer = o
	mean, scale := p.aroundOuter()
	around := hbm.AroundEach
	if o.dense {
		around = hbm.Around
	}
	o.v = p.Model.Latent("effects outside of "+o.inner.Name, hbm.Normal(hbm.Number(0), hbm.Number(1)), append(options, around(mean, scale))...)
}

// present reports of each number whether a model has it.
func (o *outerEffects) present(mask []bool) []bool {
	present := make([]bool, o.size)
	for k, g := range o.groups {
		q := len(g.Columns)
		for level := range g.Levels {
			for c := range q {
				present[o.first[k]+level*q+c] = mask[g.sd[c]]
			}
		}
	}
	return present
}

// ofOuter are numbers of each model, as a term.
func (p *PlateModel) ofOuter(values func(m outerModel) []float64) hbm.Term {
	return p.ofModels(func(index int) []float64 { return values(p.outer.models[index]) })
}

// concatenated are lists one after the other.
func concatenated(lists [][]float64) (all []float64) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// outerFactors are the terms that Λ of the outer groupings depend on, and how to read them from the
// values of terms that begin with these: the value of each part, [..., 1].
func (p *PlateModel) outerFactors() (inputs []hbm.Term, read func(values []*Node, in presence) []*Node) {
	o := p.outer
	counts := []int{}
	for _, g := range o.groups {
		terms := p.factorTerms(g.varyingGroup, len(g.Columns)-1)
		inputs, counts = append(inputs, terms...), append(counts, len(terms))
	}
	return inputs, func(values []*Node, in presence) (parts []*Node) {
		factors := make([][][]*Node, len(o.groups))
		for k, g := range o.groups {
			factors[k] = p.factorNodes(g.varyingGroup, len(g.Columns)-1, values[:counts[k]], in)
			values = values[counts[k]:]
		}
		for _, part := range o.parts {
			parts = append(parts, InsertAxes(factors[part.group][part.c][part.d], -1))
		}
		return parts
	}
}

// timesFactor is F x, or Fᵀ x, of [..., O] by the values of the parts of F.
func (o *outerEffects) timesFactor(parts []*Node, x *Node, transposed bool) *Node {
	var blocks []*Node
	for k, g := range o.groups {
		q, levels := len(g.Columns), len(g.Levels)
		leading := x.Shape().Dimensions[:x.Rank()-1]
		block := Reshape(SliceAxis(x, -1, AxisRange(o.first[k], o.first[k]+q*levels)), append(append([]int{}, leading...), levels, q)...)
		columns := make([]*Node, q)
		for i, part := range o.parts {
			if part.group != k {
				continue
			}
			to, from := part.c, part.d
			if transposed {
				to, from = from, to
			}
			value := Mul(parts[i], Squeeze(SliceAxis(block, -1, AxisElem(from)), -1))
			columns[to] = addTo(columns[to], value)
		}
		for c := range columns {
			columns[c] = InsertAxes(columns[c], -1)
		}
		result := Concatenate(columns, -1)
		blocks = append(blocks, Reshape(result, append(append([]int{}, result.Shape().Dimensions[:result.Rank()-2]...), q*levels)...))
	}
	return Concatenate(blocks, -1)
}

// matrixTimes is the product of matrices [1 or draws, n, m], or their transposes, and vectors
// [draws or 1, m].
func matrixTimes(matrix, x *Node, transposed bool) *Node {
	equation := "oi,di->do"
	if matrix.Shape().Dim(0) == 1 {
		matrix = Squeeze(matrix, 0)
	} else {
		equation = "doi,di->do"
		x = BroadcastToDims(x, matrix.Shape().Dim(0), x.Shape().Dim(-1))
	}
	if transposed {
		equation = map[string]string{"oi,di->do": "io,di->do", "doi,di->do": "dio,di->do"}[equation]
	}
	return Einsum(equation, matrix, x)
}

// precisionOf is P = τ Fᵀ G F + I [draws, O, O] by G / τ [draws or 1, O·O] and the parts of F.
func (o *outerEffects) precisionOf(parts []*Node, tau, g *Node) *Node {
	n := o.size
	var sum *Node
	for a, left := range o.parts {
		for b, right := range o.parts {
			// E_aᵀ G E_b, with E the places of a part
			rows, columns := o.moved(left), o.moved(right)
			moved := MatMul(MatMul(ConvertDType(Const(g.Graph(), transposedOf(rows)), g.DType()), Reshape(g, -1, n, n)), ConvertDType(Const(g.Graph(), columns), g.DType()))
			sum = addTo(sum, Mul(InsertAxes(Mul(parts[a], parts[b]), -1), moved))
		}
	}
	identity := Const(g.Graph(), identityOf(n))
	return Add(Mul(InsertAxes(tau, -1), sum), InsertAxes(ConvertDType(identity, g.DType()), 0))
}

// inverseFactor is C⁻¹ of the Cholesky factor C of matrices [draws, n, n].
func inverseFactor(a *Node) *Node {
	n := a.Shape().Dim(-1)
	rest := BroadcastToDims(InsertAxes(ConvertDType(Const(a.Graph(), identityOf(n)), a.DType()), 0), a.Shape().Dimensions...)
	var rows []*Node
	for k := range n {
		// P − I has no negative eigenvalue
		pivot := Sqrt(MaxScalar(Slice(a, AxisRange(), AxisElem(0), AxisElem(0)), 1))
		row := Div(Slice(rest, AxisRange(), AxisElem(0)), pivot)
		rows = append(rows, row)
		if k == n-1 {
			break
		}
		below := Div(Slice(a, AxisRange(), AxisRange(1), AxisElem(0)), pivot) // [draws, n−k−1, 1]
		a = Sub(Slice(a, AxisRange(), AxisRange(1), AxisRange(1)), Mul(below, TransposeAllAxes(below, 0, 2, 1)))
		rest = Sub(Slice(rest, AxisRange(), AxisRange(1)), Mul(below, row))
	}
	return Concatenate(rows, 1)
}

func identityOf(n int) [][]float64 {
	identity := make([][]float64, n)
	for k := range identity {
		identity[k] = make([]float64, n)
		identity[k][k] = 1
	}
	return identity
}

func transposedOf(a [][]float64) [][]float64 {
	out := make([][]float64, len(a[0]))
	for j := range out {
		for i := range a {
			out[j] = append(out[j], a[i][j])
		}
	}
	return out
}

// moved is E of a part of F: ones at its places.
func (o *outerEffects) moved(part factorPart) [][]float64 {
	places := make([][]float64, o.size)
	for k := range places {
		places[k] = make([]float64, o.size)
	}
	q := len(o.groups[part.group].Columns)
	for level := range o.groups[part.group].Levels {
		at := o.first[part.group] + level*q
		places[at+part.c][at+part.d] = 1
	}
	return places
}

// aroundOuter are the mean of the variable given what has no plate and its scale, or the diagonal
// of that.
func (p *PlateModel) aroundOuter() (mean, scale hbm.Term) {
	r, o := p.regression, p.outer
	inputs, factors := p.outerFactors()
	at := func(term hbm.Term) int {
		inputs = append(inputs, term)
		return len(inputs) - 1
	}
	features := o.features()
	var of []int
	for _, j := range features {
		of = append(of, at(p.globals[j]))
	}
	sigma, population := -1, -1
	if r.noise >= 0 && r.Frame.Response.Conjugate() {
		sigma = at(p.globals[r.noise])
	}
	if p.population != nil {
		population = at(p.effectsInModel())
	}
	n, columns, terms := o.size, len(r.Frame.Columns), len(features)+1
	rotation := at(p.ofOuter(func(m outerModel) []float64 { return m.rotation }))
	gs := at(p.ofOuter(func(m outerModel) []float64 { return concatenated(m.g) }))
	ts := at(p.ofOuter(func(m outerModel) []float64 { return concatenated(m.t) }))
	cs := -1
	if columns > 0 {
		cs = at(p.ofOuter(func(m outerModel) []float64 { return concatenated(m.c) }))
	}
	diagonals := at(p.ofOuter(func(m outerModel) []float64 { return m.diagonal }))
	constants := at(p.ofOuter(func(m outerModel) []float64 { return append(append([]float64{}, m.centre...), m.rows...) }))
	inputs, presence := p.withPresence(inputs)
	solve := func(values []*Node) (mean, sd *Node) {
		in := presence(values)
		parts := factors(values, in)
		entry := func(x *Node, k int) *Node { return SliceAxis(x, -1, AxisRange(k, k+1)) }
		tau := OnesLike(parts[0])
		if sigma >= 0 {
			tau = InsertAxes(Reciprocal(Square(values[sigma])), -1)
		}
		weights := []*Node{nil} // 1 and the features [draws, 1]
		for k, j := range features {
			value := InsertAxes(in.orZero(j, values[of[k]]), -1)
			if k < len(o.inner.Columns) {
				square := Mul(tau, Square(value))
				value = Div(square, AddScalar(Mul(entry(values[constants], len(features)+k), square), 1))
			}
			value = Sub(value, entry(values[constants], k))
			if in.of != nil {
				value = Mul(value, InsertAxes(in.at(j), -1))
			}
			weights = append(weights, value)
		}
		// Σ_f weight_f of the f-th of blocks of numbers
		sum := func(block func(f int) *Node) (total *Node) {
			for f, weight := range weights {
				part := block(f)
				if weight != nil {
					part = Mul(weight, part)
				}
				total = addTo(total, part)
			}
			return total
		}
		slice := func(x *Node, from, size int) *Node { return SliceAxis(x, -1, AxisRange(from, from+size)) }
		matrix := func(x *Node, from, rows, columns int) *Node {
			return Reshape(slice(x, from, rows*columns), -1, rows, columns)
		}
		rotate := matrix(values[rotation], 0, n, n)
		s := sum(func(f int) *Node { return slice(values[ts], f*n, n) })
		if population >= 0 {
			s = Sub(s, sum(func(f int) *Node {
				return matrixTimes(matrix(values[cs], f*n*columns, n, columns), values[population], false)
			}))
		}
		right := Mul(tau, matrixTimes(rotate, o.timesFactor(parts, s, true), true))
		if o.dense {
			inverse := inverseFactor(o.precisionOf(parts, tau, sum(func(f int) *Node { return slice(values[gs], f*n*n, n*n) })))
			transposed := TransposeAllAxes(inverse, 0, 2, 1)
			return matrixTimes(transposed, matrixTimes(inverse, right, false), false), transposed
		}
		var diagonal *Node
		pair := 0
		for a := range parts {
			for b := range a + 1 {
				product := Mul(parts[a], parts[b])
				at := pair * terms * n
				diagonal = addTo(diagonal, Mul(product, sum(func(f int) *Node { return slice(values[diagonals], at+f*n, n) })))
				pair++
			}
		}
		diagonal = AddScalar(MaxScalar(Mul(tau, diagonal), 0), 1)
		mean = Div(right, diagonal)
		for range outerSolves {
			x := o.timesFactor(parts, matrixTimes(rotate, mean, false), false)
			x = sum(func(f int) *Node { return matrixTimes(matrix(values[gs], f*n*n, n, n), x, false) })
			x = Mul(tau, matrixTimes(rotate, o.timesFactor(parts, x, true), true))
			mean = Add(mean, Div(Sub(Sub(right, x), mean), diagonal))
		}
		return mean, Reciprocal(Sqrt(diagonal))
	}
	return hbm.Of(func(values []*Node) *Node { mean, _ := solve(values); return mean }, inputs...),
		hbm.Of(func(values []*Node) *Node { _, sd := solve(values); return sd }, inputs...)
}

// outerTerm are o = F R e, on no plate [O].
func (p *PlateModel) outerTerm() hbm.Term {
	o := p.outer
	inputs, factors := p.outerFactors()
	place := len(inputs)
	inputs = append(inputs, o.v, p.ofOuter(func(m outerModel) []float64 { return m.rotation }))
	inputs, presence := p.withPresence(inputs)
	return hbm.Of(func(values []*Node) *Node {
		rotate := Reshape(values[place+1], -1, o.size, o.size)
		return o.timesFactor(factors(values, presence(values)), matrixTimes(rotate, values[place], false), false)
	}, inputs...)
}

// columnOf are the effects of a column of an outer grouping, on its plate; nil for other groupings.
func (p *PlateModel) columnOf(g *plateGroup, column int) hbm.Term {
	if p.outer == nil {
		return nil
	}
	for k, group := range p.outer.groups {
		if group != g {
			continue
		}
		q, levels, first := len(g.Columns), len(g.Levels), p.outer.first[k]
		return hbm.Member(hbm.Of(func(values []*Node) *Node {
			own := Reshape(SliceAxis(values[0], -1, AxisRange(first, first+q*levels)), -1, levels, q)
			return Squeeze(SliceAxis(own, -1, AxisElem(column)), -1)
		}, p.outerTerm()), g.plate)
	}
	return nil
}

// crossed is D_j o of a column of the inner grouping, on its plate: what outer effects take from
// the linear term of its effects.
func (p *PlateModel) crossed(column int) hbm.Term {
	o := p.outer
	return hbm.Member(hbm.Of(func(values []*Node) *Node {
		return matrixTimes(Reshape(values[0], 1, len(o.inner.Levels), o.size), values[1], false)
	}, hbm.Numbers(o.cross[column]...), p.outerTerm()), o.inner.plate)
}

// columnAt is columnOf on the host, at e in a model, given Λ of the grouping; nil for others.
func (o *outerEffects) columnAt(g *plateGroup, column, model int, factor [][]float64, e []float64) []float64 {
	for k, group := range o.groups {
		if group != g {
			continue
		}
		q, rotation := len(g.Columns), o.models[model].rotation
		effects := make([]float64, len(g.Levels))
		for level := range effects {
			for d := range column + 1 {
				at := o.first[k] + level*q + d
				effects[level] += factor[column][d] * dot(rotation[at*o.size:(at+1)*o.size], e)
			}
		}
		return effects
	}
	return nil
}
