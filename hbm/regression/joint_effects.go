package regression

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/sparse"
)

// jointEffects is the distribution of all effects of a gaussian regression, of the population and
// of every grouping, given its hyperparameters h: standard deviations, correlations and noise σ. D
// = [X Z_1 … Z_G] [n, E] has a row for each row of the table and a column for each effect. F is
// block diagonal, with the prior standard deviations of β and with Λ_g for each level of each
// grouping g. The effects are b = μ + F v, where μ is their prior mean and v ~ N(0, I), and
//
//	v | y, h ~ N(v̂, P⁻¹),   P = Fᵀ DᵀD F / σ² + I,   P v̂ = Fᵀ Dᵀ (y − D μ) / σ²,
//	−2 log p(y | h) = n log 2πσ² + log |P| + |y − D (μ + F v̂)|² / σ² + |v̂|²
//
// (Bates et al. 2015, section 3). Few entries of P are not zero, at the same places for all h and
// models. So its Cholesky factor costs little even for many effects.
type jointEffects struct {
	r       *Regression
	effects int // E, the number of all effects
	blocks  []effectBlock
	firstOf []int // index of the first effect of each grouping
	// rows lists, for each row of D, the blocks of the first plane in which it has entries: the
	// population, and a level of each grouping. designs holds these entries. A block of the first
	// plane is followed by the blocks of the other planes (linear predictors), with the same
	// entries.
	rows    [][]int
	designs [][][]float64
	// rowPairs lists the pairs of blocks of each row, in the order of nested loops over blocks a of
	// the row, blocks b up to a, planes of a, and planes of b.
	rowPairs [][]int32
	// pairs are the blocks of DᵀD that are not zero, on and below the diagonal. The field first of
	// a pair is the index of its first value among the values of P.
	pairs    []gramBlock
	symbolic *sparse.Symbolic
	values   int
	products []float64 // Dᵀy
	square   float64   // yᵀy
	// orthogonal says that there are few enough rows and effects to solve the least squares problem
	// by orthogonal transformations. In P the term I is lost by rounding if the noise is many
	// orders of magnitude smaller than the effects.
	orthogonal bool
	dear       bool // the factor of P takes more than exactWork multiplications
}

const (
	// tolerableRounding is the tolerated rounding error of a log density, and roughRounding the
	// largest error in a trusted answer, which changes a weight by one percent.
	tolerableRounding = 1e-4
	roughRounding     = 0.01
	// mostOrthogonal is the largest number of multiplications in one least squares problem, which
	// then takes some milliseconds.
	mostOrthogonal = 1e7
)

// effectBlock is a set of effects that are correlated a priori: the effects of a level, or of the
// population, in one plane.
type effectBlock struct {
	first, size int
	group       int // −1 for the population
}

// gramBlock is D_iᵀ D_j of two blocks [size of i, size of j], row by row.
type gramBlock struct {
	i, j  int
	gram  []float64
	first int
}

func newJointEffects(r *Regression) *jointEffects {
	e := &jointEffects{r: r, rows: make([][]int, len(r.y)), designs: make([][][]float64, len(r.y)), rowPairs: make([][]int32, len(r.y))}
	add := func(size, group int) {
		e.blocks = append(e.blocks, effectBlock{e.effects, size, group})
		e.effects += size
	}
	if r.x != nil {
		for range r.planes {
			add(len(r.Frame.Columns), -1)
		}
		for i := range e.rows {
			e.rows[i], e.designs[i] = append(e.rows[i], 0), append(e.designs[i], r.x.RawRowView(i))
		}
	}
	for k, g := range r.groups {
		first := len(e.blocks)
		e.firstOf = append(e.firstOf, e.effects)
		for range len(g.Levels) * r.planes {
			add(len(g.Columns), k)
		}
		for i, level := range g.Index {
			e.rows[i], e.designs[i] = append(e.rows[i], first+level*r.planes), append(e.designs[i], g.z.RawRowView(i))
		}
	}
	places := map[[2]int]int{}
	for i, blocks := range e.rows {
		for k, a := range blocks {
			for m, b := range blocks[:k+1] {
				for plane := range r.planes {
					last := r.planes
					if k == m { // each pair is listed once
						last = plane + 1
					}
					for other := range last {
						at := e.pairOf(places, a+plane, b+other)
						e.rowPairs[i] = append(e.rowPairs[i], int32(at))
						addProduct(e.pairs[at].gram, e.designs[i][k], e.designs[i][m], 1)
					}
				}
			}
		}
	}
	e.products, e.square = e.productsWith(r.y), dot(r.y, r.y)
	for b := range e.blocks { // a level without rows has a prior too
		e.pairOf(places, b, b)
	}
	var entries []sparse.Entry
	for k := range e.pairs {
		p := &e.pairs[k]
		p.first = len(entries)
		i, j := e.blocks[p.i], e.blocks[p.j]
		for a := range i.size {
			for c := range j.size {
				if p.i != p.j || a >= c {
					entries = append(entries, sparse.Entry{Row: i.first + a, Column: j.first + c})
				}
			}
		}
	}
	e.values = len(entries)
	e.orthogonal = float64(len(r.y)+e.effects)*float64(e.effects)*float64(e.effects) <= mostOrthogonal
	e.symbolic = sparse.Analyse(e.effects, entries, e.isOuter())
	e.dear = e.symbolic.Work() > exactWork
	return e
}

