//go:build quality

package hbm

import (
	"flag"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of this build tag measure rather than check, and log rows of Markdown for
// docs/benchmarks.md.
var (
	qualitySteps  = flag.Int("quality.steps", 0, "training steps; 0: what the test says")
	qualityGroups = flag.String("quality.sizes", "", "only these sizes of the plate that grows, with commas between")
	qualityBatch  = flag.Int("quality.batch", 0, "how many members of the plate that grows a step takes part in; 0: all")
	qualityFamily = flag.String("quality.families", "", "only these families, with commas between")
	qualityRate   = flag.Float64("quality.rate", 0, "learning rate; 0: that of the family")
)

// chosen reports whether a comma-separated list, where it is not empty, holds name.
func chosen(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

// cpuSeconds is the processor time that the process has used, over all cores.
func cpuSeconds(t testing.TB) float64 {
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// measured is a fit with the processor time of its training.
type measured struct {
	*Posterior
	cpu      float64
	elbo, se float64
}

// measure trains and estimates the ELBO.
func measure(t testing.TB, m *Model, data Values, draws int, cfg Config) measured {
	t.Helper()
	if *qualitySteps > 0 {
		cfg.Steps = *qualitySteps
	}
	if *qualityRate > 0 {
		cfg.LearningRate = *qualityRate
	}
	start := cpuSeconds(t)
	p := fit(t, m, data, cfg)
	out := measured{Posterior: p, cpu: cpuSeconds(t) - start}
	var err error
	out.elbo, out.se, err = p.ELBO(t.Context(), draws, "elbo")
	require.NoError(t, err)
	return out
}
