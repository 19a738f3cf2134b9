package regression

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/likelihood"
)

// globalLaplace are the normal approximations N(m, L Lᵀ) of what has no plate, of each model: the
// coordinates of addGlobals in their order, and then those of the population.
type globalLaplace struct {
	order  []int          // coordinates
	mode   [][]float64    // m of each model
	factor []mat.TriDense // L of each model
}

// globalLaplace is that of the anchors; nil without them, or where one is not positive definite.
func (r *Regression) globalLaplace() *globalLaplace {
	if r.anchors == nil {
		return nil
	}
	l := &globalLaplace{}
	for j, c := range r.coordinates {
		if c.kind == sdCoordinate || c.kind == partialCoordinate || c.kind == noiseCoordinate {
			l.order = append(l.order, j)
		}
	}
	for j := range r.Frame.Columns {
		l.order = append(l.order, j)
	}
	for index := range r.space.masks {
		mode, covariance, ok := r.anchors.normal(index)
		if !ok {
			return nil
		}
		own := make([]float64, len(l.order))
		of := mat.NewSymDense(len(l.order), nil)
		for a, j := range l.order {
			own[a] = mode.AtVec(j)
			for b, k := range l.order[:a+1] {
				of.SetSym(a, b, covariance.At(j, k))
			}
		}
		var cholesky mat.Cholesky
		if !cholesky.Factorize(of) {
			return nil
		}
		var factor mat.TriDense
		cholesky.LTo(&factor)
		l.mode, l.factor = append(l.mode, own), append(l.factor, factor)
	}
	return l
}

// given are the numbers of n coordinates from the k-th on given those before, of a model,
//
//	u | before ~ N(a + C u_before, S Sᵀ):
//
// a [n], C [n, k] and lower triangular S [n, n], by rows.
func (l *globalLaplace) given(model, k, n int) (a, c, s []float64) {
	factor, mode := &l.factor[model], l.mode[model]
	for i := k; i < k+n; i++ {
		// C_i L_before = L_i
		row := make([]float64, k)
		for j := k - 1; j >= 0; j-- {
			row[j] = factor.At(i, j)
			for h := j + 1; h < k; h++ {
				row[j] -= row[h] * factor.At(h, j)
			}
			row[j] /= factor.At(j, j)
		}
		mean := mode[i]
		for j, of := range row {
			mean -= of * mode[j]
		}
		a, c = append(a, mean), append(c, row...)
		for j := k; j < k+n; j++ {
			value := 0.0
			if j <= i {
				value = factor.At(i, j)
			}
			s = append(s, value)
		}
	}
	return a, c, s
}

// ofModels is a vector of numbers of each model.
func (p *PlateModel) ofModels(values func(model int) []float64) hbm.Term {
	if p.choice == nil {
		return hbm.Numbers(values(0)...)
	}
	all := make([][]float64, len(p.regression.space.masks))
	for m := range all {
		all[m] = values(m)
	}
	return hbm.ByModel(all)
}

// aroundGlobals says what inference of the next n numbers without a plate is around, given the
// variables before them.
func (p *PlateModel) aroundGlobals(before []*hbm.Variable, n int) []hbm.Option {
	l := p.laplace
	if l == nil {
		return nil
	}
	k := len(before)
	inputs := []hbm.Term{p.ofModels(func(m int) []float64 {
		a, c, _ := l.given(m, k, n)
		return append(a, c...)
	})}
	for _, v := range before {
		inputs = append(inputs, hbm.Unconstrained(v))
	}
	mean := hbm.Of(func(values []*Node) *Node {
		sum := SliceAxis(values[0], -1, AxisRange(0, n))
		for j, u := range values[1:] {
			var column []*Node // of C
			for i := range n {
				column = append(column, SliceAxis(values[0], -1, AxisElem(n+i*k+j)))
			}
			sum = Add(sum, Mul(Concatenate(column, -1), u))
		}
		return sum
	}, inputs...)
	return []hbm.Option{hbm.Around(mean, p.ofModels(func(m int) []float64 {
		_, _, s := l.given(m, k, n)
		return s
	}))}
}

