package vti

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCertifyConfigDefaults(t *testing.T) {
	require.Equal(t, CertifyConfig{MaxModels: 65_536, Draws: 262_144, Tolerance: 0.002, stream: "certify"}, CertifyConfig{}.withDefaults())
	filled := CertifyConfig{MaxModels: 1, Draws: 2, Tolerance: 3, Confirm: true, stream: "other"}
	require.Equal(t, filled, filled.withDefaults())
}
