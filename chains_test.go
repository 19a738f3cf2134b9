package vti

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/space"
)

// single excludes all models but that of one coordinate.
type single struct{ normals }

func (s single) LogPrior(codes *Node) *Node {
	allowed := Equal(ReduceSum(codes, -1), Const(codes.Graph(), int32(1)))
	return Where(allowed, s.normals.LogPrior(codes), Infinity(codes.Graph(), dtypes.Float64, -1))
}

// Chains start where package rjmcmc says, unless the prior excludes most of that: then at draws
// from q(m).
func TestStartsOfChains(t *testing.T) {
	target := newNormals(t, 6)
	e := newEvaluatorOf(t, target, 128)
	starts, err := startsOfChains(e)
	require.NoError(t, err)
	require.Nil(t, starts)

	e = newEvaluatorOf(t, target, 128)
	e.Target = single{target}
	starts, err = startsOfChains(e)
	require.NoError(t, err)
	require.Len(t, starts, 128)
	for _, code := range starts {
		require.NoError(t, space.CheckCode(target, code))
	}

	cfg, err := chainConfig(e, "a")
	require.NoError(t, err)
	other, err := chainConfig(e, "b")
	require.NoError(t, err)
	require.NotEqual(t, cfg.Seed, other.Seed)
	require.NotEqual(t, e.Seed, cfg.Seed)
}
