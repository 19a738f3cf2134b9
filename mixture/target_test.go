package mixture

import (
	gocontext "context"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/table"
)

// problemOf returns the problem of one column y.
func problemOf(t testing.TB, options Options, y []float64) *Problem {
	t.Helper()
	options.Columns = []string{"y"}
	data, err := table.New("memory", table.Numbers("y", y))
	require.NoError(t, err)
	p, err := NewProblem(data, options)
	require.NoError(t, err)
	return p
}

// stateOf returns the state at coordinates [3k]. It also returns the log Jacobian determinant of
// the state (all weights but the last, means, variances and β) with respect to the coordinates.
func stateOf(theta []float64) (s state, logJacobian float64) {
	k := len(theta) / blockSize
	s = state{make([]component, k), []float64{math.Exp(theta[0])}}
	logJacobian = theta[0]
	logRest := 0.0
	for j := range k {
		s.components[j].variance = math.Exp(theta[3*j+2])
		logJacobian += theta[3*j+2]
		if j == 0 {
			s.components[0].mean = theta[1]
			continue
		}
		x := theta[3*j] - math.Log(float64(k-j))
		logShare, logLeft := -log1pExp(-x), -log1pExp(x)
		s.components[j-1].weight = math.Exp(logRest + logShare)
		s.components[j].mean = s.components[j-1].mean + math.Exp(theta[3*j+1])
		// The weight is the share, which the stick sets, of the rest that earlier components leave.
		// Its derivative by the stick is rest · share · (1 − share). theta[3*j+1] is the log of the
		// derivative of mean j+1.
		logJacobian += logRest + logShare + logLeft + theta[3*j+1]
		logRest += logLeft
	}
	s.components[k-1].weight = math.Exp(logRest)
	return s, logJacobian
}

// log1pExp returns log(1 + exp x).
func log1pExp(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

// The log density of the graph equals the log density computed on the host, for every number of
// components. Noise in unused coordinates has no effect.
func TestTargetIsTheDensityOfTheHost(t *testing.T) {
	p := problemOf(t, Options{MaxComponents: 4, Concentration: 1.5}, []float64{1, 2.5, 2.7, 4, 9, 9.3})
	target, err := p.target()
	require.NoError(t, err)
	random := stream.Rand(3, "theta")
	var codes [][]int32
	var theta, noisy [][]float64
	var want []float64
	for k := 1; k <= 4; k++ {
		row := make([]float64, p.dim())
		for d := range 3 * k {
			row[d] = random.NormFloat64() - 0.5
		}
		codes, theta = append(codes, []int32{int32(k - 1)}), append(theta, row)
		other := append([]float64(nil), row...)
		for d := 3 * k; d < len(other); d++ {
			other[d] = 3 * random.NormFloat64()
		}
		noisy = append(noisy, other)
		// The joint density of the graph is given k, without the prior probability 1/4 of k.
		want = append(want, p.LogJoint(row[:3*k])+math.Log(4))
	}
	for _, values := range [][][]float64{theta, noisy} {
		out, err := ExecOnce(testkit.Backend(t), func(in []*Node) *Node {
			return target.LogJoint(in[0], target.Space().Mask(in[0]), in[1])
		}, codes, values)
		require.NoError(t, err)
		require.InDeltaSlice(t, want, out.Value(), 1e-9)
	}
}

// The coordinates of a state map back to it, and their Jacobian agrees with finite differences.
func TestCoordinates(t *testing.T) {
	s := state{[]component{{0.2, -0.3, 0.01, nil}, {0.5, 0.1, 0.2, nil}, {0.3, 0.4, 0.05, nil}}, []float64{0.7}}
	theta := s.coordinates()
	back, logJacobian := stateOf(theta)
	numbers := func(s state) []float64 {
		list := []float64{s.beta[0], s.components[0].weight, s.components[1].weight}
		for _, c := range s.components {
			list = append(list, c.mean, c.variance)
		}
		return list
	}
	require.InDeltaSlice(t, numbers(s), numbers(back), 1e-12)
	transform := func(theta []float64) []float64 {
		s, _ := stateOf(theta)
		return numbers(s)
	}
	require.InDelta(t, logDeterminant(transform, theta), logJacobian, 1e-6)
	equal, _ := stateOf(make([]float64, 9))
	for _, c := range equal.components {
		require.InDelta(t, 1.0/3, c.weight, 1e-12, "sticks of 0 are equal weights")
	}
}

// A cancelled sampler returns an error.
func TestSampleStops(t *testing.T) {
	ctx, cancel := gocontext.WithCancel(gocontext.Background())
	cancel()
	_, err := problemOf(t, Options{MaxComponents: 2}, []float64{1, 2, 3, 5}).Sample(ctx, SampleConfig{})
	require.ErrorIs(t, err, gocontext.Canceled)
}

// coordinates returns the coordinates of a state, [3k].
func (s *state) coordinates() []float64 {
	c, k := s.components, s.size()
	theta := make([]float64, blockSize*k)
	theta[0], theta[1], theta[2] = math.Log(s.beta[0]), c[0].mean, math.Log(c[0].variance)
	for j := 1; j < k; j++ {
		after := 0.0 // the weight of the components after component j, summed without loss of digits
		for _, one := range c[j:] {
			after += one.weight
		}
		theta[3*j] = math.Log(c[j-1].weight/after) + math.Log(float64(k-j))
		theta[3*j+1] = math.Log(c[j].mean - c[j-1].mean)
		theta[3*j+2] = math.Log(c[j].variance)
	}
	return theta
}

// LogJoint returns log p(k, θ, y) at coordinates θ [3k], on the working scale.
func (p *Problem) LogJoint(theta []float64) float64 {
	s, logJacobian := stateOf(theta)
	return p.logPrior(&s) + p.logLikelihood(&s) + logJacobian
}

// logLikelihood returns log p(y | state).
func (p *Problem) logLikelihood(s *state) float64 {
	total := 0.0
	logs := make([]float64, s.size())
	for i := range p.Rows() {
		for j, c := range s.components {
			logs[j] = math.Log(c.weight) + p.family.logDensity(i, c)
		}
		total += logsum.Of(logs)
	}
	return total
}
