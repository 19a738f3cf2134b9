package vti

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"
)

func TestConfigValidate(t *testing.T) {
	require.NoError(t, Config{}.Validate())
	for want, cfg := range map[string]Config{
		"got LearningRate NaN":                       {LearningRate: math.NaN()},
		"got Batch -1, want":                         {Batch: -1},
		"got Tempering 1, want a share of the steps": {Tempering: 1},
		"want Float32 or Float64":                    {DType: dtypes.Int32},
		"got ControlVariate 9, want one of":          {ControlVariate: 9},
		"got Resume without Checkpoint":              {Resume: true},
	} {
		require.ErrorContains(t, cfg.Validate(), want)
	}
}

// What the state after a step depends on is part of the settings; when to report and to store is
// not.
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
