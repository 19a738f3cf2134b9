package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// Without training, a run with a Precision has the effective draws that this precision needs. It
// has more draws than a run without a Precision, and than a run whose MaxTime is a nanosecond.
func TestPrecisionAndTimeWithoutTraining(t *testing.T) {
	testkit.Slow(t)
	f := frameOf(t, schools, frame.Options{Formula: "y ~ x + (1 | school)"})
	counts := frameOf(t, "y,g\n1,a\n4,a\n0,b\n2,b\n7,c\n5,c\n3,d\n1,d\n", frame.Options{Formula: "y ~ 1 + (1 | g)", Response: likelihood.PoissonKind})
	for name, frame := range map[string]*frame.Frame{"gaussian": f, "counts": counts} {
		t.Run(name, func(t *testing.T) {
			r := newRegression(t, frame, Options{})
			answer := func(precision float64, most time.Duration) *Certificate {
				result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 1}, Precision: precision, MaxTime: most})
				require.NoError(t, err)
				return result.Certificate
			}
			precise, late := answer(0.004, 0), answer(0.004, time.Nanosecond)
			require.GreaterOrEqual(t, float64(precise.ESS), 1/(4*0.004*0.004))
			require.Less(t, late.Draws, precise.Draws)
			require.Less(t, answer(0, 0).Draws, precise.Draws)
		})
	}
}

// The test computes all models of a selection twice, the second time with only a few draws (a
// pilot) for models of negligible probability. Probabilities of models agree, and so do evidences
// of models with more draws than a pilot.
func TestPilotsOfModels(t *testing.T) {
	testkit.Long(t)
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
	r := newRegression(t, frameOf(t, text.String(), frame.Options{Formula: "y ~ x + w + (x | g)"}), Options{Select: true})
	e := r.effort()
	require.False(t, e.pilots)
	all, err := r.integrate(t.Context(), e, 1, nil)
	require.NoError(t, err)
	e.pilots = true
	some, err := r.integrate(t.Context(), e, 1, nil)
	require.NoError(t, err)
	pilots := 0
	for k, m := range all.list {
		want, got := m.evidence(), some.list[k].evidence()
		require.Equal(t, m.code, some.list[k].code)
		require.InDelta(t, all.Probability[k], some.Probability[k], 0.01)
		if got.Draws > 2*pilotDraws { // the evidence of a pilot may be too small by nats
			require.InDelta(t, want.Log, got.Log, 5*math.Hypot(want.SE, got.SE)+1e-6, r.FormulaOf(m.code))
		} else if !m.closed {
			pilots++
			require.False(t, mayMatter(got, some.Probability[k]))
		}
	}
	require.Greater(t, pilots, 2)
}

// Proposals of submodels start from the proposal of the model with all terms, which is wrong for
// them here: items differ only by the column f, so that their standard deviation is nearly zero in
// models with f, and large in models without f. The evidences of all probable submodels agree with
// a run of each submodel, and none of these submodels keeps draws from a poor proposal.
func TestPilotsOfMisleadingNeighbours(t *testing.T) {
	testkit.Long(t)
	random := rand.New(rand.NewPCG(4, 1))
	poisson := likelihood.New(likelihood.PoissonKind, likelihood.Shape{})
	var text strings.Builder
	text.WriteString("y,f,x,item,person\n")
	for person := range 15 {
		personEffect := 0.1 * random.NormFloat64()
		for item := range 6 {
			y := poisson.Draw(1.2+0.8*float64(item%2)+personEffect, 1, random)
			fmt.Fprintf(&text, "%g,%d,%v,i%d,p%d\n", y, item%2, random.NormFloat64(), item, person)
		}
	}
	const terms = "y ~ f + x + (1 | person) + (1 | item)"
	f := frameOf(t, text.String(), frame.Options{Formula: terms, Response: likelihood.PoissonKind})
	opt := Options{Select: true}
	r := newRegression(t, f, opt)
	for seed := range uint64(3) {
		all, err := r.integrate(t.Context(), r.effort(), seed, nil)
		require.NoError(t, err)
		c := all.certificate()
		require.Equal(t, vti.Trusted, c.Verdict, c.Reasons)
		matter := 0
		for k, m := range all.list {
			got := m.evidence()
			if !mayMatter(got, all.Probability[k]) {
				continue
			}
			matter++
			require.True(t, m.suited(), r.FormulaOf(m.code))
			if seed > 0 {
				continue
			}
			other := r.newIntegral(77)
			alone := other.list[k]
			require.NoError(t, other.drawFirst(t.Context(), alone, laplaceEffort, laplaceEffort.first))
			tolerance := 4 * math.Hypot(alone.weights.LogMeanSE, got.SE)
			require.InDelta(t, alone.weights.LogMean, got.Log, tolerance+1e-3, r.FormulaOf(m.code))
		}
		require.GreaterOrEqual(t, matter, 4)
	}
}
