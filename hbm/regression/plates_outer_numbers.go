package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// outerModel are the numbers of one of the models. A feature is the difference of one of the
// hyperparameters of the largest grouping, as feature has it, from that at their mean.
type outerModel struct {
	rotation []float64   // R [O, O]
	g        [][]float64 // G / τ at the mean, and its slope by each feature [1+F][O, O]
	t        [][]float64 // of s / τ without β [1+F][O]
	c        [][]float64 // and by β [1+F][O, P]
	diagonal []float64   // of Rᵀ Fᵀ G F R / τ, by products of two parts and features [pairs (1+F), O]
	centre   []float64   // features at the mean [F]
	rows     []float64   // of inner levels: the mean curvature of each column [q]
}

// outerRows are sums over rows, with curvatures w and positions r as rowSites has them: of Σ w x xᵀ
// and Σ w x r by outer effects, and of each level of the inner grouping.
type outerRows struct {
	g, t, c []float64 // [O, O], [O], [O, P]
	levels  []outerLevel
	columns int // P
}

// outerLevel has of a level of the inner grouping Σ w z zᵀ [q, q], Σ w z r [q], Σ w z βᵀ [q, P],
// and Σ w z xᵀ of the outer effects that its rows have.
type outerLevel struct {
	s, t, c []float64
	d       map[int][]float64 // by outer effect [q]
}

func (r *Regression) outerRowsOf(o *outerEffects) (*outerRows, bool) {
	own, curvature, position, ok := r.rowSites()
	if !ok {
		return nil, false
	}
	columns, q := len(r.Frame.Columns), len(o.inner.Columns)
	rows := &outerRows{
		g: make([]float64, o.size*o.size), t: make([]float64, o.size), c: make([]float64, o.size*columns),
		levels: make([]outerLevel, len(o.inner.Levels)), columns: columns,
	}
	for level := range rows.levels {
		rows.levels[level] = outerLevel{make([]float64, q*q), make([]float64, q), make([]float64, q*columns), map[int][]float64{}}
	}
	inner := r.groupIn(own, o.inner.varyingGroup)
	for i, w := range curvature {
		var places []int
		var x []float64
		for k, g := range o.groups {
			group := r.groupIn(own, g.varyingGroup)
			z := group.z.RawRowView(i)
			for c, value := range z {
				places, x = append(places, o.first[k]+group.Index[i]*len(z)+c), append(x, value)
			}
		}
		var beta []float64
		if columns > 0 {
			beta = own.x.RawRowView(i)
		}
		for a, at := range places {
			rows.t[at] += w * x[a] * position[i]
			for b, other := range places {
				rows.g[at*o.size+other] += w * x[a] * x[b]
			}
			for j, value := range beta {
				rows.c[at*columns+j] += w * x[a] * value
			}
		}
		z, level := inner.z.RawRowView(i), &rows.levels[inner.Index[i]]
		for a := range z {
			level.t[a] += w * z[a] * position[i]
			for b := range z {
				level.s[a*q+b] += w * z[a] * z[b]
			}
			for j, value := range beta {
				level.c[a*columns+j] += w * z[a] * value
			}
			for b, at := range places {
				if level.d[at] == nil {
					level.d[at] = make([]float64, q)
				}
				level.d[at][a] += w * z[a] * x[b]
			}
		}
	}
	return rows, true
}

// groupIn is the grouping of another regression of the same formula, such as that of distinct rows.
func (r *Regression) groupIn(own *Regression, g *varyingGroup) *varyingGroup {
	for k, candidate := range r.groups {
		if candidate == g {
			return own.groups[k]
		}
	}
	panic("regression: a grouping is not of the regression")
}

// without are G, s and the part of s by β, all by τ, with inner effects of the factor Λ integrated
// out: G − Σ_j D_jᵀ M D_j with M = Λ (I + τ Λᵀ S_j Λ)⁻¹ Λᵀ τ.
func (rows *outerRows) without(factor *mat.Dense, tau float64) (g, t, c []float64) {
	g, t, c = append([]float64{}, rows.g...), append([]float64{}, rows.t...), append([]float64{}, rows.c...)
	q, _ := factor.Dims()
	size := len(t)
	for _, level := range rows.levels {
		var inner, inverse, m mat.Dense
		inner.Product(factor.T(), mat.NewDense(q, q, level.s), factor)
		inner.Scale(tau, &inner)
		for a := range q {
			inner.Set(a, a, inner.At(a, a)+1)
		}
		if inverse.Inverse(&inner) != nil {
			continue
		}
		m.Product(factor, &inverse, factor.T())
		m.Scale(tau, &m)
		for at, d := range level.d {
			left := make([]float64, q) // D_jᵀ M
			for a := range q {
				for b := range q {
					left[a] += d[b] * m.At(b, a)
				}
			}
			t[at] -= dot(left, level.t)
			for j := range rows.columns {
				for a := range q {
					c[at*rows.columns+j] -= left[a] * level.c[a*rows.columns+j]
				}
			}
			for other, d := range level.d {
				g[at*size+other] -= dot(left, d)
			}
		}
	}
	return g, t, c
}

// feature is of the standard deviation of a column of the inner grouping, whose levels have the
// curvature rows on average: what integrating its effect out takes from them.
func feature(sd, tau, rows float64) float64 { return tau * sd * sd / (1 + rows*tau*sd*sd) }