// productsWith returns Dᵀx for x [n], or [M·n] by planes.
func (e *jointEffects) productsWith(x []float64) []float64 {
	products, n := make([]float64, e.effects), len(e.rows)
	for m := range len(x) / n {
		for i, blocks := range e.rows {
			for k, b := range blocks {
				first := e.blocks[b+m].first
				for a, z := range e.designs[i][k] {
					products[first+a] += z * x[m*n+i]
				}
			}
		}
	}
	return products
}

// isOuter reports for each effect whether it is an outer effect: one that is not integrated out by
// quadrature. It returns nil if no grouping is integrated out by quadrature.
func (e *jointEffects) isOuter() []bool {
	if e.r.Frame.Response.Conjugate() || e.r.inner == nil {
		return nil
	}
	outer := make([]bool, e.effects)
	for _, block := range e.blocks {
		for k := range block.size {
			outer[block.first+k] = block.group < 0 || e.r.groups[block.group] != e.r.inner
		}
	}
	return outer
}

// pairOf returns the index of a pair of blocks among the pairs, and adds it if it is new.
func (e *jointEffects) pairOf(places map[[2]int]int, a, b int) int {
	at, ok := places[[2]int{a, b}]
	if !ok {
		at = len(e.pairs)
		places[[2]int{a, b}] = at
		e.pairs = append(e.pairs, gramBlock{i: a, j: b, gram: make([]float64, e.blocks[a].size*e.blocks[b].size)})
	}
	return at
}

// addProduct adds weight · x zᵀ to a matrix, row by row.
func addProduct(gram, x, z []float64, weight float64) {
	for i, left := range x {
		left *= weight
		row := gram[i*len(z):][:len(z)]
		for j, right := range z {
			row[j] += left * right
		}
	}
}

// prior returns the prior of the effects given standard deviations by their coordinates, and the
// other hyperparameters in θ. The fields centre and factor of the result are nil.
func (e *jointEffects) prior(mask []bool, theta []float64, sd func(j int) float64) *conditional {
	r := e.r
	c := &conditional{e: e, sigma: r.noiseAt(theta), mean: make([]float64, r.coefficients()), sd: make([]float64, r.coefficients())}
	c.until = make([]int, len(c.sd))
	for j := range c.mean {
		if c.until[j] = j + 1; mask[j] {
			c.mean[j], c.sd[j] = r.coordinates[j].mean, r.coordinates[j].sd
		}
	}
	c.shares = r.sharesAt(mask, theta)
	shares := c.shares
	for _, m := range r.monotonic {
		prior := r.coordinates[m.first]
		for k, share := range shares[:m.steps] {
			j, times := m.first+k, float64(m.steps)*share
			c.until[j], c.mean[j], c.sd[j] = j, times*prior.mean, times*prior.sd
		}
		c.until[m.first], shares = m.first+m.steps, shares[m.steps:]
	}
	c.factors = apply.To(r.groups, func(g *varyingGroup) [][]float64 { return r.factorAt(g, mask, theta, sd) })
	c.columns = apply.To(c.factors, func(rows [][]float64) [][]float64 {
		return apply.UpTo(len(rows), func(a int) []float64 { return apply.To(rows[a:], func(row []float64) float64 { return row[a] }) })
	})
	return c
}

