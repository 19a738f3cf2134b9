//go:build quality

package hbm

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

// column reads a column of numbers.
func column(t testing.TB, from *table.Table, name string) []float64 {
	c, err := from.Lookup(name)
	require.NoError(t, err)
	return c.Values
}

// TestQualityOfSchools compares families with the reference draws of eight schools (posteriordb): μ
// ~ N(0, 5²), τ ~ half-Cauchy(5), in standard deviations of the reference. Certified are the draws
// weighted by importance:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfSchools -v ./hbm
func TestQualityOfSchools(t *testing.T) {
	schools, err := table.ReadFile(filepath.Join("..", "testdata", "eight_schools.csv"))
	require.NoError(t, err)
	reference, err := table.ReadFile(filepath.Join("..", "testdata", "eight_schools_reference.csv"))
	require.NoError(t, err)
	names, err := reference.Lookup("parameter")
	require.NoError(t, err)
	wantMean, wantSD := map[string]float64{}, map[string]float64{}
	for row := range reference.Rows() {
		wantMean[names.Text(row)], wantSD[names.Text(row)] = column(t, reference, "mean")[row], column(t, reference, "sd")[row]
	}

	m := NewModel()
	school := m.Plate("school", 8)
	mu := m.Latent("mu", Normal(Number(0), Number(5)))
	tau := m.Latent("tau", HalfStudentT(Number(1), Number(5)))
	theta := m.Latent("theta", Normal(mu, tau), On(school))
	sigma := m.Constant("sigma", On(school))
	y := m.Observed("y", Normal(theta, sigma), On(school))
	data := Values{y: column(t, schools, "y"), sigma: column(t, schools, "sigma")}

	t.Log("| family | steps | CPU seconds | ELBO | log evidence | k̂ | verdict | drawn: largest error of a mean | of an sd | certified: of a mean | of an sd |")
	for _, family := range []Family{PAVIF, PAVIE, Branch, Joint, MeanField} {
		if !chosen(*qualityFamily, family.String()) {
			continue
		}
		p := measure(t, m, data, 2000, Config{Family: family})
		c, err := p.Certify(t.Context(), CertifyConfig{Draws: 20000})
		require.NoError(t, err)
		plain, err := p.Sample(t.Context(), 20000, "schools")
		require.NoError(t, err)
		errors := func(draws *Draws, weight func(i int) float64) (mean, sd float64) {
			of := func(name string, value func(i int) float64) {
				var first, second float64
				for i := range draws.N {
					first += weight(i) * value(i)
				}
				for i := range draws.N {
					second += weight(i) * (value(i) - first) * (value(i) - first)
				}
				mean, sd = math.Max(mean, math.Abs(first-wantMean[name])/wantSD[name]), math.Max(sd, math.Abs(math.Sqrt(second)/wantSD[name]-1))
			}
			of("mu", func(i int) float64 { return draws.Of(mu, i)[0] })
			of("tau", func(i int) float64 { return draws.Of(tau, i)[0] })
			for k := range 8 {
				of(fmt.Sprintf("theta%d", k+1), func(i int) float64 { return draws.Of(theta, i)[k] })
			}
			return mean, sd
		}
		drawnMean, drawnSD := errors(plain, func(int) float64 { return 1 / float64(plain.N) })
		certifiedMean, certifiedSD := errors(c.Sample, func(i int) float64 { return c.Weight[i] })
		t.Logf("| %v | %d | %.0f | %.3f ± %.3f | %.3f ± %.3f | %.2f | %v | %.3f | %.3f | %.3f | %.3f |", family, p.Steps(), p.cpu, p.elbo, p.se, c.LogEvidence, c.LogEvidenceSE, c.KHat, c.Verdict,
			drawnMean, drawnSD, certifiedMean, certifiedSD)
	}
}
