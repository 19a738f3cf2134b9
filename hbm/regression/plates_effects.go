package regression

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/hbm"
)

// aroundEffects says what inference of the effects of a column is around: their normal distribution
// given everything before, and the rows, with the effects of later columns integrated out.
func (p *PlateModel) aroundEffects(g *plateGroup, s *sites, column int) []hbm.Option {
	if s == nil {
		return p.aroundNested(g)
	}
	d, inputs := p.effectDensity(g, s, column)
	say := hbm.Around
	if p.regression.Frame.Response.Conjugate() {
		say = hbm.Exactly
	}
	return []hbm.Option{say(
		hbm.Of(func(values []*Node) *Node { mean, _ := d.moments(values); return mean }, inputs...),
		hbm.Of(func(values []*Node) *Node { _, sd := d.moments(values); return sd }, inputs...))}
}

// effectDensity is the normal density of the effects b = A β + Λ v of the columns of a grouping, by
// which those of one column are conditioned on what comes before. Of its inputs it has the places
// among the values of their terms, −1 of one that is absent.
type effectDensity struct {
	p        *PlateModel
	g        *plateGroup
	s        *sites
	presence func(values []*Node) presence

	column               int   // whose effects these are
	factors              int   // so many inputs, the first, are those of Λ
	constants            int   // the numbers of the sites
	before               []int // effects of the columns before
	sigma, population, a int   // σ, β and A
	above                []int // effects of each column of each grouping above
	crossed              []int // of each column: what effects of crossed groupings take from t
}

// effectDensity is that of a column, with its inputs.
func (p *PlateModel) effectDensity(g *plateGroup, s *sites, column int) (*effectDensity, []hbm.Term) {
	inputs := p.factorTerms(g.varyingGroup, len(g.Columns)-1)
	d := &effectDensity{p: p, g: g, s: s, column: column, factors: len(inputs), sigma: -1, population: -1, a: -1}
	at := func(term hbm.Term) int {
		inputs = append(inputs, term)
		return len(inputs) - 1
	}
	d.constants = at(p.constants(s))
	for _, b := range g.effects {
		d.before = append(d.before, at(b))
	}
	if noise := p.regression.noise; noise >= 0 && p.regression.Frame.Response.Conjugate() {
		d.sigma = at(p.globals[noise])
	}
	if p.population != nil {
		d.population = at(p.effectsInModel())
	}
	if g.a != nil {
		d.a = at(g.a)
	}
	for _, h := range s.above {
		for c := range h.effects {
			d.above = append(d.above, at(p.effectInModel(h, c)))
		}
	}
	if p.outer != nil {
		for c := range g.Columns {
			d.crossed = append(d.crossed, at(p.crossed(c)))
		}
	}
	inputs, d.presence = p.withPresence(inputs)
	return d, inputs
}

// moments are the mean and the standard deviation of the effects of the column given the values of
// the inputs.
func (d *effectDensity) moments(values []*Node) (mean, sd *Node) {
	in := d.presence(values)
	factor := d.p.factorNodes(d.g.varyingGroup, len(d.g.Columns)-1, values[:d.factors], in)
	c := d.s.read(values[d.constants])
	rest := d.rest(values, c)
	centre := d.centre(values, factor)
	if d.a >= 0 {
		q := len(rest)
		for i := range q {
			for j := range q {
				rest[i] = Sub(rest[i], Mul(c.entry(0, i*q+j), centre[j]))
			}
		}
	}
	precision, linear := d.quadratic(values, factor, c, rest)
	d.leaveOutLater(precision, linear)
	return d.conditional(values, in, factor, centre, precision[d.column], linear[d.column])
}

