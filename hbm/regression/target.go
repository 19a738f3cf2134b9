package regression

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/space"
)

var halfLog2Pi = math.Log(2*math.Pi) / 2

// groupedLikelihood is the density of the response with the effects of the inner grouping
// integrated out.
type groupedLikelihood interface {
	// logDensity returns log p(y | w, Λ, σ) [B]. w [B, W] are the population effects and then the
	// effects of outer groupings, in the order of Regression.wide; factor has the entries [B, 1] of
	// Λ, lower triangular [q][q]; logNoise is log σ [B, 1] or nil.
	logDensity(w *Node, factor [][]*Node, logNoise *Node) *Node
}

// Target is the posterior of a regression for [vti.Fit], with standardised response and columns.
// Its coordinates are population effects, standard deviations, partial correlations, log σ, and the
// effects of all groupings but the largest, which are integrated out.
type Target struct{ regression *Regression }

var _ vti.Target = Target{}

// Target returns the posterior density, in the coordinates that Prepare has set.
func (r *Regression) Target() vti.Target { return Target{r} }

// Space returns the set of models.
func (t Target) Space() space.Space { return t.regression.space }

// Unimodal returns true: importance weights then need no check by Markov chains. With the effects
// integrated out, no calibration study has found a second mode that matters.
func (Target) Unimodal() bool { return true }

// LogPrior returns log p(m): codes [B, S] -> [B].
func (t Target) LogPrior(codes *Node) *Node { return t.regression.space.logProb(codes) }

// LogJoint returns log p(y, θ | m): codes [B, S], mask [B, D], theta [B, D] -> [B].
func (t Target) LogJoint(_, mask, theta *Node) *Node {
	r := t.regression
	active := Where(mask, theta, ZerosLike(theta))
	used := StopGradient(ConvertDType(mask, theta.DType()))
	parts := r.columns(active, used)

	var wide []*Node
	if r.x != nil {
		wide = append(wide, parts.population)
	}
	var inner [][]*Node
	for i, g := range r.groups {
		factor := r.factor(g, parts)
		if g == r.inner {
			inner = factor
			continue
		}
		for a := range g.Columns {
			var sum *Node
			for b := range a + 1 {
				if factor[a][b] != nil {
					sum = addTo(sum, Mul(factor[a][b], parts.effects[i][b]))
				}
			}
			wide = append(wide, sum)
		}
	}
	var w *Node
	if len(wide) > 0 {
		w = Concatenate(wide, -1)
	}
	return Add(r.likelihood().logDensity(w, inner, parts.logNoise), r.logPriorDensity(mask, active, parts))
}

// parts holds the coordinates of θ by their meaning.
type parts struct {
	population *Node               // [B, P]
	scales     map[int]*scaleMap   // of each coordinate of a standard deviation
	partials   map[int]*partialMap // of each coordinate of a partial correlation
	logNoise   *Node               // [B, 1] or nil
	effects    map[int][]*Node     // u of each column of an outer grouping [B, J]
}

// columns splits the coordinates into parts.
func (r *Regression) columns(active, used *Node) *parts {
	p := &parts{scales: map[int]*scaleMap{}, partials: map[int]*partialMap{}, effects: map[int][]*Node{}}
	if r.x != nil {
		p.population = block(active, 0, len(r.Frame.Columns))
	}
	for i, g := range r.groups {
		for _, at := range g.sd {
			p.scales[at] = newScaleMap(block(active, at, 1), block(used, at, 1), r.coordinates[at].unit, r.coordinates[at].scale)
		}
		for a := range g.Columns {
			for _, at := range g.partial[a] {
				if at >= 0 {
					p.partials[at] = newPartialMap(block(active, at, 1), block(used, at, 1), r.coordinates[at].beta)
					later := apply.To(r.coordinates[at].later, func(sd int) *Node { return block(used, sd, 1) })
					p.partials[at].leave(r.coordinates[at], later)
				}
			}
			if g.first >= 0 {
				p.effects[i] = append(p.effects[i], block(active, g.first+a*len(g.Levels), len(g.Levels)))
			}
		}
	}
	switch {
	case r.noise >= 0:
		p.logNoise = block(active, r.noise, 1)
	case r.Frame.Response.Continuous():
		p.logNoise = ZerosLike(block(active, 0, 1))
	}
	return p
}

