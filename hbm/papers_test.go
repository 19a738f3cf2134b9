package hbm

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

// Densities and terms of the models of published papers.

func broadcast3(a, b, c *Node) (x, y, z *Node) {
	a, b = broadcast2(a, b)
	a, c = broadcast2(a, c)
	b, c = broadcast2(b, c)
	return a, b, c
}

// Laplace returns the distribution with density exp(−|x − location| / scale) / (2 scale).
func Laplace(location, scale Term) Density {
	return elementwise("Laplace", Reals,
		func(x *Node, p []*Node) *Node {
			return AddScalar(Neg(Add(Div(Abs(Sub(x, p[0])), p[1]), Log(p[1]))), -math.Ln2)
		},
		func(random *rand.Rand, p []float64) float64 {
			return p[0] + p[1]*(random.ExpFloat64()-random.ExpFloat64())
		},
		location, scale).withNormal(func(p []*Node) (mean, sd *Node) { return p[0], MulScalar(p[1], math.Sqrt2) })
}

// Dirichlet returns the Dirichlet distribution of shares. The concentration is a vector, or one
// number for all shares. The density is the joint density of all shares but the last.
func Dirichlet(concentration Term) Density {
	return Density{
		name: "Dirichlet", support: Simplex, terms: []Term{concentration},
		logProb: func(x *Node, parameters []*Node, _ int) *Node {
			a := alignedTo(x, parameters)[0]
			x, a = broadcast2(x, a)
			normaliser := Sub(logGamma(ReduceSum(a, -1)), ReduceSum(logGamma(a), -1))
			return Add(normaliser, ReduceSum(xLogY(AddScalar(a, -1), x), -1))
		},
		draw: func(random *rand.Rand, parameters [][]float64, x []float64) {
			var sum float64
			for i := range x {
				a := parameters[0][i%len(parameters[0])]
				x[i] = distuv.Gamma{Alpha: a, Beta: 1, Src: random}.Rand()
				sum += x[i]
			}
			for i := range x {
				x[i] /= sum
			}
		},
	}
}

// Mixture returns the density that draws one of the components with the given weights, a vector of
// shares, and then all components of the event from it. The choice is summed out.
func Mixture(weights Term, components ...Density) Density {
	if len(components) == 0 {
		panic(fmt.Errorf("hbm.Mixture: there are no components"))
	}
	mixture := Density{name: "mixture", support: components[0].support, terms: []Term{weights}}
	ends := make([]int, len(components)) // ends of the terms of each component
	for i, component := range components {
		if component.support != mixture.support {
			panic(fmt.Errorf("hbm.Mixture: component 0 takes %s and component %d %s", mixture.support, i, component.support))
		}
		mixture.terms = append(mixture.terms, component.terms...)
		ends[i] = len(mixture.terms)
	}
	termsOf := func(i int) (from, to int) {
		if i == 0 {
			return 1, ends[0]
		}
		return ends[i-1], ends[i]
	}
	mixture.logProb = func(x *Node, parameters []*Node, eventRank int) *Node {
		rank := x.Rank() - eventRank
		weight := parameters[0]
		if weight.Rank() != rank+1 || weight.Shape().Dim(rank) != len(components) {
			panic(fmt.Errorf("hbm.Mixture: got weights of shape %s, want %d axes, the last of size %d", weight.Shape(), rank+1, len(components)))
		}
		var joint *Node // [plates..., draws, components]
		for i, component := range components {
			from, to := termsOf(i)
			logProb := InsertAxes(sumTrailing(component.logProb(x, parameters[from:to], eventRank), rank), -1)
			if joint == nil {
				joint = logProb
				continue
			}
			// Components may vary along different axes.
			dims := broadcastDims(joint, logProb, rank)
			joint = Concatenate([]*Node{BroadcastToDims(joint, append(dims, i)...), BroadcastToDims(logProb, append(dims, 1)...)}, rank)
		}
		return logSumExp(Add(Log(weight), joint))
	}
	mixture.draw = func(random *rand.Rand, parameters [][]float64, x []float64) {
		left, chosen := random.Float64(), 0
		for ; chosen < len(components)-1; chosen++ {
			if left -= parameters[0][chosen]; left < 0 {
				break
			}
		}
		from, to := termsOf(chosen)
		components[chosen].draw(random, parameters[from:to], x)
	}
	return mixture
}

// broadcastDims returns the dimensions of the first n axes of two nodes after broadcasting.
func broadcastDims(a, b *Node, n int) []int {
	dims := make([]int, n, n+1)
	for i := range dims {
		dims[i] = max(a.Shape().Dim(i), b.Shape().Dim(i))
	}
	return dims
}

type entry struct {
	term  Term
	index int
}

// At returns the entry of a term at an index along the first axis of its event, such as a row.
func At(term Term, index int) Term { return entry{term, index} }

func (a entry) variables() []*Variable { return a.term.variables() }

func (a entry) node(r *replica, plates []*Plate) *Node {
	value := a.term.node(r, plates)
	axis := len(plates) + 1
	if value.Rank() <= axis || a.index < 0 || a.index >= value.Shape().Dim(axis) {
		panic(fmt.Errorf("hbm.At: index %d into a term of shape %s, whose event starts at axis %d", a.index, value.Shape(), axis))
	}
	return Squeeze(SliceAxis(value, axis, AxisElem(a.index)), axis)
}

// xLogY returns x log y for y > 0, and 0 for x = 0 and any y.
func xLogY(x, y *Node) *Node {
	zero := Equal(x, ZerosLike(x))
	x, y, zero = broadcast3(x, y, zero)
	return Where(zero, ZerosLike(x), Mul(x, Log(Where(zero, OnesLike(y), y))))
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// logSumExp returns log Σ exp x over the last axis of x. Entries of a row may be −Inf, but not all.
func logSumExp(x *Node) *Node {
	largest := StopGradient(ReduceMax(x, -1))
	return Add(largest, Log(ReduceSum(Exp(Sub(x, InsertAxes(largest, -1))), -1)))
}
