package regression

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/hbm"
)

// nestedEffects are groupings each of whose levels lies in one level of every coarser one, with one
// effect each. Given the effects of the coarser ones, and with those of the finer ones integrated
// out, the effects of the levels of a grouping are independent: with A_gh,j = Σ w z_g z_h over the
// rows of a level j of g, for h = g or coarser, t_g,j = Σ w z_g r and C_g,j = Σ w z_g x (see
// sites),
//
//	b_g,j | b_coarser, h, β ~ N(m, s²),   1/s² = τ A_gg,j + 1/σ_g²,
//	m = τ s² (t_g,j − C_g,j β − Σ_h A_gh,j b_h),
//
// and integrating them out leaves, for the level k of a coarser grouping g' that they lie in,
//
//	A_g'h,k − Σ_{j in k} A_gg',j M_j A_gh,j,   M_j = τ σ_g² / (1 + τ σ_g² A_gg,j),
//
// and t and C likewise. Of a gaussian response that is exact.
type nestedEffects struct {
	groups []*plateGroup // the finest first
	// by grouping: A of it and each coarser one [J], t [J] and C [J·P] with P the columns
	a       [][][]float64
	t, c    [][]float64
	columns int
	within  [][][]int32 // the level of a coarser grouping that each level lies in
}

// addNested finds what rows say of nested groupings, if they are, and if it is known.
func (p *PlateModel) addNested(coarsest []*plateGroup) {
	r := p.regression
	n := &nestedEffects{columns: len(r.Frame.Columns)}
	for k := range coarsest {
		g := coarsest[len(coarsest)-1-k]
		if len(g.Columns) > 1 {
			return
		}
		n.groups = append(n.groups, g)
	}
	for k, g := range n.groups {
		n.within = append(n.within, make([][]int32, len(n.groups)))
		for m := k + 1; m < len(n.groups); m++ {
			if n.within[k][m] = g.varyingGroup.within(n.groups[m].varyingGroup); n.within[k][m] == nil {
				return
			}
		}
	}
	own, curvature, position, ok := r.rowSites()
	if !ok || len(n.groups) < 2 {
		return
	}
	for k, g := range n.groups {
		group, levels := r.groupIn(own, g.varyingGroup), len(g.Levels)
		a, t, c := make([][]float64, len(n.groups)), make([]float64, levels), make([]float64, levels*n.columns)
		for m := k; m < len(n.groups); m++ {
			a[m] = make([]float64, levels)
			other := r.groupIn(own, n.groups[m].varyingGroup)
			for i, w := range curvature {
				a[m][group.Index[i]] += w * group.z.At(i, 0) * other.z.At(i, 0)
			}
		}
		for i, w := range curvature {
			wz := w * group.z.At(i, 0)
			t[group.Index[i]] += wz * position[i]
			for j := range n.columns {
				c[group.Index[i]*n.columns+j] += wz * own.x.At(i, j)
			}
		}
		n.a, n.t, n.c = append(n.a, a), append(n.t, t), append(n.c, c)
	}
	p.nested = n
}

// sumsOver is a matrix of zeros and ones that sums over the levels of a grouping in each level of a
// coarser one, row by row [coarse, fine].
func (n *nestedEffects) sumsOver(fine, coarse int) []float64 {
	levels := len(n.groups[fine].Levels)
	sums := make([]float64, len(n.groups[coarse].Levels)*levels)
	for j, k := range n.within[fine][coarse] {
		sums[int(k)*levels+j] = 1
	}
	return sums
}

