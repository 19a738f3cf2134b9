package vti

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
)

func TestConfigValidate(t *testing.T) {
	require.NoError(t, Config{}.Validate())
	for want, cfg := range map[string]Config{
		"got LearningRate NaN":                       {LearningRate: math.NaN()},
		"got Batch -1, want":                         {Batch: -1},
		"got Tempering 1, want a share of the steps": {Tempering: 1},
		"want Float32 or Float64":                    {DType: dtypes.Int32},
		"got the control variate vti.ControlVariate(9), want leave-one-out, mean": {ControlVariate: 9},
		"got Resume without Checkpoint":                                           {Resume: true},
	} {
		require.ErrorContains(t, cfg.Validate(), want)
	}
}

// The settings in a checkpoint contain every field that changes training, but not times of reports
// and checkpoints.
func TestSettings(t *testing.T) {
	settings := func(cfg Config) string {
		text, err := cfg.withDefaults().settings("cpu", []int{2, 2})
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, settings(Config{}), settings(Config{LogEvery: 7, CheckpointEvery: 3, Checkpoint: "x", StepsPerLaunch: 4}))
	require.Equal(t, settings(Config{}), settings(Config{Batch: 1024}), "a default is what it stands for")
	for name, cfg := range map[string]Config{"batch": {Batch: 7}, "seed": {Seed: 2}, "steps": {Steps: 9}, "dtype": {DType: dtypes.Float64}} {
		require.NotEqual(t, settings(Config{}), settings(cfg), name)
	}
}

// Sizes that need more memory than a machine has are refused with an error that names the memory.
// Large sizes that fit are not refused.
func TestSizesThatCannotBe(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	target := newNormals(t, 3)
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"batch":    {Config{Batch: 1_000_000_000_000}, "vti.Config: Batch 1000000000000 with a flow of 5 layers of 32 hidden units needs at least "},
		"hidden":   {Config{Flow: cosmic.Config{Hidden: 100_000_000}}, "needs at least "},
		"diagonal": {Config{Flow: cosmic.Config{Kind: cosmic.Diagonal, Hidden: 100_000_000}}, "needs at least "},
		"layers":   {Config{Flow: cosmic.Config{Layers: 100_000_000_000}}, "needs at least "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Fit(t.Context(), device, target, c.cfg)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, " of memory, and there are ")
		})
	}
	// a machine with 4 GiB of memory can hold this batch
	cfg := Config{Batch: 1 << 16, Flow: cosmic.Config{Dim: 3, Features: 3}}.withDefaults()
	require.NoError(t, cfg.checkSize(target))
}

func TestSizesOfCertification(t *testing.T) {
	target := newNormals(t, 3)
	require.NoError(t, CertifyConfig{}.CheckSize(target))
	require.NoError(t, CertifyConfig{Draws: 1 << 22}.CheckSize(target))
	posterior := &Posterior{evaluator: newEvaluatorOf(t, target, 16)}
	_, err := posterior.Certify(t.Context(), CertifyConfig{Draws: 99_999_999_999_999})
	require.ErrorContains(t, err, "vti.CertifyConfig: Draws 99999999999999 needs at least 7.816 PiB")
	_, err = posterior.Certify(t.Context(), CertifyConfig{Draws: -1})
	require.ErrorContains(t, err, "got -1 draws")
	many := newNormals(t, 50)
	require.ErrorContains(t, CertifyConfig{MaxModels: 1 << 51}.CheckSize(many), "which lists 1125899906842624 models, needs at least ")
	require.NoError(t, CertifyConfig{}.CheckSize(many), "drawn, not listed")
}

func TestControlVariateNames(t *testing.T) {
	require.Equal(t, "leave-one-out", ControlVariate(0).String(), "the zero value is the default")
	require.Equal(t, "surrogate", SurrogateMean.String())
	require.Equal(t, "vti.ControlVariate(4)", ControlVariate(4).String())
	require.Equal(t, "vti.ControlVariate(-1)", ControlVariate(-1).String())
}
