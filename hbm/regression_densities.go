package hbm

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

// density is the prior of a standard deviation with a scale.
func (p SDPrior) density(scale float64) Density {
	switch p {
	case HalfCauchySD:
		return HalfStudentT(Number(1), Number(scale))
	case ExponentialSD:
		return Gamma(Number(1), Number(1/scale))
	}
	return HalfNormal(Number(scale))
}

// scaleLink is scaleMap as a link.
type scaleLink struct{ unit float64 }

var _ Link = scaleLink{}

func (scaleLink) Support() Support             { return Positives }
func (scaleLink) Dim(event []int) (int, error) { return product(event), nil }
func (l scaleLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	s := newScaleMap(u, OnesLike(u), l.unit, 1)
	return reshapeLast(s.scale, event), ReduceSum(AddScalar(Add(s.logRatio, s.logSlope), math.Log(l.unit)), -1)
}

// partialCorrelation is the prior of the coordinate z of a partial correlation; see partialMap.
func partialCorrelation(b float64) Density {
	return Density{
		name: "partial correlation", support: Reals,
		logProb: func(x *Node, _ []*Node, _ int) *Node { return newPartialMap(x, OnesLike(x), b).logPrior },
		draw: func(random *rand.Rand, _ [][]float64, x []float64) {
			for i := range x {
				w := math.Atanh(2*distuv.Beta{Alpha: b, Beta: b, Src: random}.Rand() - 1)
				x[i] = math.Copysign(math.Sqrt(4*b*(math.Sqrt(1+w*w)-1)), w) // z of w
			}
		},
	}
}
