package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/likelihood"
)

// PlateModel is a regression as a model with plates, sets of exchangeable members (see package
// hbm), on the working scale, on which response and columns are centred and scaled. Every grouping
// is a plate whose members are its levels, and the rows are a plate nested in the groupings. No
// effects are integrated out. The effects b_ja of column a of a grouping, in its levels j, are a
// variable on its plate, normal given the effects of the columns before it,
//
//	b_ja = Σ_{c<a} Λ_ac u_jc + Λ_aa u_ja,   u_ja ~ N(0, 1),
//
// so that the effects of a level have the covariance Λ Λᵀ of [Regression]. A grouping is nested in
// another grouping if each of its levels lies in one level of the outer grouping, as classes lie in
// schools.
type PlateModel struct {
	// Model has the variables, and Data the values of the variables that are not latent.
	Model *hbm.Model
	Data  hbm.Values

	regression *Regression
	rows       *hbm.Plate
	groups     []*plateGroup
	population *hbm.Variable // β [P]; nil if there is none
	// globals holds the variables of standard deviations, partial correlations and σ, by coordinate
	// of θ
	globals   map[int]*hbm.Variable
	y         *hbm.Variable
	x, offset *hbm.Variable // constants of the rows; nil if there are none
}

// plateGroup is a grouping as a plate.
type plateGroup struct {
	*varyingGroup
	plate   *hbm.Plate
	z       *hbm.Variable   // constants of the rows [q]
	effects []*hbm.Variable // b of each column
}

func (g *plateGroup) effectTerms() []hbm.Term {
	return apply.To(g.effects, func(v *hbm.Variable) hbm.Term { return v })
}

// HasPlates reports whether a regression of this response can be written with plates.
func HasPlates(response likelihood.Kind) bool {
	return slices.Contains([]likelihood.Kind{likelihood.GaussianKind, likelihood.StudentKind, likelihood.LogisticKind, likelihood.PoissonKind}, response)
}

// Plates writes the regression as a model with plates. Inference starts near moments of the table.
// The model has all terms of the formula; see platesSpace for models that lack terms.
func (r *Regression) Plates() (*PlateModel, error) {
	return r.plates(r.nesting(), r.start(), func(g *plateGroup) int { return len(g.Levels) })
}

// plates implements Plates, given the nesting of the groupings, the start of inference, and an
// order of groupings.
func (r *Regression) plates(above [][]int, start []float64, rank func(g *plateGroup) int) (*PlateModel, error) {
	if !HasPlates(r.Frame.Response) {
		return nil, fmt.Errorf("families over all effects have no %s likelihood: want --family %s", r.Frame.Response, MarginalFamily)
	}
	if r.Frame.Reduced != nil {
		return nil, fmt.Errorf("families over all effects need the rows of the table: want --family %s with a table by slices", MarginalFamily)
	}
	if r.Frame.Weights != nil || r.smooth() || r.monotonic != nil {
		return nil, fmt.Errorf("families over all effects have neither weights nor smooth functions nor monotonic effects: want --family %s", MarginalFamily)
	}
	p := &PlateModel{Model: hbm.NewModel(), Data: hbm.Values{}, regression: r, globals: map[int]*hbm.Variable{}}
	m := p.Model
	p.groups = apply.To(r.groups, func(g *varyingGroup) *plateGroup {
		return &plateGroup{varyingGroup: g, plate: m.Plate(g.Name, len(g.Levels))}
	})
	p.rows = m.Plate("rows", len(r.y))
	for i, g := range p.groups {
		for _, k := range above[i] {
			g.plate.In(p.groups[k].plate, g.within(r.groups[k]))
		}
		if !slices.ContainsFunc(above, func(above []int) bool { return slices.Contains(above, i) }) {
			p.rows.In(g.plate, apply.To(g.Index, func(level int) int32 { return int32(level) }))
		}
	}
	p.addGlobals(start)
	// Coarse groupings come first, so that the effects of a group are conditioned on the effects of
	// the groups that contain it.
	coarsest := slices.SortedStableFunc(slices.Values(p.groups), func(a, b *plateGroup) int { return rank(a) - rank(b) })
	for _, g := range coarsest {
		p.addEffects(g)
	}
	p.addResponse()
	return p, m.Err()
}

