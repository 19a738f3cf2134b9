package vti_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestOutsidePlates compares the probability that each hospital differs from the common rate, among
// 2¹² and 2⁴⁰ models, with quadrature. Given the common rate μ, hospitals are independent. The
// probabilities are therefore integrals over μ of sums over the two models of each hospital.
func TestOutsidePlates(t *testing.T) {
	testkit.Long(t)
	for _, hospitals := range []int{12, 40} {
		t.Run(fmt.Sprint(hospitals), func(t *testing.T) {
			lines := runOutside(t, "./plates", fmt.Sprint(hospitals))
			require.Len(t, lines, 1+hospitals)
			require.Equal(t, "trusted", lines[0])
			uncertain := 0
			for h, want := range hospitalsThatDiffer(hospitals) {
				var number int
				var got, se float64
				_, err := fmt.Sscanf(lines[1+h], "hospital %d differs with probability %f ± %f", &number, &got, &se)
				require.NoError(t, err)
				require.Equal(t, h, number)
				requireClose(t, lines[1+h], want, got, se)
				if want > 0.02 && want < 0.98 {
					uncertain++
				}
			}
			require.Greater(t, uncertain, hospitals/3) // with fewer uncertain hospitals the comparison could hardly fail
		})
	}
}

// hospitalsThatDiffer computes, by the trapezoidal rule over μ, the probabilities that the program
// ./plates estimates.
func hospitalsThatDiffer(hospitals int) []float64 {
	const rows, prior, step = 6, 0.3, 0.002
	means := make([]float64, hospitals)
	for i := range hospitals * rows {
		h := i / rows
		means[h] += (0.4 + math.Sin(float64(17*i+1))) / rows
		if h%3 == 0 {
			means[h] += 1.5 * math.Cos(float64(h)) / rows
		}
	}
	total, differs := 0.0, make([]float64, hospitals)
	for mu := -3.0; mu < 4; mu += step {
		density, differing := math.Exp(logNormalDensity(mu, 0, 1)), make([]float64, hospitals)
		for h, mean := range means {
			same := (1 - prior) * math.Exp(logNormalDensity(mean, mu, math.Sqrt(1./rows)))
			other := prior * math.Exp(logNormalDensity(mean, mu, math.Sqrt(1+1./rows)))
			density, differing[h] = density*(same+other), other/(same+other)
		}
		total += density
		for h, p := range differing {
			differs[h] += density * p
		}
	}
	for h := range differs {
		differs[h] /= total
	}
	return differs
}

// The excerpts in docs/plates.md are part of the examples of the package.
func TestPlatesPageShowsExamples(t *testing.T) {
	page, err := os.ReadFile("docs/plates.md")
	require.NoError(t, err)
	examples, err := os.ReadFile("hbm/example_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.Contains(t, string(examples), block[1])
	}
}