// aroundNested says what inference of the effects of a grouping but the finest is around.
func (p *PlateModel) aroundNested(g *plateGroup) []hbm.Option {
	n, r := p.nested, p.regression
	if n == nil {
		return nil
	}
	own := 0
	for n.groups[own] != g {
		own++
	}
	var inputs []hbm.Term
	at := func(term hbm.Term) int {
		inputs = append(inputs, term)
		return len(inputs) - 1
	}
	var sds []int // of this grouping and the finer ones
	for _, finer := range n.groups[:own+1] {
		sds = append(sds, at(p.globals[finer.sd[0]]))
	}
	sigma, population := -1, -1
	if r.noise >= 0 && r.Frame.Response.Conjugate() {
		sigma = at(p.globals[r.noise])
	}
	if p.population != nil {
		population = at(p.effectsInModel())
	}
	a, t, c, sums := make([][]int, own+1), make([]int, own+1), make([]int, own+1), make([][]int, own+1)
	for k := range own + 1 {
		a[k], sums[k] = make([]int, len(n.groups)), make([]int, own+1)
		for m := k; m < len(n.groups); m++ {
			a[k][m] = at(hbm.Numbers(n.a[k][m]...))
			if m > k && m <= own {
				sums[k][m] = at(hbm.Numbers(n.sumsOver(k, m)...))
			}
		}
		t[k] = at(hbm.Numbers(n.t[k]...))
		if population >= 0 {
			c[k] = at(hbm.Numbers(n.c[k]...))
		}
	}
	inputs, presence := p.withPresence(inputs)
	// of this grouping with the finer ones integrated out: σ², τ, A of it and the coarser ones, and
	// t − C β
	left := func(values []*Node) (square, tau *Node, as []*Node, rest *Node) {
		in := presence(values)
		tau = OnesLike(InsertAxes(values[sds[0]], -1))
		if sigma >= 0 {
			tau = InsertAxes(Reciprocal(Square(values[sigma])), -1)
		}
		all, rests := make([][]*Node, own+1), make([]*Node, own+1)
		for k := range own + 1 {
			all[k], rests[k] = make([]*Node, len(n.groups)), values[t[k]]
			for m := k; m < len(n.groups); m++ {
				all[k][m] = values[a[k][m]]
			}
			if population >= 0 {
				rests[k] = Sub(rests[k], matrixTimes(Reshape(values[c[k]], 1, len(n.groups[k].Levels), n.columns), values[population], false))
			}
		}
		for k := range own + 1 {
			square = Square(InsertAxes(in.orZero(n.groups[k].sd[0], values[sds[k]]), -1))
			if k == own {
				break
			}
			scaled := Mul(tau, square)
			share := Div(scaled, AddScalar(Mul(scaled, all[k][k]), 1)) // M
			for m := k + 1; m <= own; m++ {
				sum := func(x *Node) *Node {
					taken := Mul(Mul(all[k][m], share), x)
					return matrixTimes(Reshape(values[sums[k][m]], 1, len(n.groups[m].Levels), len(n.groups[k].Levels)), taken, false)
				}
				for h := m; h < len(n.groups); h++ {
					all[m][h] = Sub(all[m][h], sum(all[k][h]))
				}
				rests[m] = Sub(rests[m], sum(rests[k]))
			}
		}
		return square, tau, all[own], rests[own]
	}
	member := func(of func(values []*Node) *Node) hbm.Term { return hbm.Member(hbm.Of(of, inputs...), g.plate) }
	variance := func(values []*Node) *Node { // s² τ
		square, tau, as, _ := left(values)
		scaled := Mul(tau, square)
		return Div(scaled, AddScalar(Mul(scaled, as[own]), 1))
	}
	means := []hbm.Term{member(func(values []*Node) *Node {
		_, _, _, rest := left(values)
		return Mul(variance(values), rest)
	})}
	for h := own + 1; h < len(n.groups); h++ {
		means = append(means, member(func(values []*Node) *Node {
			_, _, as, _ := left(values)
			return Mul(variance(values), as[h])
		}), p.effectInModel(n.groups[h], 0))
	}
	mean := hbm.Of(func(values []*Node) *Node {
		sum := values[0]
		for k := 1; k < len(values); k += 2 {
			sum = Sub(sum, Mul(values[k], values[k+1]))
		}
		return sum
	}, means...)
	sd := member(func(values []*Node) *Node {
		square, tau, as, _ := left(values)
		above := presence(values).orOne(g.sd[0], Squeeze(square, -1))
		return Sqrt(Div(InsertAxes(above, -1), AddScalar(Mul(Mul(tau, square), as[own]), 1)))
	})
	say := hbm.Around
	if r.Frame.Response.Conjugate() {
		say = hbm.Exactly
	}
	return []hbm.Option{say(mean, sd)}
}
