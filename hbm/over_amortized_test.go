package hbm

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// withData returns the regression with other responses, simulated from the model that code names.
func (c *chosenRegression) withData(t *testing.T, code []int32, seed uint64) *chosenRegression {
	simulator, err := c.target.Simulator(openCPU(t))
	require.NoError(t, err)
	m := c.target.model
	x, y := m.withRole(Constant)[0], m.withRole(Observed)[0]
	drawn, err := simulator.DrawSets(t.Context(), Values{x: c.x}, 1, [][]int32{code}, seed, "data")
	require.NoError(t, err)
	redrawn := &chosenRegression{y: drawn[y], x: c.x, groups: c.groups}
	redrawn.target, err = m.Over(c.target.space, nil, Values{x: c.x, y: redrawn.y})
	require.NoError(t, err)
	return redrawn
}

// trainAmortized trains a family on simulated data, and returns its certificates for other targets.
func trainAmortized(t *testing.T, target *Target, cfg Config, steps int) func(target *Target) *vti.Certificate {
	flow, err := target.Family(cfg)
	require.NoError(t, err)
	trained, err := vti.Fit(t.Context(), openCPU(t), target, vti.Config{Backbone: flow, Steps: steps, Seed: 1})
	require.NoError(t, err)
	return func(target *Target) *vti.Certificate {
		flow, err := target.Family(cfg)
		require.NoError(t, err)
		p, err := vti.Open(t.Context(), openCPU(t), target, vti.Config{Backbone: flow, Begin: trained.Beginning()})
		require.NoError(t, err)
		c, err := p.Certify(t.Context(), vti.CertifyConfig{Draws: 2000})
		require.NoError(t, err)
		return c
	}
}

// One family serves all data sets and models. On fresh data sets of every model, the evidences of
// all models are exact within five of their standard errors, which fails by chance once in two
// million, and the answer is trusted. The distribution q(m) of models in training stays at the
// prior. A family that was hardly trained gives no wrong answer.
func TestAmortizedOverModels(t *testing.T) {
	testkit.Long(t)
	c := newChosenRegression(t)
	cfg, steps, sets := Config{Family: PAVIE, Amortize: 32, Products: true, Seed: 1}, 1000, 12
	answer := trainAmortized(t, c.target, cfg, steps)
	untrained := trainAmortized(t, c.target, cfg, 1)
	trusted := 0
	for set := range sets {
		redrawn := c.withData(t, []int32{int32(set & 1), int32(set >> 1 & 1)}, uint64(set))
		var exact [4]float64
		total := 0.0
		for k := range exact {
			exact[k] = redrawn.logEvidence(k&1 == 1, k&2 == 2)
			total += math.Exp(exact[k])
		}
		check := func(got *vti.Certificate) {
			for _, m := range got.Models {
				want := exact[m.Code[0]+2*m.Code[1]]
				require.InDelta(t, want, m.LogEvidence, 5*m.LogEvidenceSE+1e-6)
				require.InDelta(t, math.Exp(want)/total, m.Certified, 5*m.SE+1e-6)
				require.InDelta(t, 0.25, m.Q, 1e-9)
			}
		}
		got := answer(redrawn.target)
		t.Log(got.Verdict, got.Reasons, got.KHat, got.ESS)
		check(got)
		if got.Verdict == vti.Trusted {
			trusted++
		}
		if hardly := untrained(redrawn.target); hardly.Verdict == vti.Trusted {
			check(hardly)
		}
	}
	require.GreaterOrEqual(t, trusted, sets-sets/10)
}

// Training for one data set can start from the weights of a family trained on many data sets. After
// five steps the standard errors of its log evidences are on average less than half as large as
// after training that starts anew. All log evidences are exact within five standard errors.
func TestAmortizedTrainsOn(t *testing.T) {
	testkit.Long(t)
	c := newChosenRegression(t)
	cfg := Config{Family: PAVIE, Amortize: 32, Products: true, Seed: 1}
	flow, err := c.target.Family(cfg)
	require.NoError(t, err)
	trained, err := vti.Fit(t.Context(), openCPU(t), c.target, vti.Config{Backbone: flow, Steps: 200, Seed: 1})
	require.NoError(t, err)
	redrawn := c.withData(t, []int32{1, 0}, 3)
	cfg.Amortize = 0
	errors := map[bool]float64{}
	for _, warm := range []bool{true, false} {
		flow, err = redrawn.target.Family(cfg)
		require.NoError(t, err)
		config := vti.Config{Backbone: flow, Steps: 5, Seed: 2}
		if warm {
			config.Begin = trained.Beginning()
		}
		p, err := vti.Fit(t.Context(), openCPU(t), redrawn.target, config)
		require.NoError(t, err)
		got, err := p.Certify(t.Context(), vti.CertifyConfig{Draws: 2000})
		require.NoError(t, err)
		for _, m := range got.Models {
			require.InDelta(t, redrawn.logEvidence(m.Code[0] == 1, m.Code[1] == 1), m.LogEvidence, 5*m.LogEvidenceSE+1e-6)
			errors[warm] += m.LogEvidenceSE
		}
	}
	t.Log(errors)
	require.Less(t, errors[true], errors[false]/2)
}