// sites are what the rows of each level of a grouping tell of its effects b, as the normal density
// that their likelihood is near for any values of the rest: of a gaussian response, exactly,
//
//	log p(y_j | b, …) ≈ −½ τ bᵀ S_j b + τ bᵀ (t_j − C_j β − Σ_h D_jh b_h),
//
// with β the effects of the population that are not means of b, b_h the effects of the level of
// each grouping that it lies in, and τ = 1/σ²; of others, with the curvatures of the rows at a mode
// and τ = 1.
type sites struct {
	group  *plateGroup
	above  []*plateGroup // those that it lies in
	size   []int         // numbers of S, t, C and each D
	values []float64     // [J, Σ size]
}

// rowSites are curvatures w and positions r of the rows, each of which is near exp −½ w (η − r)²;
// false where they cannot be found.
func (r *Regression) rowSites() (own *Regression, curvature, position []float64, ok bool) {
	own = r.distinct()
	n := len(own.y)
	curvature, position = make([]float64, n), make([]float64, n)
	if r.Frame.Response.Conjugate() {
		copy(position, own.y)
		for i := range curvature {
			curvature[i] = 1
		}
		return own, curvature, position, true
	}
	if r.anchors == nil || !r.Frame.Response.LogConcave() || r.noise >= 0 || r.categories != nil {
		return nil, nil, nil, false
	}
	full := len(r.space.masks) - 1
	mode, _, ok := r.anchors.normal(full)
	if !ok {
		return nil, nil, nil, false
	}
	l := newLaplaceEffects(own)
	p := l.proposal(r.space.masks[full], mode.RawVector().Data)
	if !p.climb() {
		return nil, nil, nil, false
	}
	slope, eta := make([]float64, n), p.eta(p.centre)
	likelihood.Newtons(p.given.Row, own.y, own.times, eta, p.given.sigma, slope, curvature)
	for i, w := range curvature {
		position[i] = eta[i] + slope[i]/math.Max(w, 1e-12)
		if own.offset != nil {
			position[i] -= own.offset[i]
		}
	}
	return own, curvature, position, true
}

// sitesOf are those of a grouping that lies in all others, and nil elsewhere.
func (p *PlateModel) sitesOf(g *plateGroup) *sites {
	r := p.regression
	s := &sites{group: g}
	for _, other := range p.groups {
		if other == g {
			continue
		}
		if !g.plate.Determines(other.plate) {
			return nil
		}
		s.above = append(s.above, other)
	}
	own, curvature, position, ok := r.rowSites()
	if !ok {
		return nil
	}
	find := func(of *plateGroup) *varyingGroup {
		for k, candidate := range r.groups {
			if candidate == of.varyingGroup {
				return own.groups[k]
			}
		}
		panic("regression: a grouping is not of the regression")
	}
	group, q := find(g), len(g.Columns)
	s.size = []int{q * q, q}
	designs := []*mat.Dense{group.z, nil}
	add := func(design *mat.Dense) {
		_, columns := design.Dims()
		s.size, designs = append(s.size, q*columns), append(designs, design)
	}
	if design := p.design(own.x); design != nil {
		add(design)
	}
	for _, other := range s.above {
		add(find(other).z)
	}
	width := 0
	for _, size := range s.size {
		width += size
	}
	s.values = make([]float64, len(g.Levels)*width)
	for i, level := range group.Index {
		at := s.values[level*width:]
		z := group.z.RawRowView(i)
		for k, design := range designs {
			right := []float64{position[i]}
			if design != nil {
				right = design.RawRowView(i)
			}
			for a := range z {
				for b, x := range right {
					at[a*len(right)+b] += curvature[i] * z[a] * x
				}
			}
			at = at[s.size[k]:]
		}
	}
	return s
}

