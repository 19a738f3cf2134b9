package regression

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// quadratureRows integrates out the effects of the inner grouping, the grouping with the most
// effects, by adaptive Gauss-Hermite rules. The nodes of each level lie around the mode of its
// effects, scaled by the curvature at the mode. B is the number of draws, J the number of levels
// and n the number of rows. Nodes are found anew for every draw. No gradient passes through the
// nodes, because the integral does not depend on their positions.
type quadratureRows struct {
	row    likelihood.Likelihood
	y      []float64
	times  []float64  // number of rows for which each row stands; nil if always 1
	offset []float64  // of the rows, or nil
	v      *mat.Dense // columns of Regression.wide [n, W], or nil
	z      [][]float64
	member []float64 // [n, J]: 1 where a row belongs to a level
	levels int
	nodes  [][]float64 // t [q] of each node
	weight []float64   // logarithm of the weight of each node, plus |t|²
}

// quadratureNodes holds the numbers of nodes in each dimension, by the number of effects of a
// level: a rule for more effects is a product of shorter rules.
var quadratureNodes = [mostPerLevel + 1]int{1, 15, 9, 6, 4}

// modeSteps is the number of Newton steps to a mode. No step changes an effect u by more than
// longestStep.
const (
	modeSteps   = 8
	longestStep = 1.5
)

// newQuadratureRows uses a rule with nodes[q] nodes in each dimension for levels with q effects.
func newQuadratureRows(row likelihood.Likelihood, r *Regression, nodes [mostPerLevel + 1]int) *quadratureRows {
	l := &quadratureRows{row: row, y: r.y, times: r.times, offset: r.offset, v: r.wide()}
	if r.inner == nil {
		return l
	}
	q := len(r.inner.Columns)
	l.levels = len(r.inner.Levels)
	l.member = make([]float64, len(r.y)*l.levels)
	for i, level := range r.inner.Index {
		l.member[i*l.levels+level] = 1
	}
	l.z = apply.UpTo(q, func(c int) []float64 { return mat.Col(nil, c, r.inner.z) })
	l.nodes, l.weight = hermiteRule(q, nodes[q])
	return l
}

// hermiteRule returns the product of q Gauss-Hermite rules of count nodes each: the nodes t [q],
// and log w + |t|² for each node, where w is its weight.
func hermiteRule(q, count int) (nodes [][]float64, weights []float64) {
	t, w := make([]float64, count), make([]float64, count)
	quad.Hermite{}.FixedLocations(t, w, math.Inf(-1), math.Inf(1))
	for _, place := range space.All(append([]int{1}, slices.Repeat([]int{count}, q)...)) { // one site more, since q may be 0
		node, weight := make([]float64, q), 0.0
		for c, at := range place[1:] {
			node[c] = t[at]
			weight += math.Log(w[at]) + t[at]*t[at]
		}
		nodes, weights = append(nodes, node), append(weights, weight)
	}
	return nodes, weights
}

