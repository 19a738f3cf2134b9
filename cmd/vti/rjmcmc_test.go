package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestTemperedChainsReportEvidence compares the evidence by tempered chains with the closed form,
// to 5 standard errors, which fails by chance once in 10⁶ runs. Exchanges must be reported.
func TestTemperedChainsReportEvidence(t *testing.T) {
	testkit.Slow(t)
	data := testdata(t, "hald.csv")
	problem := []string{data, "--target", "y", "--sigma", "2.4", "--json"}
	t.Chdir(t.TempDir())
	exact := decode(t, mustRun(t, append([]string{"exact"}, problem...)...).stdout)
	chains := decode(t, mustRun(t, append([]string{"rjmcmc", "varsel", "--chains", "32", "--temperatures", "6", "--burn-in", "200", "--iterations", "600", "--quiet"}, problem...)...).stdout)
	require.NotNil(t, chains.LogEvidence)
	assert.InDelta(t, *exact.LogEvidence, *chains.LogEvidence, 5**chains.LogEvidenceSE)
	assert.Less(t, *chains.LogEvidenceSE, 0.1)
	assert.Len(t, chains.Diagnostics.Exchanges, 5)
	assert.Positive(t, chains.Diagnostics.RoundTrips)
	for _, in := range chains.Inclusion {
		assert.False(t, math.IsNaN(in.Certified))
	}
}