// rest is t − C β − Σ_h D_h b_h, of each column.
func (d *effectDensity) rest(values []*Node, c siteNodes) []*Node {
	q := len(d.g.Columns)
	rest := make([]*Node, q)
	next := 2 // the parts of c after S and t
	for i := range q {
		rest[i] = c.entry(1, i)
	}
	if d.population >= 0 {
		_, columns := d.p.design(d.p.regression.x).Dims()
		for i := range q {
			row := SliceAxis(c.parts[next], -1, AxisRange(i*columns, (i+1)*columns))
			rest[i] = Sub(rest[i], ReduceSum(Mul(row, values[d.population]), -1))
		}
		next++
	}
	effects := d.above
	for k, h := range d.s.above {
		columns := len(h.Columns)
		for i := range q {
			for j := range columns {
				rest[i] = Sub(rest[i], Mul(c.entry(next+k, i*columns+j), values[effects[j]]))
			}
		}
		effects = effects[columns:]
	}
	for i, at := range d.crossed {
		rest[i] = Sub(rest[i], values[at])
	}
	return rest
}

// centre is A β, of each column.
func (d *effectDensity) centre(values []*Node, factor [][]*Node) []*Node {
	centre := make([]*Node, len(factor))
	for i := range centre {
		centre[i] = ZerosLike(factor[i][i])
		if d.a >= 0 {
			centre[i] = rowTimes(values[d.a], i, values[d.population])
		}
	}
	return centre
}

// quadratic is the precision Q = I + τ Λᵀ S Λ of v, by rows of its lower triangle, and the linear
// term τ Λᵀ (rest − S A β).
func (d *effectDensity) quadratic(values []*Node, factor [][]*Node, c siteNodes, rest []*Node) (precision [][]*Node, linear []*Node) {
	q := len(factor)
	tau := OnesLike(factor[0][0])
	if d.sigma >= 0 {
		tau = Reciprocal(Square(values[d.sigma]))
	}
	precision, linear = make([][]*Node, q), make([]*Node, q)
	for i := range q {
		var h *Node
		for k := i; k < q; k++ {
			if factor[k][i] != nil {
				h = addTo(h, Mul(factor[k][i], rest[k]))
			}
		}
		linear[i] = Mul(tau, h)
		for j := range i + 1 {
			var sum *Node
			for k := i; k < q; k++ {
				for l := j; l < q; l++ {
					if factor[k][i] != nil && factor[l][j] != nil {
						sum = addTo(sum, Mul(Mul(factor[k][i], factor[l][j]), c.entry(0, k*q+l)))
					}
				}
			}
			sum = Mul(tau, sum)
			if i == j {
				sum = AddScalar(sum, 1)
			}
			precision[i] = append(precision[i], sum)
		}
	}
	return precision, linear
}

// leaveOutLater integrates out the coordinates of v that come after the column.
func (d *effectDensity) leaveOutLater(precision [][]*Node, linear []*Node) {
	for k := len(linear) - 1; k > d.column; k-- {
		for i := range k {
			share := Div(precision[k][i], precision[k][k])
			linear[i] = Sub(linear[i], Mul(share, linear[k]))
			for j := range i + 1 {
				precision[i][j] = Sub(precision[i][j], Mul(share, precision[k][j]))
			}
		}
	}
}

// conditional are the mean and the standard deviation of the effects of the column given those
// before it, from its row of the precision and of the linear term.
func (d *effectDensity) conditional(values []*Node, in presence, factor [][]*Node, centre, precision []*Node, linear *Node) (mean, sd *Node) {
	column, g := d.column, d.g
	var v []*Node // of the columns before
	sum := linear
	mean = centre[column]
	for k := range column {
		rest := Sub(values[d.before[k]], centre[k])
		for e := range k {
			if factor[k][e] != nil {
				rest = Sub(rest, Mul(factor[k][e], v[e]))
			}
		}
		v = append(v, in.orZero(g.sd[k], Div(rest, in.orOne(g.sd[k], factor[k][k]))))
		sum = Sub(sum, Mul(precision[k], v[k]))
		if factor[column][k] != nil {
			mean = Add(mean, Mul(factor[column][k], v[k]))
		}
	}
	mean = Add(mean, Mul(factor[column][column], Div(sum, precision[column])))
	sd = Div(in.orOne(g.sd[column], factor[column][column]), Sqrt(precision[column]))
	return mean, sd
}
