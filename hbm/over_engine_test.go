package hbm

import (
	gocontext "context"
	"math"
	"path/filepath"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// differing returns a model of groups with or without an effect about a known mean of zero, and the
// exact probability of an effect of each group. Since the mean is known, groups are independent.
func differing(t *testing.T) (target *Target, exact []float64) {
	m := NewModel()
	group := m.Plate("group", 6)
	effect := m.Latent("effect", Normal(Number(0), Number(1)), On(group))
	y := m.Observed("y", Normal(effect, Number(1)), On(group))
	values := []float64{0.3, -2.5, 1.6, 0, 3.1, -1.1}
	var sites [][]int
	for i, value := range values {
		sites = append(sites, []int{i})
		same, other := distuv.Normal{Sigma: 1}.Prob(value), distuv.Normal{Sigma: math.Sqrt2}.Prob(value)
		exact = append(exact, other/(same+other))
	}
	models, err := space.NewSubsets(m.Dim(), nil, sites)
	require.NoError(t, err)
	target, err = m.Over(models, nil, Values{y: values})
	require.NoError(t, err)
	target.LogConcave = true
	return target, exact
}

// The test fits a model with plates by different distributions q(m) of models, control variates of
// the gradient, and flows for the parameters. Each fit is trusted, and its probabilities of effects
// agree with the exact probabilities.
func TestOverServesTheEngine(t *testing.T) {
	target, exact := differing(t)
	cards := target.Space().Cards()
	must := func(q vti.ModelDistribution, err error) vti.ModelDistribution {
		require.NoError(t, err)
		return q
	}
	family, err := target.Family(Config{Family: PAVIF, Seed: 1})
	require.NoError(t, err)
	for name, cfg := range map[string]vti.Config{
		"table":           {},
		"running":         {ControlVariate: vti.Running},
		"surrogate mean":  {ControlVariate: vti.SurrogateMean},
		"network":         {Models: must(modeldist.NewAutoregressive(cards, modeldist.AutoregressiveConfig{Seed: 1}))},
		"surrogate":       {Models: must(modeldist.NewSurrogate(cards, modeldist.SurrogateConfig{}))},
		"family":          {Backbone: family},
		"family, network": {Backbone: family, Models: must(modeldist.NewAutoregressive(cards, modeldist.AutoregressiveConfig{Seed: 1}))},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "table" {
				testkit.Long(t)
			}
			cfg.Seed, cfg.Steps, cfg.Batch = 1, 40, 256
			p, err := vti.Fit(t.Context(), openCPU(t), target, cfg)
			require.NoError(t, err)
			c, err := p.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 13})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, c.Verdict, c.Reasons)
			for site, want := range exact {
				got, se := c.Probability(func(code []int32) bool { return code[site] == 1 })
				require.InDelta(t, want, got, 5*se+1e-3)
			}
		})
	}
}

// listed is a space of lists of the groups with an effect, with one coordinate for each group.
type listed struct{ *space.Lists }

func (listed) Dim() int { return 6 }

func (l listed) Mask(codes *Node) *Node { // [B, slots] -> [B, 6]
	items := Const(codes.Graph(), [][][]int32{{{0, 1, 2, 3, 4, 5}}})
	return ReduceLogicalOr(Equal(InsertAxes(codes, -1), items), 1)
}

func (l listed) MaskRow(code []int32, _ []bool) []bool {
	mask := make([]bool, l.Dim())
	for _, item := range code {
		if int(item) < len(mask) {
			mask[item] = true
		}
	}
	return mask
}

// A space of lists of at most two of six groups is answered, with a q(m) for lists. The exact
// probabilities are sums over the 22 lists.
func TestOverServesLists(t *testing.T) {
	target, exact := differing(t)
	lists, err := space.NewLists([]int{1, 1, 1, 1, 1, 1}, 2, 0)
	require.NoError(t, err)
	over, err := target.model.Over(listed{lists}, nil, target.data)
	require.NoError(t, err)
	over.LogConcave = true
	models, err := modeldist.NewList(6, 2, modeldist.ListConfig{})
	require.NoError(t, err)
	p, err := vti.Fit(t.Context(), openCPU(t), over, vti.Config{Models: models, Seed: 1, Steps: 100, Batch: 256})
	require.NoError(t, err)
	c, err := p.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 14})
	require.NoError(t, err)
	total, in := 0.0, make([]float64, len(exact))
	for set := range 1 << len(exact) {
		odds, size := 1.0, 0
		for i, p := range exact {
			if set>>i&1 == 1 {
				odds, size = odds*p/(1-p), size+1
			}
		}
		if size > 2 {
			continue
		}
		total += odds
		for i := range exact {
			if set>>i&1 == 1 {
				in[i] += odds
			}
		}
	}
	require.Equal(t, vti.Trusted, c.Verdict, c.Reasons)
	for i := range exact {
		got, se := c.Probability(func(code []int32) bool { return code[0] == int32(i) || code[1] == int32(i) })
		require.InDelta(t, in[i]/total, got, 5*se+1e-3)
	}
}

// A fit that was stopped and continued ends with the same bits as a fit without a stop.
func TestOverResumes(t *testing.T) {
	target, _ := differing(t)
	family, err := target.Family(Config{Family: PAVIF, Seed: 1})
	require.NoError(t, err)
	config := vti.Config{Backbone: family, Seed: 1, Steps: 12, Batch: 64, LogEvery: 1}
	loss := func(cfg vti.Config) (last float64) {
		cfg.Progress = func(info vti.Info) { last = info.Loss }
		_, err := vti.Fit(t.Context(), openCPU(t), target, cfg)
		require.NoError(t, err)
		return last
	}
	want := loss(config)
	stopped, stop := gocontext.WithCancel(t.Context())
	config.Checkpoint = filepath.Join(t.TempDir(), "stopped.vti")
	config.Progress = func(info vti.Info) {
		if info.Step == 5 {
			stop()
		}
	}
	_, err = vti.Fit(stopped, openCPU(t), target, config)
	require.ErrorIs(t, err, gocontext.Canceled)
	config.Resume = true
	require.Equal(t, want, loss(config))
	other, err := target.Family(Config{Family: Branch, Seed: 1})
	require.NoError(t, err)
	config.Backbone = other
	_, err = vti.Fit(t.Context(), openCPU(t), target, config)
	require.Error(t, err) // the checkpoint belongs to another family
}