// factor returns Λ = diag(s) L of a grouping, where L is the Cholesky factor of the correlations
// with the partial correlations in p. The entries on and below the diagonal are [B, 1], or nil for
// zeros.
func (r *Regression) factor(g *varyingGroup, p *parts) [][]*Node {
	rows := make([][]*Node, len(g.Columns))
	for a := range rows {
		rows[a] = make([]*Node, len(g.Columns))
		rest := p.scales[g.sd[a]].scale // s_a Π √(1 − ρ²) over the columns so far
		for b := range a {
			if at := g.partial[a][b]; at >= 0 {
				rho := p.partials[at].rho
				rows[a][b] = Mul(rest, rho)
				rest = Mul(rest, Sqrt(MaxScalar(AddScalar(Neg(Square(rho)), 1), 1e-12)))
			}
		}
		rows[a][a] = rest
	}
	return rows
}

// logPriorDensity returns the log prior density of the active coordinates. [B]
func (r *Regression) logPriorDensity(mask, active *Node, p *parts) *Node {
	var normal []bool
	means, inverses, constants := make([]float64, r.Dim()), make([]float64, r.Dim()), make([]float64, r.Dim())
	var rest *Node
	for j, c := range r.coordinates {
		normal = append(normal, c.sd > 0)
		switch {
		case c.sd > 0:
			means[j], inverses[j], constants[j] = c.mean, 1/c.sd, -math.Log(c.sd)-halfLog2Pi
		case c.kind == sdCoordinate:
			rest = addTo(rest, p.scales[j].logPrior(c.prior))
		case c.kind == partialCoordinate:
			rest = addTo(rest, p.partials[j].logPrior)
		}
	}
	standard := Mul(Sub(active, vector(active, means)), vector(active, inverses))
	logDensity := Add(MulScalar(Square(standard), -0.5), vector(active, constants))
	counts := LogicalAnd(mask, BroadcastToShape(Const(active.Graph(), [][]bool{normal}), mask.Shape()))
	total := ReduceSum(Where(counts, logDensity, ZerosLike(active)), -1)
	if rest != nil {
		total = Add(total, Reshape(rest, -1))
	}
	return total
}

// logSymmetricBeta returns log 2^(2b−1) B(b, b), where B is the beta function.
func logSymmetricBeta(b float64) float64 {
	return (2*b-1)*math.Ln2 + 2*logsum.Gamma(b) - logsum.Gamma(2*b)
}

// scaleMap maps a coordinate τ to a standard deviation s = c r(τ) by a smooth and increasing
// function:
//
//	log r(τ) = log softplus(τ) − ½ softplus(−τ)²
//
// Far from zero s is linear in τ. Towards zero the posterior of s is nearly constant. There the
// density of log s has an exponential tail, so that importance weights of a normal distribution
// would be unbounded; the density of τ has a normal tail. c is a third of the width of the
// posterior of s, which [Regression.Prepare] finds; the prior of s does not depend on it.
type scaleMap struct {
	logRatio, logSlope *Node   // log r and log d log r / dτ [B, 1]
	scale              *Node   // s, zero where not used [B, 1]
	used               *Node   // 0 or 1 [B, 1]
	relative           float64 // c in units of the scale of the prior
}

// leastSoftplus keeps logarithms of softplus finite.
const leastSoftplus = 1e-30

func newScaleMap(tau, used *Node, unit, priorScale float64) *scaleMap {
	tail := Log1P(Exp(Neg(Abs(tau))))
	high := Add(MaxScalar(tau, 0), tail)     // softplus(τ)
	low := Add(MaxScalar(Neg(tau), 0), tail) // softplus(−τ), so that 1 / (1 + e^−τ) = e^−low
	up := MaxScalar(high, leastSoftplus)
	m := &scaleMap{used: used, relative: unit / priorScale}
	m.logRatio = Sub(Log(up), MulScalar(Square(low), 0.5))
	m.logSlope = Log(Add(Div(Exp(Neg(low)), up), Mul(low, Exp(Neg(high)))))
	m.scale = Mul(used, MulScalar(Exp(m.logRatio), unit))
	return m
}

