package regression

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/hbm"
)

// density is the prior of a standard deviation with a scale.
func (p SDPrior) density(scale float64) hbm.Density {
	switch p {
	case HalfCauchySD:
		return hbm.HalfStudentT(hbm.Number(1), hbm.Number(scale))
	case ExponentialSD:
		return hbm.Gamma(hbm.Number(1), hbm.Number(1/scale))
	}
	return hbm.HalfNormal(hbm.Number(scale))
}

// scaleLink is scaleMap as a link, for events without axes.
type scaleLink struct{ unit float64 }

var _ hbm.Link = scaleLink{}

func (scaleLink) Support() hbm.Support { return hbm.Positives }
func (scaleLink) Dim(event []int) (int, error) {
	if len(event) > 0 {
		return 0, fmt.Errorf("a standard deviation is one number, got an event of shape %v", event)
	}
	return 1, nil
}

// leastRatio and leastRatio32 bound standard deviations from below, in units of their scale, in
// float64 and in float32. The prior has about as much mass below.
const leastRatio, leastRatio32 = 1e-12, 1e-5

func (l scaleLink) ToEvent(u *Node, _ []int) (value, logDet *Node) {
	s := newScaleMap(u, OnesLike(u), l.unit, 1)
	return Squeeze(MaxScalar(s.scale, leastRatioOf(u)*l.unit), -1), ReduceSum(AddScalar(Add(s.logRatio, s.logSlope), math.Log(l.unit)), -1)
}

// leastRatioOf is the bound in the type of a node. A sum of a coefficient and an effect rounds away
// effects that are smaller yet: their distances in standard deviations would be zero, and their
// density too large.
func leastRatioOf(x *Node) float64 {
	if x.DType() == dtypes.Float32 {
		return leastRatio32
	}
	return leastRatio
}

// partialCorrelation is the prior of the coordinate z of a partial correlation; see partialMap. Of
// several models each has its own b, see coordinate.betaOf.
func (p *PlateModel) partialCorrelation(c coordinate) hbm.Density {
	if p.choice == nil || len(c.later) == 0 {
		return partialCorrelation(c.beta)
	}
	var less [][]float64 // of b, and of the logarithm of the density
	for _, mask := range p.regression.space.masks {
		b := c.betaOf(mask)
		less = append(less, []float64{b - c.beta, logSymmetricBeta(c.beta) - logSymmetricBeta(b)})
	}
	return hbm.Custom(hbm.CustomDensity{
		Name: "partial correlation", Support: hbm.Reals,
		LogProb: func(x *Node, terms []*Node) *Node {
			m := newPartialMap(x, OnesLike(x), c.beta)
			of := func(k int) *Node { return Squeeze(SliceAxis(terms[0], -1, AxisElem(k)), -1) }
			return Add(m.logPrior, Add(Mul(m.logOne, of(0)), of(1)))
		},
	}, hbm.ByModel(less))
}

// partialCorrelation is that of one b.
func partialCorrelation(b float64) hbm.Density {
	return hbm.Custom(hbm.CustomDensity{
		Name: "partial correlation", Support: hbm.Reals,
		LogProb: func(x *Node, _ []*Node) *Node { return newPartialMap(x, OnesLike(x), b).logPrior },
		Draw: func(random *rand.Rand, _ [][]float64, x []float64) {
			for i := range x {
				w := math.Atanh(2*distuv.Beta{Alpha: b, Beta: b, Src: random}.Rand() - 1)
				x[i] = math.Copysign(math.Sqrt(4*b*(math.Sqrt(1+w*w)-1)), w) // z of w
			}
		},
	})
}