// aroundEffects says what inference of the effects of a column is around: their normal distribution
// given everything before, and the rows, with the effects of later columns integrated out.
func (p *PlateModel) aroundEffects(g *plateGroup, s *sites, column int) []hbm.Option {
	if s == nil {
		return nil
	}
	r, q := p.regression, len(g.Columns)
	inputs := p.factorTerms(g.varyingGroup, q-1)
	globals := len(inputs)
	at := func(term hbm.Term) int {
		inputs = append(inputs, term)
		return len(inputs) - 1
	}
	constants := at(p.constants(s))
	var before []int
	for _, b := range g.effects {
		before = append(before, at(b))
	}
	sigma, population, a := -1, -1, -1
	if r.noise >= 0 && r.Frame.Response.Conjugate() {
		sigma = at(p.globals[r.noise])
	}
	if p.population != nil {
		population = at(p.effectsInModel())
	}
	if g.a != nil {
		a = at(g.a)
	}
	var above []int
	for _, h := range s.above {
		for c := range h.effects {
			above = append(above, at(p.effectInModel(h, c)))
		}
	}
	inputs, presence := p.withPresence(inputs)
	terms := func(values []*Node) (mean, sd *Node) {
		in := presence(values)
		factor := p.factorNodes(g.varyingGroup, q-1, values[:globals], in)
		c := s.read(values[constants])
		// t − C β − D b_h − S A β, and A β
		rest, centre := make([]*Node, q), make([]*Node, q)
		next := 2
		for i := range q {
			rest[i] = c.entry(1, i)
		}
		if population >= 0 {
			_, columns := p.design(r.x).Dims()
			for i := range q {
				row := SliceAxis(c.parts[next], -1, AxisRange(i*columns, (i+1)*columns))
				rest[i] = Sub(rest[i], ReduceSum(Mul(row, values[population]), -1))
			}
			next++
		}
		effects := above
		for k, h := range s.above {
			columns := len(h.Columns)
			for i := range q {
				for j := range columns {
					rest[i] = Sub(rest[i], Mul(c.entry(next+k, i*columns+j), values[effects[j]]))
				}
			}
			effects = effects[columns:]
		}
		for i := range q {
			centre[i] = ZerosLike(factor[i][i])
			if a >= 0 {
				centre[i] = rowTimes(values[a], i, values[population])
			}
		}
		if a >= 0 {
			for i := range q {
				for j := range q {
					rest[i] = Sub(rest[i], Mul(c.entry(0, i*q+j), centre[j]))
				}
			}
		}
		tau := OnesLike(factor[0][0])
		if sigma >= 0 {
			tau = Reciprocal(Square(values[sigma]))
		}
		// of v = Λ⁻¹ (b − A β): precision Q and linear term h
		precision, linear := make([][]*Node, q), make([]*Node, q)
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
		for k := q - 1; k > column; k-- {
			for i := range k {
				share := Div(precision[k][i], precision[k][k])
				linear[i] = Sub(linear[i], Mul(share, linear[k]))
				for j := range i + 1 {
					precision[i][j] = Sub(precision[i][j], Mul(share, precision[k][j]))
				}
			}
		}
		var v []*Node
		sum := linear[column]
		mean = centre[column]
		for k := range column {
			rest := Sub(values[before[k]], centre[k])
			for d := range k {
				if factor[k][d] != nil {
					rest = Sub(rest, Mul(factor[k][d], v[d]))
				}
			}
			v = append(v, in.orZero(g.sd[k], Div(rest, in.orOne(g.sd[k], factor[k][k]))))
			sum = Sub(sum, Mul(precision[column][k], v[k]))
			if factor[column][k] != nil {
				mean = Add(mean, Mul(factor[column][k], v[k]))
			}
		}
		mean = Add(mean, Mul(factor[column][column], Div(sum, precision[column][column])))
		sd = Div(in.orOne(g.sd[column], factor[column][column]), Sqrt(precision[column][column]))
		return mean, sd
	}
	say := hbm.Around
	if r.Frame.Response.Conjugate() {
		say = hbm.Exactly
	}
	return []hbm.Option{say(
		hbm.Of(func(values []*Node) *Node { mean, _ := terms(values); return mean }, inputs...),
		hbm.Of(func(values []*Node) *Node { _, sd := terms(values); return sd }, inputs...))}
}

// constants are the numbers of sites as constants of the levels.
func (p *PlateModel) constants(s *sites) hbm.Term {
	if s.group.sites == nil {
		width := len(s.values) / len(s.group.Levels)
		s.group.sites = p.Model.Constant("sites of "+s.group.Name, hbm.On(s.group.plate), hbm.Event(width))
		p.Data[s.group.sites] = s.values
	}
	return s.group.sites
}

// siteNodes are the numbers of sites, S, t, C and each D apart.
type siteNodes struct{ parts []*Node }

func (s *sites) read(values *Node) siteNodes {
	var nodes siteNodes
	at := 0
	for _, size := range s.size {
		nodes.parts = append(nodes.parts, SliceAxis(values, -1, AxisRange(at, at+size)))
		at += size
	}
	return nodes
}

func (n siteNodes) entry(part, at int) *Node {
	return Squeeze(SliceAxis(n.parts[part], -1, AxisElem(at)), -1)
}
