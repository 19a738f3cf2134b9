package vti_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

func TestJointCertificateAgreesWithClosedForm(t *testing.T) {
	target := newConjugate(40, 4)
	_, probability := target.posterior()
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, smallConfig())
	require.NoError(t, err)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{MaxModels: 1, Draws: 1 << 15})
	require.NoError(t, err)
	require.False(t, certificate.Complete)
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	for _, model := range certificate.Models {
		index := space.Encode(target.space.Cards(), model.Code)
		require.InDelta(t, probability[index], model.Certified, 5*model.SE+1e-3)
	}
	in := func(code []int32) bool { return code[0] == 1 }
	exact := 0.0
	for index, code := range space.All(target.space.Cards()) {
		if in(code) {
			exact += probability[index]
		}
	}
	got, se := certificate.Probability(in)
	require.InDelta(t, exact, got, 5*se+1e-6)
}
