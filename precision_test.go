package vti_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/space"
)

// counts is a Poisson regression of ten counts of 1e9 on an intercept θ ~ N(log 1e9, 1), with a
// second coordinate on which the data do not depend. The log likelihood is expanded to third order
// around the log of the counts, to keep float64 precision. The posterior of the intercept has a
// standard deviation of 1e-5 around 20.7.
type counts struct{ *space.Subsets }

const totalCount, meanCount = 1e10, 1e9

func (c counts) Space() space.Space { return c.Subsets }

func (counts) LogPrior(codes *Node) *Node {
	return AddScalar(MulScalar(ReduceSum(ConvertDType(codes, dtypes.Float64), -1), 0), -math.Ln2)
}

func (counts) LogJoint(_, mask, theta *Node) *Node {
	coordinate := func(j int) *Node { return Squeeze(Slice(theta, AxisRange(), AxisElem(j)), -1) }
	logNormal := func(x *Node) *Node { return MulScalar(AddScalar(Square(x), math.Log(2*math.Pi)), -0.5) }
	d := AddScalar(coordinate(0), -math.Log(meanCount))
	// d + 1 − exp(d) to third order; the remainder is below 1e-10 within ten standard deviations
	likelihood := MulScalar(Mul(Square(d), AddScalar(MulScalar(d, 1.0/3), 1)), -totalCount/2)
	free := coordinate(1)
	used := Squeeze(Slice(mask, AxisRange(), AxisElem(1)), -1)
	return Add(Add(likelihood, logNormal(d)), Where(used, logNormal(free), ZerosLike(free)))
}

// TestWeightsOfWellKnownParameters compares the evidence by weights of a parameter known to seven
// digits with Laplace's approximation, whose relative error is of the order of one over the count,
// 1e-9. If the mean of the flow were in float32, draws of the parameter would lie on a grid whose
// spacing is half of the posterior standard deviation.
func TestWeightsOfWellKnownParameters(t *testing.T) {
	sp, err := space.NewSubsets(2, []int{0}, [][]int{{1}})
	require.NoError(t, err)
	cfg := smallConfig()
	cfg.Steps = 50
	cfg.Flow.Precision, cfg.Flow.Linear = []float64{totalCount, 0, 0, 1}, []float64{totalCount * math.Log(meanCount), 0}
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), counts{sp}, cfg)
	require.NoError(t, err)
	certificate, err := posterior.CertifyByWeights(t.Context(), vti.CertifyConfig{Draws: 1 << 14})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	for _, model := range certificate.Models {
		require.InDelta(t, -math.Log(totalCount+1)/2, model.LogEvidence, 4.5*model.LogEvidenceSE+1e-6)
		require.Less(t, model.LogEvidenceSE, 0.02)
	}
	m := weighted.MomentsOf(certificate.Sample.Weight, mat.Col(nil, 0, certificate.Sample.Theta), nil, nil)
	require.InDelta(t, math.Log(meanCount), m.Mean, 1e-6)
	require.InDelta(t, 1/math.Sqrt(totalCount), m.SD, 4.5*m.SDSE)
}