// logPrior returns log p(τ) = log p(s) + log s + log d log s / dτ, zero if not used. [B, 1]
func (m *scaleMap) logPrior(prior SDPrior) *Node {
	ratio := MulScalar(Exp(m.logRatio), m.relative)
	var density *Node
	switch prior {
	case HalfNormalSD:
		density = AddScalar(MulScalar(Square(ratio), -0.5), math.Ln2-halfLog2Pi)
	case HalfCauchySD:
		density = AddScalar(Neg(Log1P(Square(ratio))), math.Log(2/math.Pi))
	default:
		density = Neg(ratio)
	}
	return Mul(m.used, AddScalar(Add(Add(density, m.logRatio), m.logSlope), math.Log(m.relative)))
}

// partialMap is a partial correlation with density ∝ (1 − ρ²)^(b−1), as a function of a coordinate
// z whose prior, tails included, is nearly standard normal:
//
//	ρ = tanh w,   w = z √((1 + z² / 8b) / 2b)
type partialMap struct {
	rho      *Node // [B, 1]
	logPrior *Node // log p(z), zero where not used [B, 1]
	logOne   *Node // log(1 − ρ²), zero where not used [B, 1]
	used     *Node // 1, zero where not used [B, 1]
}

// leave adapts the prior to models that lack some of the columns in c.later: each missing column
// makes b smaller by ½. The argument later is 1 for each column that the model has.
func (m *partialMap) leave(c coordinate, later []*Node) {
	if len(later) == 0 {
		return
	}
	present := later[0]
	for _, other := range later[1:] {
		present = Add(present, other)
	}
	lacking := AddScalar(Neg(present), float64(len(c.later)))
	for k := 1; k <= len(c.later); k++ {
		b := c.beta - float64(k)/2
		chosen := ConvertDType(LessThan(Abs(AddScalar(lacking, -float64(k))), ConstAs(lacking, 0.5)), m.logOne.DType())
		less := AddScalar(MulScalar(m.logOne, -float64(k)/2), logSymmetricBeta(c.beta)-logSymmetricBeta(b))
		m.logPrior = Add(m.logPrior, Mul(Mul(chosen, m.used), less))
	}
}

func newPartialMap(z, used *Node, b float64) *partialMap {
	root := Sqrt(AddScalar(MulScalar(Square(z), 1/(8*b)), 1))
	w := MulScalar(Mul(z, root), 1/math.Sqrt(2*b))
	size := Abs(w)
	// log(1 − tanh² w) = 2 (log 2 − |w| − log(1 + e^−2|w|))
	logOne := MulScalar(Sub(AddScalar(Neg(size), math.Ln2), Log1P(Exp(MulScalar(size, -2)))), 2)
	logSlope := AddScalar(Log(Div(AddScalar(MulScalar(Square(z), 1/(4*b)), 1), root)), -math.Log(2*b)/2)
	logOne = Mul(used, logOne)
	return &partialMap{Tanh(w), Add(MulScalar(logOne, b), Mul(used, AddScalar(logSlope, -logSymmetricBeta(b)))), logOne, used}
}

// block returns n columns of x [B, D], from column first on. It is computed as a matrix product,
// which every backend can differentiate. [B, n]
func block(x *Node, first, n int) *Node {
	dim := x.Shape().Dim(1)
	if n == dim {
		return x
	}
	choose := make([]float64, n*dim)
	for i := range n {
		choose[i*dim+first+i] = 1
	}
	return Einsum("bd,nd->bn", x, table2(x, choose, n, dim))
}

// table2 and vector put constants into the graph of like, in its float type: [rows, columns] and
// [1, n].
func table2(like *Node, values []float64, rows, columns int) *Node {
	return ConvertDType(Reshape(Const(like.Graph(), values), rows, columns), like.DType())
}

func vector(like *Node, values []float64) *Node { return table2(like, values, 1, len(values)) }

// addTo adds x to a sum, which may be nil for zero.
func addTo(sum, x *Node) *Node {
	if sum == nil {
		return x
	}
	return Add(sum, x)
}
