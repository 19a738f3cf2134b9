//go:build quality

package mixture

import "testing"

// go test -tags quality -v -run QualityOfSmallMixtures ./mixture
func TestQualityOfSmallMixtures(t *testing.T) {
	for _, family := range []Family{Normal, Student, Poisson} {
		checkIntegrals(t, family, 10, 200_000, SampleConfig{Sweeps: 60_000, Error: 0.0015})
	}
}
