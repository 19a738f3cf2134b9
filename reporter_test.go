package vti

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A report holds averages over the steps since the previous report. Too many non-finite densities
// in these steps are an error, after the report.
func TestReporter(t *testing.T) {
	var infos []Info
	cfg := Config{Steps: 1000, Batch: 10, MaxNonFinite: 0.01, Progress: func(info Info) { infos = append(infos, info) }}
	now := time.Now()
	r := reporter{config: &cfg, started: now, since: now, step: 200}
	require.NoError(t, r.reportInterval(300, counters{loss: 500, gradientNorm: 200, entropy: 100, nonFinite: 10, skipped: 1}))
	require.Error(t, r.reportInterval(400, counters{loss: 700, gradientNorm: 500, entropy: 150, nonFinite: 21, skipped: 1}))
	require.Len(t, infos, 2)
	require.Equal(t, []any{300, 5.0, 2.0, 1.0, 10, 1}, []any{infos[0].Step, infos[0].Loss, infos[0].GradientNorm, infos[0].Entropy, infos[0].NonFinite, infos[0].SkippedSteps})
	require.Equal(t, []any{400, 2.0, 3.0, 0.5, 11, 0}, []any{infos[1].Step, infos[1].Loss, infos[1].GradientNorm, infos[1].Entropy, infos[1].NonFinite, infos[1].SkippedSteps})
}