// nesting lists for each grouping the groupings in which it is nested directly.
func (r *Regression) nesting() [][]int {
	all, direct := make([][]int, len(r.groups)), make([][]int, len(r.groups))
	for i, g := range r.groups {
		for k, other := range r.groups {
			finer := len(g.Levels) > len(other.Levels) || len(g.Levels) == len(other.Levels) && i > k
			if finer && g.within(other) != nil {
				all[i] = append(all[i], k)
			}
		}
	}
	for i := range all {
		direct[i] = slices.DeleteFunc(slices.Clone(all[i]), func(k int) bool {
			return slices.ContainsFunc(all[i], func(between int) bool { return slices.Contains(all[between], k) })
		})
	}
	return direct
}

// within returns, for each level of g, the level of the grouping other in which it lies, or nil if
// a level of g lies in several levels of other.
func (g *varyingGroup) within(other *varyingGroup) []int32 {
	index := slices.Repeat([]int32{-1}, len(g.Levels))
	for row, level := range g.Index {
		otherLevel := int32(other.Index[row])
		if index[level] >= 0 && index[level] != otherLevel {
			return nil
		}
		index[level] = otherLevel
	}
	return index
}

// widestStart bounds the width of the distribution at which inference starts. A variable with a
// narrower prior starts with the width of its prior.
const widestStart = 2

// addGlobals adds the variables without a plate: standard deviations, partial correlations, σ and
// population effects. In a family each variable depends on the variables before it. Population
// effects come last: the width of their posterior depends on standard deviations.
func (p *PlateModel) addGlobals(start []float64) {
	r := p.regression
	for j, c := range r.coordinates {
		var density hbm.Density
		var link hbm.Link = hbm.IdentityLink{}
		switch c.kind {
		case sdCoordinate:
			density, link = c.prior.density(c.scale), scaleLink{c.unit}
		case partialCoordinate:
			density = p.partialCorrelation(c)
		case noiseCoordinate:
			density, link = hbm.LogNormal(hbm.Number(c.mean), hbm.Number(c.sd)), hbm.ExpLink{}
		default:
			continue
		}
		p.globals[j] = p.Model.Latent(c.name, density, append(p.startNear(start, j, 1), hbm.Through(link))...)
	}
	if n := len(r.Frame.Columns); n > 0 {
		means, sds := make([]float64, n), make([]float64, n)
		for j := range n {
			means[j], sds[j] = r.coordinates[j].mean, r.coordinates[j].sd
		}
		p.population = p.Model.Latent("population", hbm.Normal(hbm.Numbers(means...), hbm.Numbers(sds...)), append(p.startNear(start, 0, n), hbm.Event(n))...)
	}
}

func (p *PlateModel) addEffects(g *plateGroup) {
	for a, column := range g.Columns {
		// Λ is lower triangular, so the effects of earlier columns determine their u.
		inputs := p.factorTerms(g.varyingGroup, a)
		globals := len(inputs)
		inputs = append(inputs, g.effectTerms()...)
		row := func(values []*Node) (factor, u []*Node, present *Node) {
			all, in := p.factorNodes(g.varyingGroup, a, values[:globals])
			for c, rest := range values[globals:] {
				for d := range c {
					if all[c][d] != nil {
						rest = Sub(rest, Mul(all[c][d], u[d]))
					}
				}
				u = append(u, Mul(in[c], Div(rest, orOne(all[c][c], in[c]))))
			}
			return all[a], u, in[a]
		}
		mean := hbm.Of(func(values []*Node) *Node {
			factor, u, _ := row(values)
			sum := ZerosLike(factor[a])
			for c := range a {
				if factor[c] != nil {
					sum = Add(sum, Mul(factor[c], u[c]))
				}
			}
			return sum
		}, inputs...)
		sd := hbm.Of(func(values []*Node) *Node {
			factor, _, present := row(values)
			return orOne(factor[a], present)
		}, inputs...)
		g.effects = append(g.effects, p.Model.Latent(column.Name+" | "+g.Name, hbm.Normal(mean, sd), hbm.On(g.plate)))
	}
}

