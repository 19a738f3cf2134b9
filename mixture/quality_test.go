//go:build quality

package mixture

import "testing"

// Sums over all assignments of 20 rows to up to three components; of Student components, whose
// means have to be integrated over by quadrature, of 12 rows.
//
//	go test -tags quality -v -run QualityOfSmallMixtures -timeout 60m ./mixture
func TestQualityOfSmallMixtures(t *testing.T) {
	for family, rows := range map[Family]int{Normal: 20, Student: 12, Poisson: 20} {
		t.Run(family.String(), func(t *testing.T) {
			checkSums(t, family, 10, rows, SampleConfig{Sweeps: 60_000, Error: 0.0015})
		})
	}
}
