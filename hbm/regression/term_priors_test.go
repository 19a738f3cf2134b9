package regression

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
)

func termPriors(t *testing.T, texts ...string) (priors []TermPrior) {
	t.Helper()
	for _, text := range texts {
		p, err := ParseTermPrior(text)
		require.NoError(t, err)
		require.Equal(t, text, p.String())
		priors = append(priors, p)
	}
	return priors
}

// The prior of a term is that of the coefficient in the units of the table: x has a coefficient of
// its own, the standard deviation of the intercepts another family, and everything else its prior
// as before.
func TestTermPriors(t *testing.T) {
	f := frameOf(t, grouped18, FrameOptions{Formula: "y ~ x + z + (1 + z | g)"})
	r := newRegression(t, f, Options{Terms: termPriors(t, "b:x=normal(0.5,0.25)", "sd:(Intercept)|g=exponential(2)", "sd:z|g=half-cauchy(3)")})
	plain := newRegression(t, f, Options{})
	column := make([]float64, f.Rows())
	for i := range column {
		column[i] = f.X.At(i, 1)
	}
	sx, sy := stat.StdDev(column, nil), stat.StdDev(f.Y, nil)
	require.InDelta(t, 0.5, r.coordinates[1].mean*sy/sx, 1e-12)
	require.InDelta(t, 0.25, r.coordinates[1].sd*sy/sx, 1e-12)
	require.Equal(t, plain.coordinates[0], r.coordinates[0])
	require.Equal(t, plain.coordinates[2], r.coordinates[2])
	lines := r.Priors()
	require.Contains(t, lines, "effect of x: ~ N(0.5, 0.25²)")
	require.Contains(t, lines, "sd of (Intercept) by g: ~ exponential(2), mean 0.5")
	require.Contains(t, lines, "sd of z by g: ~ half-cauchy(3)")
	result := &Result{}
	r.describe(result, &posteriorSample{})
	require.Contains(t, result.Priors, PriorSummary{"sd((Intercept) | g)", "exponential", 0, 0.5})

	// the density of τ is that of s times ds/dτ, with s in the units of the table
	mask, random := r.space.masks[0], stream.Rand(3, "terms")
	theta := make([]float64, r.Dim())
	for range 4 {
		sds := []float64{0, 0}
		want := 0.0
		for c, at := range r.groups[0].sd {
			theta[at] = random.NormFloat64()
			logRatio, logSlope := scaleRatio(theta[at])
			sds[c] = math.Exp(logRatio) * r.coordinates[at].unit * r.ySD / r.groups[0].zSD[c]
			want += logRatio + logSlope + math.Log(r.coordinates[at].unit*r.ySD/r.groups[0].zSD[c])
		}
		want += math.Log(2) - 2*sds[0] + math.Log(2/(math.Pi*3)) - math.Log1p(sds[1]*sds[1]/9)
		only := make([]bool, len(mask))
		for _, at := range r.groups[0].sd {
			only[at] = true
		}
		require.InDelta(t, want, r.logPriorOfHyperparameters(only, theta), 1e-10)
	}
}

func TestTermPriorErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x":                      "no =",
		"b:x=normal(1)":          "normal of 1 number is no prior",
		"b:x=normal(0,-1)":       "positive number last",
		"b:x=cauchy(0,1)":        "cauchy of 2 numbers",
		"sd:g=normal(1)":         "unknown prior of standard deviations",
		"sd:g=exponential(1,a)":  `"a" is no number`,
		"sigma:g=half-normal(1)": "is no prior of",
		"b:=normal(0,1)":         "not of that form",
		"sd:g=half-normal(1":     "not of that form",
	} {
		_, err := ParseTermPrior(text)
		require.ErrorContains(t, err, want, text)
	}
	f := frameOf(t, grouped18, FrameOptions{Formula: "y ~ x + (1 | g)"})
	for _, text := range []string{"b:z=normal(0,1)", "b:(Intercept)=normal(0,1)", "sd:h=exponential(1)", "sd:x|g=exponential(1)"} {
		_, err := New(f, Options{Terms: termPriors(t, text)})
		require.ErrorContains(t, err, "there is no such term", text)
	}
}