// orOne returns x, with 1 for absent entries, for which x and present are 0.
func orOne(x, present *Node) *Node { return Add(x, OneMinus(present)) }

// factorTerms returns the standard deviations and partial correlations on which rows 0 … a of Λ
// depend, as factorNodes expects them. Each standard deviation is followed by a term that says
// whether the model has it.
func (p *PlateModel) factorTerms(g *varyingGroup, a int) (terms []hbm.Term) {
	for c := range a + 1 {
		terms = append(terms, p.globals[g.sd[c]], hbm.Present(p.globals[g.sd[c]]))
		for d := range c {
			if at := g.partial[c][d]; at >= 0 {
				terms = append(terms, p.globals[at])
			}
		}
	}
	return terms
}

// factorNodes returns rows 0 … a of Λ, with nil for zeros (see Regression.factor), and whether the
// model has these columns. Correlations that a model lacks are zero, like their coordinates.
func (p *PlateModel) factorNodes(g *varyingGroup, a int, values []*Node) (rows [][]*Node, present []*Node) {
	next := func() (value *Node) {
		value, values = values[0], values[1:]
		return value
	}
	rows = make([][]*Node, a+1)
	for c := range rows {
		rows[c] = make([]*Node, c+1)
		sd, in := next(), next()
		rest := Mul(sd, in)
		for d := range c {
			if at := g.partial[c][d]; at >= 0 {
				z := next()
				rho := newPartialMap(z, OnesLike(z), p.regression.coordinates[at].beta).rho
				rows[c][d] = Mul(rest, rho)
				rest = Mul(rest, Sqrt(MaxScalar(OneMinus(Square(rho)), 1e-12)))
			}
		}
		if len(rows[c]) > 1 {
			// A standard deviation at its lower bound, times √(1 − ρ²) for a correlation ρ of
			// nearly one, would be below the bound.
			least := leastRatioOf(rest) * p.regression.coordinates[g.sd[c]].unit
			rest = Mul(in, MaxScalar(rest, least))
		}
		rows[c][c], present = rest, append(present, in)
	}
	return rows, present
}

func (p *PlateModel) addResponse() {
	r, m := p.regression, p.Model
	var inputs []hbm.Term
	var add []func(next func() *Node) *Node
	if r.x != nil {
		p.x = m.Constant("x", hbm.On(p.rows), hbm.Event(len(r.Frame.Columns)))
		p.Data[p.x] = mat.DenseCopyOf(r.x).RawMatrix().Data
		inputs = append(inputs, p.x, p.population)
		add = append(add, func(next func() *Node) *Node { return ReduceSum(Mul(next(), next()), -1) })
	}
	for _, g := range p.groups {
		g.z = m.Constant("z of "+g.Name, hbm.On(p.rows), hbm.Event(len(g.Columns)))
		p.Data[g.z] = mat.DenseCopyOf(g.varyingGroup.z).RawMatrix().Data
		inputs = append(append(inputs, g.z), g.effectTerms()...)
		add = append(add, func(next func() *Node) *Node {
			z := next()
			var sum *Node
			for c := range g.Columns {
				sum = addTo(sum, Mul(Squeeze(SliceAxis(z, 2, AxisElem(c)), 2), next()))
			}
			return sum
		})
	}
	if r.offset != nil {
		p.offset = m.Constant("offset", hbm.On(p.rows))
		p.Data[p.offset] = r.offset
		inputs = append(inputs, p.offset)
		add = append(add, func(next func() *Node) *Node { return next() })
	}
	eta := hbm.Of(func(values []*Node) *Node {
		next := func() (value *Node) {
			value, values = values[0], values[1:]
			return value
		}
		var sum *Node
		for _, part := range add {
			sum = addTo(sum, part(next))
		}
		return sum
	}, inputs...)
	var sigma hbm.Term = hbm.Number(1) // rows with known standard errors were scaled to unit noise
	if r.noise >= 0 {
		sigma = p.globals[r.noise]
	}
	var density hbm.Density
	switch r.Frame.Response {
	case likelihood.StudentKind:
		density = hbm.StudentT(hbm.Number(r.Options.Degrees), eta, sigma)
	case likelihood.LogisticKind:
		density = hbm.Bernoulli(eta)
	case likelihood.PoissonKind:
		density = hbm.Poisson(eta)
	default:
		density = hbm.Normal(eta, sigma)
	}
	p.y = m.Observed("y", density, hbm.On(p.rows))
	p.Data[p.y] = r.y
}

