package regression

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/logsum"
)

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
	if r.Frame.Response.Conjugate() {
		return own, slices.Repeat([]float64{1}, len(own.y)), slices.Clone(own.y), true
	}
	normal := r.globalLaplace()
	if normal == nil || !r.Frame.Response.LogConcave() || r.noise >= 0 || r.categories != nil {
		return nil, nil, nil, false
	}
	full := len(r.space.masks) - 1
	p, ok := newLaplaceEffects(own).given(r.space.masks[full], normal.coordinates(full, r.Dim()))
	if !ok {
		return nil, nil, nil, false
	}
	curvature, position = p.sites()
	for i, offset := range own.offset {
		position[i] -= offset
	}
	return own, curvature, position, true
}

// sites are curvatures w and positions r of rows, such that with exp −½ w (η − r)² in place of
// their densities the outer effects have their mode where they have it, and the inner ones given
// these their mean: w and (r − η) w are expected over the inner effects.
func (p *outerProposal) sites() (curvature, position []float64) {
	l, q := p.l, len(p.l.r.inner.Columns)
	n := len(l.r.y)
	slope, centre := make([]float64, n), slices.Clone(p.centre)
	curvature = make([]float64, n)
	point := l.coarse.point(p.factors[l.inner], p.given)
	point.eta = p.eta(l.outerOf(p.centre))
	for level := range l.r.inner.Levels {
		inner := centre[l.innerAt+level*q:][:q]
		point.expected(level, inner, slope, curvature)
		clear(inner)
		total := logsum.Of(point.terms)
		for k, u := range point.u {
			floats.AddScaled(inner, math.Exp(point.terms[k]-total), u)
		}
	}
	position = p.eta(centre)
	for i, w := range curvature {
		position[i] += slope[i] / math.Max(w, 1e-12)
	}
	return curvature, position
}

// sitesOf are those of a grouping that lies in all others, or that outerEffects leave, and nil
// elsewhere.
func (p *PlateModel) sitesOf(g *plateGroup) *sites {
	r := p.regression
	s := &sites{group: g}
	for _, other := range p.groups {
		if other == g || p.outer != nil {
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
	group, q := r.groupIn(own, g.varyingGroup), len(g.Columns)
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
		add(r.groupIn(own, other.varyingGroup).z)
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
