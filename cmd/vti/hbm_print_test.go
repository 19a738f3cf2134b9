package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/regression"
)

// A family of which an answer is not trusted is followed by the one that integrates effects out.
func TestHbmAdvice(t *testing.T) {
	advice := func(command, family string, verdict vti.Verdict) string {
		return hbmAdvice(&regression.Result{Command: command, Family: family, Certificate: &regression.Certificate{Verdict: verdict}})
	}
	for _, verdict := range []vti.Verdict{vti.Doubtful, vti.Failed} {
		require.Contains(t, advice("hbm", "pavi-e", verdict), "--family marginal")
		require.NotContains(t, advice("hbm", regression.MarginalFamily, verdict), "--family")
		require.NotContains(t, advice(regression.InferCommand, "pavi-e", verdict), "--family")
	}
	require.NotContains(t, advice("hbm", "pavi-f", vti.Trusted), "Try")
}
