package varsel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

// Posteriors that are ridges towards infinite shapes, as of models with about as many coefficients
// as rows, are answered without training, and as quadrature has it. The numbers of
// testdata/README.md are known to two or three digits: .01 is beside them four or more of the
// largest standard error, so that one of 15,000 seeds would fail.
func TestRidges(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	for _, c := range []struct {
		file      string
		kind      likelihood.Kind
		options   DesignOptions
		prior     space.Prior
		inclusion map[int]float64
		evidence  float64 // 0: not known
	}{
		{"n_gamma_11", likelihood.GammaKind, DesignOptions{}, space.Prior{Kind: space.UniformPrior}, map[int]float64{0: 0.320, 1: 0.862, 2: 0.222}, 0},
		{"s_gamma_6_8_0_1", likelihood.GammaKind, DesignOptions{}, space.Prior{}, map[int]float64{6: 0.061}, -12.092},
		{"s_weibull_40_3_2_11", likelihood.WeibullKind, DesignOptions{Censored: "cens"}, space.Prior{}, map[int]float64{0: 0.902, 1: 0.544, 2: 0.254}, -10.23},
		{"s_weibull_6_3_3_2", likelihood.WeibullKind, DesignOptions{Censored: "cens"}, space.Prior{}, map[int]float64{0: 0.378, 1: 0.518, 2: 0.469}, 0},
		{"f_negbinomial_9_5_2_off", likelihood.NegativeBinomialKind, DesignOptions{Offset: "off"}, space.Prior{}, nil, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			data, err := table.ReadFile("../testdata/ridges/" + c.file + ".csv")
			require.NoError(t, err)
			c.options.Target, c.options.Likelihood = "y", c.kind
			design, err := NewDesign(data, c.options)
			require.NoError(t, err)
			problem, err := NewProblem(design, ModelOptions{Likelihood: c.kind, Prior: c.prior})
			require.NoError(t, err)
			result, err := Run(t.Context(), device, problem, RunConfig{Precision: 0.005, Fit: vti.Config{Seed: 12}})
			require.NoError(t, err)
			require.Zero(t, result.Steps)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict)
			for j, want := range c.inclusion {
				require.InDelta(t, want, float64(result.Inclusion[j].Certified), 0.01, "x%d", j+1)
			}
			if c.evidence != 0 {
				require.InDelta(t, c.evidence, float64(*result.LogEvidence), 0.03)
			}
		})
	}
}
