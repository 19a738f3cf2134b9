package exact

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/space"
)

// A walk, which adds one column at a time, finds the same evidences as singular value
// decompositions of each model's columns, with groups of columns, prior means, a size limit,
// excluded models, and known or unknown σ.
func TestWalkIsThatOfDecompositions(t *testing.T) {
	groups := [][]int{{3, 1}, {2}, {5, 6, 4}, {7}, {8}, {9}, {10}, {11}}
	for name, change := range map[string]func(p *Problem){
		"known":   func(*Problem) {},
		"unknown": func(p *Problem) { p.Noise = Noise{Mean: -0.3, SD: 2} },
		"limit":   func(p *Problem) { p.Prior = space.Prior{Kind: space.UniformPrior, MaxSize: 3} },
		"excluded": func(p *Problem) {
			p.Noise = Noise{SD: 1}
			p.Allowed = func(code []int32) bool { return code[3] == 0 || code[1] == 1 }
		},
	} {
		for _, rows := range []int{6, 40} {
			p := randomProblem(uint64(rows), rows, groups, 12)
			change(&p)
			walked, decomposed := newEnumeration(&p), newEnumeration(&p)
			walked.logJoint, decomposed.logJoint = make([]float64, 1<<len(groups)), make([]float64, 1<<len(groups))
			require.NoError(t, walked.walkAll(t.Context()))
			require.NoError(t, decomposed.decomposeAll(t.Context()))
			for mask, want := range decomposed.logJoint {
				if math.IsInf(want, -1) {
					require.Equal(t, want, walked.logJoint[mask], name)
					continue
				}
				require.InDelta(t, want, walked.logJoint[mask], 1e-8, "%s, %d rows, model %b", name, rows, mask)
				if p.Noise.SD > 0 {
					requireSamePosterior(t, walked, uint32(mask))
				}
			}
			walked.sort()
			require.True(t, walked.walked(), name)
			walked.logJoint[walked.order[3]] += 2e-6
			require.False(t, walked.walked(), name)
		}
	}
}

// requireSamePosterior compares the posterior of a model at the values of log σ that all models
// share with the posterior at values chosen for this model.
func requireSamePosterior(t *testing.T, e *enumeration, mask uint32) {
	t.Helper()
	model, err := e.model(e.coordinates(mask))
	require.NoError(t, err)
	want, err := model.Posterior(e.Noise)
	require.NoError(t, err)
	got := model.posteriorAt(e.Noise, e.nodes, e.step)
	require.InDelta(t, want.LogEvidence(), got.LogEvidence(), 1e-8)
	means, variances := want.Moments()
	gotMeans, gotVariances := got.Moments()
	require.InDeltaSlice(t, means, gotMeans, 1e-8, "model %b", mask)
	for j, variance := range variances {
		require.InEpsilon(t, variance, gotVariances[j], 1e-8, "model %b", mask)
	}
	var scale, gotScale moments
	for i, x := range want.logSigmas {
		scale.add(want.shares[i], math.Exp(x), 0)
	}
	for i, x := range got.logSigmas {
		gotScale.add(got.shares[i], math.Exp(x), 0)
	}
	require.InEpsilon(t, scale.mean, gotScale.mean, 1e-8)
	require.InEpsilon(t, scale.sd(), gotScale.sd(), 1e-8)
}

// Models whose columns are nearly equal, and which have hardly any noise, are decomposed one by
// one, since a walk, which adds one column at a time, loses digits.
func TestWalksThatLoseDigitsAreNoticed(t *testing.T) {
	p := randomProblem(10, 8, [][]int{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}}, 14)
	for i := range p.Y {
		p.X.Set(i, 2, p.X.At(i, 1)*(1+1e-7*float64(i)))
		p.Y[i] = p.X.At(i, 1) + 1e-8*float64(i%3)
	}
	p.Noise = Noise{SD: 4}
	e := newEnumeration(&p)
	e.logJoint = make([]float64, 1<<13)
	require.NoError(t, e.walkAll(t.Context()))
	e.sort()
	require.False(t, e.walked())
	r, err := Enumerate(t.Context(), p)
	require.NoError(t, err)
	for _, m := range r.Models[:5] {
		mask := uint32(0)
		for g, in := range m.Code {
			mask |= uint32(in) << g
		}
		want, err := e.logEvidence(mask)
		require.NoError(t, err)
		require.InDelta(t, want+p.LogConstant, m.LogEvidence, 1e-9)
	}
}
