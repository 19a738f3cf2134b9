package timing

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/verdict"
)

// TestReferencesOfHierarchies checks that all references are read, and that each has an evidence
// unless it comes from lme4 or Stan.
func TestReferencesOfHierarchies(t *testing.T) {
	list, err := Hierarchies()
	require.NoError(t, err)
	for _, h := range list {
		require.Equal(t, h.Flat || h.Stan > 0, math.IsNaN(h.LogEvidence), h.Name)
		require.NotEmpty(t, h.Moments, h.Name)
		for name, moments := range h.Moments {
			require.Positive(t, moments[1], "%s: %s", h.Name, name)
		}
	}
}

// TestHierarchiesAreCompared checks that the largest errors and the worst verdict over all seeds
// are reported.
func TestHierarchiesAreCompared(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "vti")
	require.NoError(t, os.WriteFile(program, []byte(`#!/bin/sh
case "$*" in
*"--seed 2 "*) echo '{"certificate":{"verdict":"doubtful"},"log_evidence":-9.5,"effects":[{"name":"x","mean":1.5,"sd":0.25}],"sds":[{"name":"sigma","mean":null,"sd":null}]}' ;;
*) echo '{"certificate":{"verdict":"trusted"},"log_evidence":-10.25,"effects":[{"name":"x","mean":1,"sd":0.5}],"sds":[{"name":"sigma","mean":2,"sd":1}]}' ;;
esac
`), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t.csv"), []byte("y,x\n1,2\n"), 0o644))
	h := Hierarchy{Name: "t", File: "t.csv", LogEvidence: -10, LogEvidenceSE: 0.01, Moments: map[string][2]float64{"x": {1, 0.5}, "sigma": {2, 1}}}
	m := Measurement{Program: program, Repetitions: 2, Seed: 1, Folders: []string{dir}, Scratch: dir}
	row, err := m.RunHierarchy(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, verdict.Doubtful, row.Verdict)
	require.Equal(t, 1.0, *row.LargestShift)
	require.Equal(t, [2]float64{0.5, 1}, *row.SDRatio)
	require.Equal(t, 0.5, *row.EvidenceError)
	require.Equal(t, 2, row.Unresolved)
	require.Equal(t, 2, row.Compared)
	m.Folders = nil
	row, err = m.RunHierarchy(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, "t.csv is in no folder of data", row.Skipped)
	lost := Measurement{Program: filepath.Join(dir, "none"), Repetitions: 1, Seed: 1, Folders: []string{dir}, Scratch: dir}
	row, err = lost.RunHierarchy(t.Context(), Hierarchy{Name: "t", File: "t.csv"})
	require.NoError(t, err)
	require.Contains(t, row.Skipped, "none", "why it does not run")
}
