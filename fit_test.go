package vti_test

import (
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
)

func openDevice(t testing.TB, kind gpu.Kind) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(kind)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

// smallConfig returns settings with which Fit takes a second or two on a processor.
func smallConfig() vti.Config {
	return vti.Config{Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 16}, Steps: 400, Batch: 256, Seed: 11}
}

// brokenTarget returns NaN for large coefficients, or panics when asked to.
type brokenTarget struct {
	*conjugate
	panics bool
}

func (b brokenTarget) LogJoint(codes, mask, theta *Node) *Node {
	if b.panics {
		panic("a mistake in a user's target")
	}
	return Log(SubScalar(b.conjugate.LogJoint(codes, mask, theta), 1e9))
}

func TestTrouble(t *testing.T) {
	device := openDevice(t, gpu.CPU)
	_, err := vti.Fit(t.Context(), device, brokenTarget{conjugate: newConjugate(20, 2)}, smallConfig())
	require.ErrorContains(t, err, "log density that is not finite")
	_, err = vti.Fit(t.Context(), device, brokenTarget{newConjugate(20, 2), true}, smallConfig())
	require.ErrorContains(t, err, "a mistake in a user's target")
	_, err = vti.Fit(t.Context(), device, newConjugate(20, 2), vti.Config{Steps: -1})
	require.ErrorContains(t, err, "got Steps -1, want")
	_, err = vti.Fit(t.Context(), device, newConjugate(20, 2), vti.Config{Resume: true})
	require.ErrorContains(t, err, "got Resume without Checkpoint")
}

// farTarget has its mode at 100, where float32 overflows and float64 does not. Its normal
// approximation is computed in float64, but a flow that starts from it has no finite density in
// float32.
type farTarget struct{ *conjugate }

func (f farTarget) LogJoint(codes, mask, theta *Node) *Node {
	active := Where(mask, theta, ZerosLike(theta))
	far := ReduceSum(MulScalar(Square(Square(MulScalar(active, 3e8))), 1e-60), -1)
	distance := ReduceSum(Where(mask, Square(AddScalar(active, -100)), ZerosLike(active)), -1)
	return Sub(MulScalar(distance, -0.5), far)
}

// If a flow has no finite density at its start, it starts again from the standard normal.
func TestBadStartIsRetried(t *testing.T) {
	config := smallConfig()
	config.Steps, config.Start = 2, vti.AnchorStart
	var reports []vti.Info
	config.Progress = func(info vti.Info) { reports = append(reports, info) }
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), farTarget{newConjugate(20, 2)}, config)
	require.NoError(t, err)
	require.Equal(t, 2, posterior.Steps())
	require.Greater(t, reports[0].NonFinite, config.Batch/2, "the first start")
	require.Less(t, reports[len(reports)-1].NonFinite, config.Batch/10)
}

func sum(values []float64) (total float64) {
	for _, value := range values {
		total += value
	}
	return total
}
