package vti_test

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
)

// watch opens the processor as a device that counts launches and transfers as if it were a GPU.
func watch(t testing.TB) (*gpu.Device, *testkit.Watched) {
	device := openDevice(t, gpu.CPU)
	watched := &testkit.Watched{Backend: device.Backend()}
	return device.With(watched), watched
}

// trainedModels returns a table and a network for q(m), which both sample and learn on the device.
func trainedModels(t testing.TB, target *conjugate) map[string]vti.ModelDistribution {
	network, err := modeldist.NewAutoregressive(target.space.Cards(), modeldist.AutoregressiveConfig{Hidden: 8, Seed: 3})
	require.NoError(t, err)
	return map[string]vti.ModelDistribution{"table": nil, "network": network}
}

// A training step takes one launch and no transfer. A report reads the five running sums in one
// transfer. Graphs are compiled once.
func TestTrainingStaysOnTheDevice(t *testing.T) {
	target := newConjugate(20, 3)
	for name, models := range trainedModels(t, target) {
		for _, several := range []int{1, 4} {
			device, watched := watch(t)
			cfg := smallConfig()
			cfg.Models, cfg.StepsPerLaunch, cfg.Start = models, several, vti.AnchorStart
			cfg.Steps, cfg.LogEvery = 101, 20
			training, reports := 0, 0
			watched.BeforeLaunch = func(name string) error {
				if testkit.IsTraining(name) {
					training++
				}
				return nil
			}
			cfg.Progress = func(info vti.Info) {
				if info.Step == 40 { // the graphs of one and of several steps have both run
					watched.Reset()
					training, reports = 0, 0
				}
				reports++
			}
			_, err := vti.Fit(t.Context(), device, target, cfg)
			require.NoError(t, err)
			// of 20 steps, 16 take four launches of four steps; others are single
			launches := map[int]int{1: 61, 4: 16}[several]
			require.Equal(t, launches, training, name)
			require.Equal(t, launches, watched.Launches, name)
			require.Zero(t, watched.ToDevice, name)
			require.Equal(t, reports-1, watched.ToHost, name)
			require.Equal(t, 5*8*(reports-1), watched.BytesToHost, name)
			require.Empty(t, watched.Compiled, name)
			require.Greater(t, watched.Donated, 10, name)
			require.LessOrEqual(t, watched.Kept, 4, "only the anchor of the flow and the bounds of the round are not handed over")
		}
	}
}

// The number of steps in a launch, and interruptions by reports and checkpoints, change no bit of
// the result.
func TestStepsPerLaunchChangeNothing(t *testing.T) {
	target := newConjugate(20, 3)
	for name, models := range trainedModels(t, target) {
		for _, kind := range []cosmic.Kind{cosmic.Affine, cosmic.Spline} {
			var want map[string]any
			for _, several := range []int{1, 3, 8} {
				cfg := vti.Config{
					Flow: cosmic.Config{Kind: kind, Layers: 2, Blocks: 1, Hidden: 8}, Models: models, DType: dtypes.Float32, ControlVariate: vti.Running,
					Steps: 30, Batch: 16, Seed: 5, StepsPerLaunch: several, LogEvery: 7, CheckpointEvery: 11, Tempering: 0.4, Start: vti.AnchorStart,
				}
				posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
				require.NoError(t, err)
				require.Equal(t, 30, posterior.Steps())
				got := posterior.VariableValues()
				if want == nil {
					want = got
				}
				require.Equal(t, want, got, "%s, %s, %d", name, kind, several)
			}
		}
	}
}