// Simulated responses have the variance of their model, to five standard errors: 1 from noise, 1
// from the mean, x² from the slope and ¼ from groups. Numbers that a model lacks are zero.
func TestDrawSetsOfModels(t *testing.T) {
	c := newChosenRegression(t)
	simulator, err := c.target.Simulator(openCPU(t))
	require.NoError(t, err)
	m := c.target.model
	x, y := m.withRole(Constant)[0], m.withRole(Observed)[0]
	const sets = 2000
	var codes [][]int32
	for set := range sets {
		codes = append(codes, []int32{int32(set & 1), int32(set >> 1 & 1)})
	}
	drawn, err := simulator.DrawSets(t.Context(), Values{x: c.x}, len(codes), codes, 1, "data")
	require.NoError(t, err)
	for row := range c.y {
		for k := range 4 {
			var column []float64
			for set := k; set < sets; set += 4 {
				column = append(column, drawn[y][row*sets+set])
			}
			want := 2 + float64(k&1)*c.x[row]*c.x[row] + float64(k>>1)/4
			require.InDelta(t, want, stat.Variance(column, nil), 5*want*math.Sqrt(2./(sets/4)))
		}
	}

	m = NewModel()
	scale := m.Latent("scale", LogNormal(Number(0), Number(1)))
	shares := m.Latent("shares", Dirichlet(Numbers(1, 1, 1)), Event(3))
	m.Observed("z", Normal(Number(0), Of(func(v []*Node) *Node { return Mul(v[0], Add(v[1], OneMinus(v[1]))) }, scale, Present(scale))))
	models, err := space.NewSubsets(m.Dim(), nil, [][]int{m.Coordinates(scale), m.Coordinates(shares)})
	require.NoError(t, err)
	target, err := m.Over(models, nil, Values{m.withRole(Observed)[0]: {0}})
	require.NoError(t, err)
	simulator, err = target.Simulator(openCPU(t))
	require.NoError(t, err)
	drawn, err = simulator.DrawSets(t.Context(), Values{}, 2, [][]int32{{0, 0}, {1, 1}}, 1, "data")
	require.NoError(t, err)
	require.Equal(t, 1., drawn[scale][0])
	require.NotEqual(t, 1., drawn[scale][1])
	require.InDeltaSlice(t, []float64{1. / 3, 1. / 3, 1. / 3}, drawn[shares][:3], 1e-12)
	require.NotEqual(t, drawn[shares][:3], drawn[shares][3:])
}

// The weights of a family serve only models with the same variables, and Amortize needs families
// that read data.
func TestAmortizedOverModelsMistakes(t *testing.T) {
	c := newChosenRegression(t)
	cfg := Config{Family: PAVIE, Amortize: 4, Seed: 1, DType: dtypes.Float64}
	flow, err := c.target.Family(cfg)
	require.NoError(t, err)
	trained, err := vti.Fit(t.Context(), openCPU(t), c.target, vti.Config{Backbone: flow, Steps: 1})
	require.NoError(t, err)
	other := farEffects(t, []float64{1, 2, 3})
	if flow, err = other.Family(cfg); err == nil {
		_, err = vti.Open(t.Context(), openCPU(t), other, vti.Config{Backbone: flow, Begin: trained.Beginning()})
	}
	require.ErrorContains(t, err, `got weights of pavi-e`)
	require.ErrorContains(t, err, `latent variable "population" on [] of shape [2]`)
	_, err = vti.Open(t.Context(), openCPU(t), other, vti.Config{Begin: trained.Beginning()})
	require.ErrorContains(t, err, `got weights of pavi-e`)
	_, err = c.target.Family(Config{Family: PAVIF, Amortize: 4})
	require.ErrorContains(t, err, "got Amortize with family pavi-f")
}
