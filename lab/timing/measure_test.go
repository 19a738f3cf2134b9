package timing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/verdict"
)

// program writes a script that stands in for vti, and returns its path. Its answers depend on the
// seed, and on whether its command is vti exact.
func program(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "vti")
	require.NoError(t, os.WriteFile(path, []byte(`#!/bin/sh
case "$*" in
exact*) echo '{"inclusion":[{"name":"x1","certified":0.5}]}' ;;
*"--effort fixed"*) echo '{"certificate":{"verdict":"doubtful"},"inclusion":[{"name":"x1","certified":0.4,"se":0.1}]}' ;;
*"--seed 2 "*) echo '{"certificate":{"verdict":"failed"},"inclusion":[{"name":"x1","certified":0.7,"se":0.1}]}'; exit 3 ;;
*"--seed 9 "*) echo "out of luck" >&2; exit 1 ;;
*) echo '{"certificate":{"verdict":"trusted"},"inclusion":[{"name":"x1","certified":0.51,"se":0.1}]}' ;;
esac
`), 0o755))
	return path
}

// TestMeasurement checks that the worst verdict and the largest error over all repetitions are
// reported, and that an answer with the verdict failed counts as an answer.
func TestMeasurement(t *testing.T) {
	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "hald.csv"), nil, 0o644))
	m := Measurement{Program: program(t), Repetitions: 1, Seed: 1, FixedRepetitions: 1, Folders: []string{t.TempDir(), data}, Scratch: t.TempDir()}
	hald := Cases()[0]
	first, err := m.Run(t.Context(), hald)
	require.NoError(t, err)
	require.Equal(t, verdict.Trusted, first.Verdict)
	require.InDelta(t, 0.01, *first.LargestError, 1e-12)
	require.InDelta(t, 0.11, *first.AgainstFixed, 1e-12)
	require.Equal(t, verdict.Doubtful, *first.FixedVerdict)
	require.Positive(t, first.Median)
	require.Positive(t, first.CPU)

	m.Repetitions = 3
	all, err := m.Run(t.Context(), hald)
	require.NoError(t, err)
	require.Equal(t, verdict.Failed, all.Verdict)
	require.InDelta(t, 0.2, *all.LargestError, 1e-12)
	require.GreaterOrEqual(t, all.Worst, all.Median)

	m.Seed = 9
	_, err = m.Run(t.Context(), hald)
	require.ErrorContains(t, err, "out of luck")

	missing, err := m.Run(t.Context(), Case{Name: "nowhere", File: "nowhere.csv"})
	require.NoError(t, err)
	require.Contains(t, missing.Skipped, "nowhere.csv")
}

// TestStoredInclusion checks that the evidences of all models are turned into inclusion
// probabilities, with or without leading zeros in the codes of models.
func TestStoredInclusion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logz.csv")
	require.NoError(t, os.WriteFile(path, []byte("model,logz\n00,0\n01,0\n10,0\n11,1.0986122886681098\n"), 0o644))
	inclusion, err := storedInclusion(path)
	require.NoError(t, err)
	require.InDelta(t, 4.0/6, inclusion["x1"], 1e-9)
	require.InDelta(t, 4.0/6, inclusion["x2"], 1e-9)
	require.Len(t, inclusion, 2)
}

// TestCases checks that every case has a simulation or a file, and that names differ.
func TestCases(t *testing.T) {
	seen := map[string]bool{}
	scratch := t.TempDir()
	for _, c := range Cases() {
		require.False(t, seen[c.Name], c.Name)
		seen[c.Name] = true
		require.NotEqual(t, c.Simulation == nil && c.Robust == nil, c.File == "", c.Name)
		if c.Simulation != nil && c.Simulation.Predictors <= 100 {
			path, ok, err := c.Table(nil, scratch)
			require.NoError(t, err)
			require.True(t, ok)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			rows := c.Simulation.Rows
			require.Equal(t, rows+1, strings.Count(string(content), "\n"), c.Name)
		}
	}
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 0)
	require.InDelta(t, 3.0, median([]float64{4, 1, 3}), 0)
}
