package vti

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/space"
)

func TestLargestModel(t *testing.T) {
	sp, err := space.NewSubsets(4, []int{1}, [][]int{{0}, {2, 3}})
	require.NoError(t, err)
	code, mask := evaluate.LargestModel(sp)
	require.Equal(t, []int32{1, 1}, code)
	require.Equal(t, []bool{true, true, true, true}, mask)
}

// TestLogPriors checks that log priors are in the order of the models' indices, whatever the number
// of chunks in which they are computed.
func TestLogPriors(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	target := single{newNormals(t, 15)} // 2^15 models, two chunks
	logPrior, err := evaluate.LogPriors(device, target)
	require.NoError(t, err)
	require.Len(t, logPrior, 1<<15)
	allowed := 0
	for index, code := range space.All(target.Cards()) {
		members := 0
		for _, in := range code {
			members += int(in)
		}
		require.Equal(t, members == 1, finite(logPrior[index]))
		allowed += 1 - min(1, max(members-1, 1-members))
	}
	require.Equal(t, 15, allowed)
}
