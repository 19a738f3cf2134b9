package papers

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/hbm"
)

// laplace returns the distribution with density exp(−|x − location| / scale) / (2 scale) of each
// component. The location has the shape of x.
func laplace(location hbm.Term, scale float64) hbm.Density {
	return hbm.Custom(hbm.CustomDensity{
		Name: "Laplace", Support: hbm.Reals,
		LogProb: func(x *Node, terms []*Node) *Node {
			return AddScalar(MulScalar(Abs(Sub(x, terms[0])), -1/scale), -math.Log(2*scale))
		},
		Draw: func(random *rand.Rand, terms [][]float64, x []float64) {
			for i := range x {
				x[i] = terms[0][i] + scale*(random.ExpFloat64()-random.ExpFloat64())
			}
		},
	}, location)
}

// uniformShares returns the uniform distribution of n shares, Dirichlet(1, …, 1), as a density of
// the first n − 1 shares.
func uniformShares(n int) hbm.Density {
	logDensity, _ := math.Lgamma(float64(n))
	return hbm.Custom(hbm.CustomDensity{
		Name: "uniform shares", Support: hbm.Simplex,
		LogProb: func(x *Node, _ []*Node) *Node { return AddScalar(MulScalar(ReduceSum(x, -1), 0), logDensity) },
		Draw: func(random *rand.Rand, _ [][]float64, x []float64) {
			for i := range x {
				x[i] = random.ExpFloat64()
			}
			floats.Scale(1/floats.Sum(x), x)
		},
	})
}

// normalMixture returns the distribution of a point [D], or of several points [T, D], that come
// from one of L normal components, with the component summed out. logShares [L] are the logarithms
// of the shares of the components, means [L, D] their means, and sds [L], or one number for all,
// their standard deviations.
func normalMixture(logShares, means, sds hbm.Term) hbm.Density {
	return hbm.Custom(hbm.CustomDensity{
		Name: "mixture of normal distributions", Support: hbm.Reals,
		LogProb: func(x *Node, terms []*Node) *Node {
			logShares, means, sds := terms[0], terms[1], terms[2]
			if x.Rank() == logShares.Rank() {
				return logSumExp(Add(logShares, logNormals(x, means, sds)))
			}
			points := logNormals(x, InsertAxes(means, -3), InsertAxes(sds, -2)) // [..., T, L]
			return logSumExp(Add(logShares, ReduceSum(points, -2)))
		},
		Draw: func(random *rand.Rand, terms [][]float64, x []float64) {
			component, left := 0, random.Float64()
			for left -= math.Exp(terms[0][0]); left > 0 && component < len(terms[0])-1; left -= math.Exp(terms[0][component]) {
				component++
			}
			sd, dim := terms[2][component%len(terms[2])], len(terms[1])/len(terms[0])
			for i := range x {
				x[i] = terms[1][component*dim+i%dim] + sd*random.NormFloat64()
			}
		},
	}, logShares, means, sds)
}

// logNormals returns the log density of points x [..., D] under each of L normal distributions,
// with means [..., L, D] and standard deviations [..., L] or [...]: [..., L].
func logNormals(x, means, sds *Node) *Node {
	dim := float64(x.Shape().Dim(-1))
	if sds.Rank() < x.Rank() {
		sds = InsertAxes(sds, -1)
	}
	squares := ReduceSum(Square(Sub(InsertAxes(x, -2), means)), -1)
	return AddScalar(Sub(MulScalar(Div(squares, Square(sds)), -0.5), MulScalar(Log(sds), dim)), -dim/2*math.Log(2*math.Pi))
}

// logSumExp returns log Σ exp x over the last axis.
func logSumExp(x *Node) *Node {
	top := StopGradient(ReduceAndKeep(x, ReduceMax, -1))
	return Add(Squeeze(top, -1), Log(ReduceSum(Exp(Sub(x, top)), -1)))
}
