package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/likelihood"
)

// Models that do not matter have a pilot alone, whose evidences are right as well, and those that
// do have the draws that they have without one.
func TestPilotsOfModels(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	var text strings.Builder
	text.WriteString("y,x,w,g\n")
	for g := range 20 {
		level := random.NormFloat64()
		for range 8 {
			x, w := random.NormFloat64(), random.NormFloat64()
			fmt.Fprintf(&text, "%v,%v,%v,g%d\n", level+0.5*x+0.5*random.NormFloat64(), x, w, g)
		}
	}
	r := newRegression(t, frameOf(t, text.String(), FrameOptions{Formula: "y ~ x + w + (x | g)"}), Options{Select: true})
	e := r.effort()
	require.Zero(t, e.pilot)
	all, err := r.integrate(t.Context(), e, 1, nil)
	require.NoError(t, err)
	e.pilot = exactPilotDraws
	some, err := r.integrate(t.Context(), e, 1, nil)
	require.NoError(t, err)
	pilots := 0
	for k, want := range all.certificate.Models {
		got := some.certificate.Models[k]
		require.Equal(t, want.Code, got.Code)
		tolerance := 5 * math.Hypot(want.LogEvidenceSE, got.LogEvidenceSE)
		require.InDelta(t, want.LogEvidence, got.LogEvidence, tolerance+1e-6, r.FormulaOf(got.Code))
		require.InDelta(t, want.Certified, got.Certified, 0.01)
		if some.models[k].pilot {
			pilots++
			require.False(t, mayMatter(got))
			require.Equal(t, exactPilotDraws, got.Draws)
		} else if want.LogEvidenceSE > 0 {
			require.GreaterOrEqual(t, got.Draws, exactFirstDraws)
		}
	}
	require.Greater(t, pilots, 2)
}

// What the model with all terms says of standard deviations misleads those without: items differ by
// a factor alone, so that their standard deviation is next to nothing beside it, and a large one
// without. Evidences of all submodels, of which several matter, are those of the submodels by
// themselves, and none that matters is left with draws from a proposal that does not suit it.
func TestPilotsOfMisleadingNeighbours(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1))
	poisson := likelihood.New(PoissonResponse, likelihood.Shape{})
	var text strings.Builder
	text.WriteString("y,f,x,item,person\n")
	for person := range 15 {
		own := 0.1 * random.NormFloat64()
		for item := range 6 {
			y := poisson.Draw(1.2+0.8*float64(item%2)+own, 1, random)
			fmt.Fprintf(&text, "%g,%d,%v,i%d,p%d\n", y, item%2, random.NormFloat64(), item, person)
		}
	}
	const terms = "y ~ f + x + (1 | person) + (1 | item)"
	f := frameOf(t, text.String(), FrameOptions{Formula: terms, Response: PoissonResponse})
	opt := Options{Select: true}
	r := newRegression(t, f, opt)
	for seed := range uint64(3) {
		all, err := r.weigh(t.Context(), effort{se: laplaceSE, ess: laplaceESS}, seed, nil)
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, all.certificate.Verdict, all.certificate.Reasons)
		matter := 0
		for k, got := range all.certificate.Models {
			if !mayMatter(got) {
				continue
			}
			matter++
			m := all.models[k]
			require.True(t, m.suited(), r.FormulaOf(m.code))
			if seed > 0 {
				continue
			}
			alone := &modelIntegral{code: m.code, mask: m.mask, free: m.free, sample: &integrate.Sample{}}
			_, err := newLaplaceEffects(r.distinct()).begin(t.Context(), alone, laplaceFirstDraws, 77)
			require.NoError(t, err)
			tolerance := 4 * math.Hypot(alone.weights.LogMeanSE, got.LogEvidenceSE)
			require.InDelta(t, alone.weights.LogMean, got.LogEvidence, tolerance+1e-3, r.FormulaOf(got.Code))
		}
		require.GreaterOrEqual(t, matter, 4)
	}
}
