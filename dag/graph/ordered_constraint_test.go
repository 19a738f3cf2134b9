package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// q(m) gives every code of an allowed graph, and no other, a positive probability; they sum to one,
// and so every code that is allowed so far can be completed.
func TestOrderedConstraint(t *testing.T) {
	backend := testkit.Backend(t)
	o := NewOrdered(4)
	for name, change := range map[string]func(*Structure){
		"none":    func(*Structure) {},
		"parents": func(s *Structure) { s.MaxParents = 1 },
		"all": func(s *Structure) {
			s.MaxParents = 2
			s.Required[1], s.Required[3] = SetOf(2), SetOf(0, 1)
			s.Allowed[2], s.Allowed[0] = SetOf(0), SetOf(3)
		},
		"tiers": func(s *Structure) { s.Allowed[0], s.Allowed[1] = SetOf(1), SetOf(0) },
		"fixed": func(s *Structure) {
			s.MaxParents = 1
			s.Required[1], s.Required[2], s.Required[3] = SetOf(0), SetOf(1), SetOf(2)
		},
	} {
		s := FreeStructure(4)
		change(&s)
		constraint := NewOrderedConstraint(o, s)
		require.Equal(t, name == "none", constraint == nil)
		q, err := modeldist.NewAutoregressive(o.Cards(), modeldist.AutoregressiveConfig{Constraint: constraint, Seed: 3})
		require.NoError(t, err)
		ctx := context.New().Checked(false)
		var codes [][]int32
		for _, code := range space.All(o.Cards()) {
			codes = append(codes, append([]int32(nil), code...))
		}
		output, err := context.ExecOnce(backend, ctx, q.LogProb, codes)
		require.NoError(t, err)
		total := 0.0
		for b, logProb := range output.Value().([]float64) {
			g, err := o.Graph(codes[b])
			require.NoError(t, err)
			allowed := true
			for j, parents := range g.ParentSets() {
				allowed = allowed && s.Required[j].Within(parents) && parents.Within(s.Allowed[j]) && (s.MaxParents < 0 || parents.Len() <= s.MaxParents)
			}
			require.Equal(t, allowed, !math.IsInf(logProb, -1), "%s: %v", name, codes[b])
			total += math.Exp(logProb)
		}
		require.InDelta(t, 1, total, 1e-9, name)
		uniforms := make([][]float64, 200)
		random := rand.New(rand.NewPCG(4, 1))
		for i := range uniforms {
			for range o.Cards() {
				uniforms[i] = append(uniforms[i], random.Float64())
			}
		}
		output, err = context.ExecOnce(backend, ctx, func(ctx *context.Context, u *graph.Node) *graph.Node { return q.LogProb(ctx, q.Sample(ctx, u)) }, uniforms)
		require.NoError(t, err)
		for _, logProb := range output.Value().([]float64) {
			require.False(t, math.IsInf(logProb, -1), name)
		}
	}
}

// A site tells of the pair of positions that it belongs to.
func TestPairOf(t *testing.T) {
	o := NewOrdered(6)
	for s := range 6 {
		for u := s + 1; u < 6; u++ {
			a, b := o.pairOf(o.site(s, u))
			require.Equal(t, []int{s, u}, []int{a, b})
		}
	}
}