// posterior returns the distribution of the effects given the hyperparameters in θ, for the model
// with the coordinates in mask. It returns false if double precision does not suffice.
func (e *jointEffects) posterior(mask []bool, theta []float64) (*conditional, bool) {
	r, c := e.r, e.prior(mask, theta, e.r.sdsAt(theta))
	precision := 1 / (c.sigma * c.sigma)
	values := make([]float64, e.values)
	var work []float64
	for _, p := range e.pairs {
		work = c.precision(p, precision, values[p.first:], work)
	}
	var squares float64
	factor, ok := e.symbolic.Factorize(values)
	switch {
	case ok && (factor.Rounding() <= tolerableRounding || !e.orthogonal):
		c.factor, c.rounding = factor, factor.Rounding()
		squares = c.solve(floats.Max(values))
	case e.orthogonal:
		if c.factor, c.centre, squares, ok = sparse.LeastSquares(c.leastSquares()); !ok {
			return nil, false
		}
		c.rounding = c.factor.Rounding()
	default:
		return nil, false
	}
	c.logDensity = -float64(r.Frame.Rows())*(halfLog2Pi+math.Log(c.sigma)) - c.factor.LogDet()/2 - squares/2
	return c, !math.IsNaN(c.logDensity)
}

// innerAt returns the index of the first effect of the inner grouping.
func (e *jointEffects) innerAt() int { return e.firstOf[slices.Index(e.r.groups, e.r.inner)] }

// eachOuter calls the function do for each effect of the groupings other than the inner grouping,
// with its coordinate in θ and its index among the effects.
func (e *jointEffects) eachOuter(do func(coordinate, effect int)) {
	for k, g := range e.r.groups {
		if g.first < 0 {
			continue
		}
		q, levels := len(g.Columns), len(g.Levels)
		for c := range e.r.planes * q { // columns of all planes
			for level := range levels {
				do(g.first+c*levels+level, e.firstOf[k]+level*e.r.planes*q+c)
			}
		}
	}
}

// effectsAt returns the effects v at the coordinates θ of a model, with zeros for the inner
// grouping, and F v, in which population effects are less their prior mean.
func (e *jointEffects) effectsAt(mask []bool, theta []float64) (prior *conditional, v, effects []float64) {
	prior, v = e.prior(mask, theta, e.r.sdsAt(theta)), make([]float64, e.effects)
	e.eachOuter(func(coordinate, effect int) { v[effect] = theta[coordinate] })
	effects = prior.effectsOf(v)
	for j, mean := range prior.mean {
		if mask[j] {
			effects[j] = theta[j] - mean
		}
	}
	return prior, v, effects
}

func dot(x, y []float64) (sum float64) {
	y = y[:len(x)]
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// logMarginal returns log p(y, h | m) for the hyperparameters h in θ, with all effects integrated
// out, or −Inf if it cannot be computed.
func (e *jointEffects) logMarginal(mask []bool, theta []float64) float64 {
	logDensity, _ := e.estimate(mask, theta, nil)
	return logDensity
}

// tuneAt returns e, because jointEffects does not search for modes.
func (e *jointEffects) tuneAt([]bool, []float64, *rand.Rand) integrator { return e }

// estimate returns logMarginal. If random is not nil, it also returns the distribution of the
// effects and a draw of them.
func (e *jointEffects) estimate(mask []bool, theta []float64, random func() *rand.Rand) (logDensity float64, kept keptEffects) {
	posterior, ok := e.posterior(mask, theta)
	if !ok {
		return math.Inf(-1), kept
	}
	if random != nil {
		kept = keptEffects{conditional: posterior, drawn: posterior.draw(random())}
		posterior.factor = nil
	}
	return posterior.logDensity + e.r.logPriorOfHyperparameters(mask, theta), kept
}

// drawAt draws the effects, less their prior mean, given the hyperparameters of the draw at index
// place in the sample of a model. It writes the hyperparameters to θ.
func (e *jointEffects) drawAt(m *modelIntegral, place int, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
	m.writeHyperparameters(m.sample.Points[place], theta)
	if kept := m.kept[place]; kept.conditional != nil {
		return kept.conditional, kept.drawn, true
	}
	return e.draw(m.mask, theta, random)
}

// draw draws all effects, less their prior mean, given the hyperparameters in θ.
func (e *jointEffects) draw(mask []bool, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
	posterior, ok := e.posterior(mask, theta)
	if !ok {
		return nil, nil, false
	}
	return posterior, posterior.draw(random), true
}
