package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/likelihood"
)

// A family that is hardly trained, whose draws are far from the posterior, is a start all the same:
// weights of hyperparameters with all effects integrated out, from a proposal refined from those
// draws, have the evidence of the integral, and are trusted. A table with a gross outlier is unlike
// all that were simulated, and is not trusted.
func TestInferFromHardlyTrained(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	opt := FrameOptions{Formula: "y ~ x + (x | g)"}
	trained := newRegression(t, frameOf(t, heights(1, 6, 4), opt), Options{})
	cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 8, Steps: 30}, Dir: t.TempDir()}
	_, err := trained.RunFamily(t.Context(), open(t, gpu.CPU), cfg)
	require.NoError(t, err)
	infer := InferRun{Model: cfg.Dir, Shape: trained.Shape()}

	content := heights(5, 9, 5)
	f := frameOf(t, content, opt)
	want, _ := runRegression(t, f, Options{}, vti.Config{Seed: 2})
	got, err := newRegression(t, f, Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, got.Certificate.Verdict, got.Certificate.Reasons)
	require.InDelta(t, float64(*want.LogEvidence), float64(*got.LogEvidence), 5*math.Hypot(float64(*want.LogEvidenceSE), float64(*got.LogEvidenceSE)))
	require.Less(t, float64(*got.LogEvidenceSE), 0.01)
	for i, sd := range want.SDs {
		require.InDelta(t, 1, float64(got.SDs[i].SD/sd.SD), 0.1, sd.Name)
	}

	outlier, err := newRegression(t, frameOf(t, content+"90,0,g1\n", opt), Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
	require.NoError(t, err)
	require.NotEqual(t, vti.Trusted, outlier.Certificate.Verdict)
	require.Contains(t, outlier.Certificate.Reasons[len(outlier.Certificate.Reasons)-1], "unlike those that were simulated")
}

// So it is with counts and with 0 and 1, whose effects are integrated out by quadrature. Log
// evidences agree within four of their errors, one in 16,000 by chance; means of a thousand
// effective draws or more on both sides have errors of 0.04 standard deviations, and standard
// deviations of 3 percent. A count that is a hundred times too large, and labels that x separates,
// are not trusted.
func TestInferFromHardlyTrainedWeighed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	for _, kind := range []ResponseKind{PoissonResponse, LogisticResponse} {
		t.Run(kind.String(), func(t *testing.T) {
			opt := FrameOptions{Formula: "y ~ x + (1 | g)", Response: kind}
			trained := newRegression(t, frameOf(t, responses(kind, 1, 6, 4), opt), Options{})
			cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 8, Steps: 30}, Dir: t.TempDir()}
			_, err := trained.RunFamily(t.Context(), open(t, gpu.CPU), cfg)
			require.NoError(t, err)
			infer := InferRun{Model: cfg.Dir, Shape: trained.Shape()}

			content := responses(kind, 2, 12, 6)
			f := frameOf(t, content, opt)
			want, _ := runRegression(t, f, Options{}, vti.Config{Seed: 2})
			got, err := newRegression(t, f, Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, got.Certificate.Verdict, got.Certificate.Reasons)
			require.InDelta(t, float64(*want.LogEvidence), float64(*got.LogEvidence), 4*math.Hypot(float64(*want.LogEvidenceSE), float64(*got.LogEvidenceSE)))
			require.Less(t, float64(*got.LogEvidenceSE), 0.03)
			wants, gots := slices.Concat(want.Effects, want.SDs), slices.Concat(got.Effects, got.SDs)
			for i, w := range wants {
				require.InDelta(t, float64(w.Mean), float64(gots[i].Mean), 0.16*float64(w.SD), w.Name)
				require.InDelta(t, 1, float64(gots[i].SD/w.SD), 0.13, w.Name)
			}

			other := content + "900,0,g1\n"
			if kind == LogisticResponse {
				other = separated(content)
			}
			unlike, err := newRegression(t, frameOf(t, other, opt), Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
			require.NoError(t, err)
			require.NotEqual(t, vti.Trusted, unlike.Certificate.Verdict)
		})
	}
}

// separated is a table of responses that are 1 where x is positive, and 0 elsewhere.
func separated(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines[1:] {
		if _, rest, ok := strings.Cut(line, ","); ok {
			response := "1"
			if strings.HasPrefix(rest, "-") {
				response = "0"
			}
			lines[i+1] = response + "," + rest
		}
	}
	return strings.Join(lines, "\n")
}

// responses is a table of groups of rows whose linear predictors differ by group and by x.
func responses(kind ResponseKind, seed uint64, groups, rows int) string {
	random, row := rand.New(rand.NewPCG(seed, 11)), likelihood.New(kind, likelihood.Shape{})
	text := "y,x,g\n"
	for g := range groups {
		effect := 0.5 + 0.7*random.NormFloat64()
		for range rows {
			x := random.NormFloat64()
			text += fmt.Sprintf("%g,%g,g%d\n", row.Draw(effect+0.4*x, 1, random), x, g)
		}
	}
	return text
}
