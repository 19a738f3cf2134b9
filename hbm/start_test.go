package hbm

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// Each of the three steps does its part. The mode of a normal posterior is its mean, where the
// first step takes locations without a change of scales; the second makes scales smaller than those
// of the posterior; and after the third the ELBO is as near the evidence as without the others.
func TestStartInThreeSteps(t *testing.T) {
	e := newEffects(3, 50, 2)
	data := e.draw(t, 1)
	exact := e.exact(data)
	// sds are those of group means under the trained family; off is the largest distance of a mean
	// from the exact one, in standard errors.
	after := func(steps int, start Start) (p *Posterior, sds []float64, off float64) {
		p = fit(t, e.model, data, Config{Family: MeanField, Steps: steps, Start: start})
		const count = 4000
		draws, err := p.Sample(t.Context(), count, "posterior")
		require.NoError(t, err)
		for k := range exact.group {
			column := make([]float64, count)
			for i := range column {
				column[i] = draws.Of(e.groupMean, i)[k]
			}
			mean, sd := stat.MeanStdDev(column, nil)
			sds = append(sds, sd)
			off = math.Max(off, math.Abs(mean-exact.group[k])/(sd/math.Sqrt(count)+0.02*exact.groupSD[k%2]))
		}
		return p, sds, off
	}
	_, untrained, far := after(1, Start{Modes: 1})
	require.Greater(t, far, 8.0, "training begins elsewhere")
	_, sds, off := after(400, Start{Modes: 400})
	require.Less(t, off, 5.0) // false alarms: 1e-6 for each of 6
	require.InDeltaSlice(t, untrained, sds, 0.1*untrained[0])
	_, sds, off = after(1000, Start{Modes: 200, Unregularized: 800})
	require.Less(t, off, 5.0)
	for k, sd := range sds {
		require.Less(t, sd, 0.7*exact.groupSD[k%2])
	}
	p, _, _ := after(700, Start{Modes: 100, Unregularized: 50})
	elbo, _, err := p.ELBO(t.Context(), 1000, "elbo")
	require.NoError(t, err)
	require.InDelta(t, exact.logEvidence, elbo, 0.1)
	require.ErrorContains(t, Config{Start: Start{Modes: -1}}.Validate(), "got Start.Modes -1")
}

// What overflows in the first steps does not end a training, and what goes on overflowing does.
func TestFirstStepsMayOverflow(t *testing.T) {
	config := Config{Draws: 64, Steps: 300}.WithDefaults()
	r := &reporter{config: &config}
	require.NoError(t, r.next(1, counters{nonFinite: 5}))
	require.NoError(t, r.next(4, counters{nonFinite: 12}))
	require.NoError(t, r.next(101, counters{nonFinite: 13}))
	require.ErrorContains(t, r.next(201, counters{nonFinite: 613}), "600 of 6400 draws between steps 101 and 201 had a density that is not finite (limit 0.01)")
	r = &reporter{config: &config}
	require.ErrorContains(t, r.next(1, counters{nonFinite: 40}), "(limit 0.5)")
}

// The weights of flows wait for the steps of the ELBO, and nothing else does.
func TestFlowsWaitForTheELBO(t *testing.T) {
	e := newEffects(3, 50, 2)
	data := e.draw(t, 1)
	moved := func(start Start) (flows, rest bool) {
		weights := func(steps int) map[string][]float32 {
			p := fit(t, e.model, data, Config{Family: PAVIF, Steps: steps, Start: start})
			out := map[string][]float32{}
			for v := range p.variables.IterVariables() {
				if value := v.MustValue(); v.Shape().DType == dtypes.Float32 && strings.HasPrefix(v.Scope(), "/"+familyScope) {
					out[v.ScopeAndName()] = tensors.MustCopyFlatData[float32](value)
				}
			}
			return out
		}
		before, after := weights(1), weights(20)
		require.NotEmpty(t, before)
		for name, own := range after {
			if slices.Equal(own, before[name]) {
				continue
			}
			if strings.Contains(name, "/"+flowScope+"/") {
				flows = true
			} else {
				rest = true
			}
		}
		return flows, rest
	}
	flows, rest := moved(Start{Modes: 10, Unregularized: 10})
	require.False(t, flows)
	require.True(t, rest)
	flows, _ = moved(Start{})
	require.True(t, flows)
}
