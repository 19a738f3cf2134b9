package rjmcmc

import (
	"bytes"
	"encoding/gob"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// Joined runs hold the chains of all runs, also after storage in files, and their evidence agrees
// with the evidence of the target within its error.
func TestJoin(t *testing.T) {
	testkit.Slow(t)
	l := regressionTable(t, stream.Rand(1, "table"), 30, []float64{0.6, 0}, 0.3, 1, false)
	var runs []*Result
	for seed := range uint64(3) {
		r, err := Run(t.Context(), testkit.Backend(t), l, Config{Chains: 8, Temperatures: 5, Iterations: 300, Seed: seed + 1})
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, gob.NewEncoder(&file).Encode(r))
		read := &Result{}
		require.NoError(t, gob.NewDecoder(&file).Decode(read))
		require.Equal(t, r.theta, read.theta)
		value, se := r.LogEvidence()
		again, againSE := read.LogEvidence()
		require.Equal(t, []float64{value, se}, []float64{again, againSE})
		runs = append(runs, read)
	}
	joined, err := Join(runs...)
	require.NoError(t, err)
	require.Equal(t, 24, joined.Chains)
	kept := joined.Draws() / 24
	mean := 0.0
	for _, r := range runs {
		for d := r.Draws() - kept*8; d < r.Draws(); d++ {
			mean += r.Theta(d)[1] / float64(24*kept)
		}
	}
	require.InDelta(t, mean, joined.Summarise(func(d int) float64 { return joined.Theta(d)[1] }).Mean, 1e-12)
	require.Equal(t, runs[2].Theta(runs[2].Draws()-1), joined.Theta(joined.Draws()-1))
	value, se := joined.LogEvidence()
	require.False(t, math.IsNaN(value))
	_, exact := l.enumerate()
	require.InDelta(t, exact, value, 5*se)
	_, err = Join()
	require.Error(t, err)
	require.Error(t, gob.NewEncoder(&bytes.Buffer{}).Encode(joined))
}