// outerModelOf are the numbers of a model.
func (r *Regression) outerModelOf(o *outerEffects, rows *outerRows, normal *globalLaplace, index int) outerModel {
	mask, theta, q := r.space.masks[index], normal.coordinates(index, r.Dim()), len(o.inner.Columns)
	m := outerModel{rows: make([]float64, q)}
	for a := range q {
		for _, level := range rows.levels {
			m.rows[a] += level.s[a*q+a] / float64(len(rows.levels))
		}
	}
	tau := r.outerTau(theta)
	at := func(theta []float64, tau float64) (g, t, c []float64) {
		factor := mat.NewDense(q, q, nil)
		for a, row := range r.factorAt(o.inner.varyingGroup, mask, theta) {
			factor.SetRow(a, row)
		}
		return rows.without(factor, tau)
	}
	g, t, c := at(theta, tau)
	m.g, m.t, m.c = [][]float64{g}, [][]float64{t}, [][]float64{c}
	for _, j := range o.features() {
		value := r.outerFeature(o, m, j, theta, tau)
		m.centre = append(m.centre, value)
		slope := func(of []float64) []float64 { return make([]float64, len(of)) }
		gs, ts, cs := slope(g), slope(t), slope(c)
		if mask[j] {
			width := normal.sd(index, slices.Index(normal.order, j))
			low, high := append([]float64{}, theta...), append([]float64{}, theta...)
			low[j], high[j] = low[j]-width, high[j]+width
			by := r.outerFeature(o, m, j, high, tau) - r.outerFeature(o, m, j, low, tau)
			gl, tl, cl := at(low, tau)
			gh, th, ch := at(high, tau)
			for _, of := range [][3][]float64{{gs, gl, gh}, {ts, tl, th}, {cs, cl, ch}} {
				for k := range of[0] {
					if by != 0 {
						of[0][k] = (of[2][k] - of[1][k]) / by
					}
				}
			}
		}
		m.g, m.t, m.c = append(m.g, gs), append(m.t, ts), append(m.c, cs)
	}
	m.rotation = r.outerRotation(o, mask, theta, g, tau)
	m.diagonal = o.diagonals(m)
	return m
}

// features lists the coordinates that features are of.
func (o *outerEffects) features() (list []int) {
	for a := range o.inner.Columns {
		list = append(list, o.inner.sd[a])
	}
	for a := range o.inner.Columns {
		for b := range a {
			if at := o.inner.partial[a][b]; at >= 0 {
				list = append(list, at)
			}
		}
	}
	return list
}

// outerTau is the precision of the rows that their curvatures are to be multiplied with.
func (r *Regression) outerTau(theta []float64) float64 {
	if r.noise < 0 || !r.Frame.Response.Conjugate() {
		return 1
	}
	return math.Exp(-2 * theta[r.noise])
}

// outerFeature is the feature of a coordinate.
func (r *Regression) outerFeature(o *outerEffects, m outerModel, j int, theta []float64, tau float64) float64 {
	for a, at := range o.inner.sd {
		if at == j {
			logRatio, _ := scaleRatio(theta[j])
			return feature(math.Exp(logRatio)*r.coordinates[j].unit, tau, m.rows[a])
		}
	}
	return theta[j]
}

// outerRotation is R: the eigenvectors of what the model has, and what it lacks as it is.
func (r *Regression) outerRotation(o *outerEffects, mask []bool, theta, g []float64, tau float64) []float64 {
	n := o.size
	f := mat.NewDense(n, n, nil)
	for k, group := range o.groups {
		factor, q := r.factorAt(group.varyingGroup, mask, theta), len(group.Columns)
		for level := range group.Levels {
			at := o.first[k] + level*q
			for c := range q {
				for d := range c + 1 {
					f.Set(at+c, at+d, factor[c][d])
				}
			}
		}
	}
	var full mat.Dense
	full.Product(f.T(), mat.NewDense(n, n, g), f)
	var places []int
	rotation := make([]float64, n*n)
	if o.dense {
		for k := range n {
			rotation[k*n+k] = 1
		}
		return rotation
	}
	for k, in := range o.present(mask) {
		if in {
			places = append(places, k)
		} else {
			rotation[k*n+k] = 1
		}
	}
	if len(places) == 0 {
		return rotation
	}
	of := mat.NewSymDense(len(places), nil)
	for a, at := range places {
		for b := range a + 1 {
			of.SetSym(a, b, tau*(full.At(at, places[b])+full.At(places[b], at))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(of, true) {
		for _, k := range places {
			rotation[k*n+k] = 1
		}
		return rotation
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for a, at := range places {
		for b, other := range places {
			rotation[at*n+other] = vectors.At(a, b)
		}
	}
	return rotation
}

// diagonals are the coefficients of the diagonal of Rᵀ Fᵀ G F R / τ: for each two parts of F, those
// that differ twice, and each of G.
func (o *outerEffects) diagonals(m outerModel) (out []float64) {
	n := o.size
	rotated := make([]*mat.Dense, len(o.parts)) // E R, with E the places of a part
	for k, part := range o.parts {
		rotated[k] = mat.NewDense(n, n, nil)
		q := len(o.groups[part.group].Columns)
		for level := range o.groups[part.group].Levels {
			at := o.first[part.group] + level*q
			rotated[k].SetRow(at+part.c, m.rotation[(at+part.d)*n:(at+part.d+1)*n])
		}
	}
	for a := range o.parts {
		for b := range a + 1 {
			times := 2.0
			if a == b {
				times = 1
			}
			for _, g := range m.g {
				var right mat.Dense
				right.Mul(mat.NewDense(n, n, g), rotated[b])
				for k := range n {
					out = append(out, times*mat.Dot(rotated[a].ColView(k), right.ColView(k)))
				}
			}
		}
	}
	return out
}