func (l *quadratureRows) logDensity(w *Node, factor [][]*Node, logNoise *Node) *Node {
	var like, base *Node // a node of the float type, and η without inner effects [1 or B, n]
	switch {
	case w != nil:
		like = w
		_, width := l.v.Dims()
		base = Einsum("bw,nw->bn", w, table2(w, l.v.RawMatrix().Data, len(l.y), width))
	case factor != nil:
		like = factor[0][0]
		base = vector(like, make([]float64, len(l.y)))
	default:
		like = logNoise
		base = vector(like, make([]float64, len(l.y)))
	}
	if l.offset != nil {
		base = Add(base, vector(like, l.offset))
	}
	y := vector(like, l.y)
	normaliser := likelihood.LogConstants(l.row, l.y, l.times)
	if factor == nil {
		kernel := l.row.LogKernel(y, base, logNoise)
		if l.times != nil {
			kernel = Mul(kernel, vector(like, l.times))
		}
		return AddScalar(ReduceSum(kernel, -1), normaliser)
	}
	q := len(factor)
	effects := make([]*Node, q) // change of each predictor by a unit of each effect [B, n]
	for c := range q {
		for a := c; a < q; a++ {
			if factor[a][c] != nil {
				effects[c] = addTo(effects[c], Mul(vector(like, l.z[a]), factor[a][c]))
			}
		}
	}
	member := table2(like, l.member, len(l.y), l.levels)
	predictor := func(base *Node, effects, u []*Node) *Node { // η with effects u [B, J]
		for c := range q {
			base = Add(base, Mul(effects[c], Einsum("bj,nj->bn", u[c], member)))
		}
		return base
	}
	counted := member
	if l.times != nil {
		counted = Mul(member, Reshape(vector(like, l.times), len(l.y), 1))
	}
	perLevel := func(x *Node) *Node { return Einsum("bn,nj->bj", x, counted) }

	fixedNoise := logNoise
	if logNoise != nil {
		fixedNoise = StopGradient(logNoise)
	}
	mode, lower, logDiagonal := l.modes(StopGradient(base), apply.To(effects, StopGradient), y, fixedNoise, predictor, perLevel)
	terms := make([]*Node, len(l.nodes))
	var largest *Node
	for k, t := range l.nodes {
		u := apply.UpTo(q, func(a int) *Node { return MulScalar(OnesLike(mode[a]), math.Sqrt2*t[a]) })
		solveTransposed(lower, u)
		prior := ScalarZero(like.Graph(), like.DType())
		for a := range q {
			u[a] = StopGradient(Add(u[a], mode[a]))
			prior = Add(prior, MulScalar(Square(u[a]), -0.5))
		}
		terms[k] = AddScalar(Add(perLevel(l.row.LogKernel(y, predictor(base, effects, u), logNoise)), prior), l.weight[k])
		if largest == nil {
			largest = StopGradient(terms[k])
		} else {
			largest = Max(largest, StopGradient(terms[k]))
		}
	}
	var sum *Node
	for _, term := range terms {
		sum = addTo(sum, Exp(Sub(term, largest)))
	}
	// The scale of u in t is √2^q / |L|, the normal density of u has (2π)^(−q/2).
	each := AddScalar(Sub(Add(largest, Log(sum)), logDiagonal), float64(q)*(math.Ln2/2-halfLog2Pi))
	return AddScalar(ReduceSum(each, -1), normaliser)
}

// solveTransposed overwrites x by L⁻ᵀ x.
func solveTransposed(lower [][]*Node, x []*Node) {
	for a := len(x) - 1; a >= 0; a-- {
		for b := a + 1; b < len(x); b++ {
			x[a] = Sub(x[a], Mul(lower[b][a], x[b]))
		}
		x[a] = Div(x[a], lower[a][a])
	}
}

// modes finds the mode of the effects of each level, q nodes [B, J], the Cholesky factor of the
// curvature there, and the logarithm of its determinant.
func (l *quadratureRows) modes(base *Node, effects []*Node, y, logNoise *Node, predictor func(base *Node, effects, u []*Node) *Node, perLevel func(*Node) *Node) (
	u []*Node, lower [][]*Node, logDiagonal *Node) {
	q := len(effects)
	u = apply.UpTo(q, func(c int) *Node { return ZerosLike(perLevel(Mul(effects[c], ZerosLike(base)))) })
	for step := 0; ; step++ {
		slope, curvature := likelihood.SlopeAndCurvature(l.row, y, predictor(base, effects, u), logNoise)
		hessian, gradient := make([][]*Node, q), make([]*Node, q)
		for a := range q {
			gradient[a] = Sub(perLevel(Mul(effects[a], slope)), u[a])
			hessian[a] = make([]*Node, a+1)
			for b := range a + 1 {
				hessian[a][b] = perLevel(Mul(Mul(effects[a], effects[b]), curvature))
				if a == b {
					hessian[a][a] = AddScalar(hessian[a][a], 1)
				}
			}
		}
		var move []*Node
		logDiagonal, move, lower = whiten(hessian, gradient)
		if step == modeSteps {
			break
		}
		solveTransposed(lower, move)
		for c := range q {
			u[c] = StopGradient(Add(u[c], MinScalar(MaxScalar(move[c], -longestStep), longestStep)))
		}
	}
	for a := range lower {
		lower[a] = apply.To(lower[a], StopGradient)
	}
	return u, lower, StopGradient(logDiagonal)
}
