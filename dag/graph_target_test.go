package dag

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/testkit"
)

// The joint density is the product of those of the families, and the prior that of the structure.
func TestGraphTargetAgainstFamilies(t *testing.T) {
	backend := testkit.Backend(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, p := range problems(t) {
		if p.Model.Mechanism != Linear {
			continue
		}
		p.Structure.EdgePenalty = 0.3
		p.Structure.Required[2], p.Structure.Allowed[0], p.Structure.MaxParents = SetOf(0), SetOf(1), 1
		target := newGraphTarget(p)
		nodes, dim := 3, target.space.Dim()
		var codes [][]int32
		var thetas [][]float64
		for range 40 {
			code, theta := make([]int32, 5), make([]float64, dim)
			for site, card := range target.space.Cards() {
				code[site] = random.Int32N(int32(card))
			}
			for k := range theta {
				theta[k] = random.NormFloat64()
			}
			codes, thetas = append(codes, code), append(thetas, theta)
		}
		outputs, err := graph.MustNewExec(backend, func(codes, theta *graph.Node) (*graph.Node, *graph.Node) {
			return target.LogPrior(codes), target.LogJoint(codes, target.space.Mask(codes), theta)
		}).Exec(codes, thetas)
		require.NoError(t, err, name)
		priors, values := outputs[0].Value().([]float64), outputs[1].Value().([]float64)
		for b, code := range codes {
			g, err := target.space.Graph(code)
			require.NoError(t, err)
			var want float64
			possible := g.Has(0, 2)
			for j, parents := range g.ParentSets() {
				theta := make([]float64, p.layout().dim())
				for i := range nodes {
					theta[i] = thetas[b][i*nodes+j]
				}
				if p.Model.Sigma == 0 {
					theta[nodes] = thetas[b][nodes*nodes+j]
				}
				want += naiveLogJoint(p, Family{j, parents}, theta)
				possible = possible && parents.Within(p.Structure.Allowed[j]) && parents.Len() <= 1
			}
			require.InDelta(t, want, values[b], 1e-8*(1+math.Abs(want)), name)
			if possible {
				require.InDelta(t, -0.3*float64(g.Edges()), priors[b], 1e-12)
			} else {
				require.True(t, math.IsInf(priors[b], -1))
			}
		}
	}
}
