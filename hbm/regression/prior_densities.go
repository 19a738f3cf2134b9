package regression

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/apply"
)

func (p SDPrior) density(scale float64) hbm.Density {
	switch p {
	case HalfCauchySD:
		return hbm.HalfStudentT(hbm.Number(1), hbm.Number(scale))
	case ExponentialSD:
		return hbm.Gamma(hbm.Number(1), hbm.Number(1/scale))
	}
	return hbm.HalfNormal(hbm.Number(scale))
}

// scaleLink is the function of scaleMap, from real numbers to standard deviations, as a link.
type scaleLink struct{ unit float64 }

var _ hbm.Link = scaleLink{}

func (scaleLink) Support() hbm.Support { return hbm.Positives }
func (scaleLink) Dim(event []int) (int, error) {
	if len(event) > 0 {
		return 0, fmt.Errorf("a standard deviation is one number, got an event of shape %v", event)
	}
	return 1, nil
}

// leastRatio and leastRatio32 are lower bounds of standard deviations, in units of the scale of
// their prior, in float64 and in float32. The prior probability of a standard deviation below the
// bound is about the bound itself.
const leastRatio, leastRatio32 = 1e-12, 1e-5

func (l scaleLink) ToEvent(u *Node, _ []int) (value, logDet *Node) {
	s := newScaleMap(u, OnesLike(u), l.unit, 1)
	return Squeeze(MaxScalar(s.scale, leastRatioOf(u)*l.unit), -1), ReduceSum(AddScalar(Add(s.logRatio, s.logSlope), math.Log(l.unit)), -1)
}

// leastRatioOf returns the lower bound of standard deviations in the float type of a node. Smaller
// effects would be lost by rounding beside the effects of a column with which they are correlated,
// and their density would be too large.
func leastRatioOf(x *Node) float64 {
	if x.DType() == dtypes.Float32 {
		return leastRatio32
	}
	return leastRatio
}

// partialCorrelation returns the prior of the coordinate z of a partial correlation; see partialMap
// and coordinate.later.
func (p *PlateModel) partialCorrelation(c coordinate) hbm.Density {
	later := apply.To(c.later, func(sd int) hbm.Term { return hbm.Present(p.globals[sd]) })
	return hbm.Custom(hbm.CustomDensity{
		Name: "partial correlation", Support: hbm.Reals,
		LogProb: func(x *Node, present []*Node) *Node {
			m := newPartialMap(x, OnesLike(x), c.beta)
			m.leave(c, present)
			return m.logPrior
		},
		Draw: func(random *rand.Rand, _ [][]float64, x []float64) {
			for i := range x {
				w := math.Atanh(2*distuv.Beta{Alpha: c.beta, Beta: c.beta, Src: random}.Rand() - 1)
				x[i] = math.Copysign(math.Sqrt(4*c.beta*(math.Sqrt(1+w*w)-1)), w) // z for w
			}
		},
	}, later...)
}
