package hbm

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// farEffects returns the model y_g ~ N(μ + b_g, 0.1), μ ~ N(0, 1), b_g ~ N(0, 1) of few groups, in
// which models may lack the effects b. The options set the start of inference for b.
func farEffects(t *testing.T, y []float64, options ...Option) *Target {
	m := NewModel()
	group := m.Plate("group", len(y))
	mu := m.Latent("μ", Normal(Number(0), Number(1)))
	b := m.Latent("b", Normal(Number(0), Number(1)), append(options, On(group))...)
	sum := Of(func(v []*Node) *Node { return Add(v[0], v[1]) }, mu, b)
	observed := m.Observed("y", Normal(sum, Number(0.1)), On(group))
	models, err := space.NewSubsets(m.Dim(), m.Coordinates(mu), [][]int{m.Coordinates(b)})
	require.NoError(t, err)
	target, err := m.Over(models, nil, Values{observed: y})
	require.NoError(t, err)
	target.LogConcave = true
	return target
}

// farEvidence returns the log density of y under N(0, s² I + 1 1ᵀ), s² = 0.01 or, with effects,
// 1.01.
func farEvidence(y []float64, effects bool) float64 {
	variance := 0.01
	if effects {
		variance++
	}
	n, sum, squares := float64(len(y)), 0.0, 0.0
	for _, v := range y {
		sum, squares = sum+v, squares+v*v
	}
	quadratic := (squares - sum*sum/(variance+n)) / variance
	return -quadratic/2 - n/2*math.Log(2*math.Pi) - (n-1)/2*math.Log(variance) - math.Log(variance+n)/2
}

// If training has not brought a family near the posterior of a model, any number of draws gives an
// evidence that is dozens of nats too small. Here the model with effects of groups is right, but
// after 30 training steps its family is still far from the posterior. The answer is then not
// trusted. After 300 steps from a start near the posterior, the answer is trusted and right.
func TestModelsThatDrawsMiss(t *testing.T) {
	testkit.Slow(t)
	y := []float64{0.35, -0.3, 0.4, -0.38, 0.31, -0.25}
	odds := math.Exp(farEvidence(y, false) - farEvidence(y, true))
	require.Less(t, odds, 1e-9)
	for _, c := range []struct {
		start float64
		steps int
		want  vti.Verdict
	}{{0, 30, vti.Doubtful}, {3, 30, vti.Doubtful}, {30, 30, vti.Doubtful}, {0, 300, vti.Trusted}} {
		target := farEffects(t, y, Near([]float64{c.start}, []float64{0.01}))
		flow, err := target.Family(Config{Family: Branch, Seed: 1, DType: dtypes.Float64})
		require.NoError(t, err)
		p, err := vti.Fit(t.Context(), openCPU(t), target, vti.Config{Backbone: flow, Steps: c.steps, Batch: 64, Seed: 1, DType: dtypes.Float64})
		require.NoError(t, err)
		found, err := p.Certify(t.Context(), vti.CertifyConfig{})
		require.NoError(t, err)
		t.Log(c.start, c.steps, found.Verdict, found.Reasons)
		require.LessOrEqual(t, found.Verdict, c.want)
		if c.want == vti.Trusted {
			require.Equal(t, c.want, found.Verdict)
			require.Equal(t, []int32{1}, found.Models[0].Code)
			require.InDelta(t, 1, found.Models[0].Certified, 1e-6)
			require.InDelta(t, farEvidence(y, true), found.Models[0].LogEvidence, 5*found.Models[0].LogEvidenceSE)
		}
	}
}

// The largest likelihood of a model has a closed form for normal densities: at the observations
// themselves with effects, and at their mean without effects.
func TestCeilings(t *testing.T) {
	y := []float64{0.35, -0.3, 0.4, -0.38, 0.31, -0.25}
	target := farEffects(t, y)
	c, err := newCeilings(openCPU(t), target)
	require.NoError(t, err)
	n, sum, squares := float64(len(y)), 0.0, 0.0
	for _, v := range y {
		sum, squares = sum+v, squares+v*v
	}
	saturated := n * (-math.Log(0.1) - math.Log(2*math.Pi)/2)
	require.InDelta(t, saturated, c.bound([]int32{1}, []float64{-3, 1, 2, 3, 4, 5, 6}), 0.01)
	require.InDelta(t, saturated-(squares-sum*sum/n)/0.02, c.bound([]int32{0}, make([]float64, 7)), 0.01)
}
