package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The log evidence from weights of a flow is accepted if it falls short of the log evidence from
// draws around modes by no more than the errors allow, or exceeds it by any amount.
func TestMissedByWeights(t *testing.T) {
	around := &Certificate{LogEvidence: -2, LogEvidenceSE: 0.03}
	for less, want := range map[float64]string{-1: "", 0.2: "", 0.3: "weights of q found 0.3 nats less evidence than draws around modes"} {
		weights := &Certificate{LogEvidence: -2 - less, LogEvidenceSE: 0.04}
		require.Equal(t, want, MissedByWeights(around, weights), "%g", less)
	}
}