func (p SDPrior) density(scale float64) hbm.Density {
	switch p {
	case HalfCauchySD:
		return hbm.HalfStudentT(hbm.Number(1), hbm.Number(scale))
	case ExponentialSD:
		return hbm.Gamma(hbm.Number(1), hbm.Number(1/scale))
	}
	return hbm.HalfNormal(hbm.Number(scale))
}

// scaleLink is the function of scaleMap, from real numbers to standard deviations, as a link.
type scaleLink struct{ unit float64 }

var _ hbm.Link = scaleLink{}

func (scaleLink) Support() hbm.Support { return hbm.Positives }
func (scaleLink) Dim(event []int) (int, error) {
	if len(event) > 0 {
		return 0, fmt.Errorf("a standard deviation is one number, got an event of shape %v", event)
	}
	return 1, nil
}

// leastRatio and leastRatio32 are lower bounds of standard deviations, in units of the scale of
// their prior, in float64 and in float32. The prior probability of a standard deviation below the
// bound is about the bound itself.
const leastRatio, leastRatio32 = 1e-12, 1e-5

func (l scaleLink) ToEvent(u *Node, _ []int) (value, logDet *Node) {
	s := newScaleMap(u, OnesLike(u), l.unit, 1)
	return Squeeze(MaxScalar(s.scale, leastRatioOf(u)*l.unit), -1), ReduceSum(AddScalar(Add(s.logRatio, s.logSlope), math.Log(l.unit)), -1)
}

// leastRatioOf returns the lower bound of standard deviations in the float type of a node. Smaller
// effects would be lost by rounding beside the effects of a column with which they are correlated,
// and their density would be too large.
func leastRatioOf(x *Node) float64 {
	if x.DType() == dtypes.Float32 {
		return leastRatio32
	}
	return leastRatio
}

// partialCorrelation returns the prior of the coordinate z of a partial correlation; see partialMap
// and coordinate.later.
func (p *PlateModel) partialCorrelation(c coordinate) hbm.Density {
	later := apply.To(c.later, func(sd int) hbm.Term { return hbm.Present(p.globals[sd]) })
	return hbm.Custom(hbm.CustomDensity{
		Name: "partial correlation", Support: hbm.Reals,
		LogProb: func(x *Node, present []*Node) *Node {
			m := newPartialMap(x, OnesLike(x), c.beta)
			m.leave(c, present)
			return m.logPrior
		},
		Draw: func(random *rand.Rand, _ [][]float64, x []float64) {
			for i := range x {
				w := math.Atanh(2*distuv.Beta{Alpha: c.beta, Beta: c.beta, Src: random}.Rand() - 1)
				x[i] = math.Copysign(math.Sqrt(4*c.beta*(math.Sqrt(1+w*w)-1)), w) // z for w
			}
		},
	}, later...)
}
