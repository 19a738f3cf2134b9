package vti

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/lab/testkit"
)

func TestSchedules(t *testing.T) {
	const steps = 1000
	scheduleAt := func(step float64, schedule func(step *Node) *Node) float64 {
		value, err := ExecOnce(testkit.Backend(t), schedule, step)
		require.NoError(t, err)
		return value.Value().(float64)
	}
	rate := func(step float64) float64 {
		return scheduleAt(step, func(step *Node) *Node { return train.LearningRate(step, 0.2, steps) })
	}
	cosine := func(step float64) float64 { return (1 + math.Cos(math.Pi*step/(steps+1))) / 2 }
	for step, want := range map[float64]float64{
		1: 0.2 * cosine(1) / train.WarmUpSteps, train.WarmUpSteps: 0.2 * cosine(train.WarmUpSteps), 500.5: 0.1, steps: 0.2 * cosine(steps),
	} {
		require.InDelta(t, want, rate(step), 1e-12, "step %g", step)
	}
	require.Positive(t, rate(steps))
	require.Less(t, rate(steps), 1e-5)

	power := func(step, tempering float64) float64 {
		return scheduleAt(step, func(step *Node) *Node {
			return schedule{step: step, steps: Scalar(step.Graph(), step.DType(), 600)}.power(tempering)
		})
	}
	require.EqualValues(t, 1, power(1, 0))
	require.InDelta(t, coldestPower+0.9/300, power(1, 0.5), 1e-12)
	require.InDelta(t, 0.55, power(150, 0.5), 1e-12)
	require.EqualValues(t, 1, power(300, 0.5))
	require.EqualValues(t, 1, power(599, 0.5))
}
