package varsel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

func ridge(t *testing.T, file string, options DesignOptions, prior space.Prior) *Problem {
	t.Helper()
	data, err := table.ReadFile("../testdata/ridges/" + file + ".csv")
	require.NoError(t, err)
	options.Target = "y"
	design, err := NewDesign(data, options)
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Likelihood: options.Likelihood, Prior: prior})
	require.NoError(t, err)
	return problem
}

// If the number of coefficients of a model is close to the number of rows, its posterior is a ridge
// along which the shape grows without bound. Answers without training must agree with quadrature
// (testdata/README.md), whose results have two or three correct digits. The largest standard error
// of a probability is .0035, so that a limit of .012 gives a false alarm in one of 1,000 seeds.
func TestRidges(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	for _, c := range []struct {
		file      string
		kind      likelihood.Kind
		options   DesignOptions
		prior     space.Prior
		inclusion map[int]float64
		evidence  float64 // 0 if unknown
	}{
		{"n_gamma_11", likelihood.GammaKind, DesignOptions{}, space.Prior{Kind: space.UniformPrior}, map[int]float64{0: 0.320, 1: 0.862, 2: 0.222}, 0},
		{"s_gamma_6_8_0_1", likelihood.GammaKind, DesignOptions{}, space.Prior{}, map[int]float64{6: 0.061}, -12.092},
		{"s_weibull_40_3_2_11", likelihood.WeibullKind, DesignOptions{Censored: "cens"}, space.Prior{}, map[int]float64{0: 0.902, 1: 0.544, 2: 0.254}, -10.23},
		{"s_weibull_6_3_3_2", likelihood.WeibullKind, DesignOptions{Censored: "cens"}, space.Prior{}, map[int]float64{0: 0.378, 1: 0.518, 2: 0.469}, 0},
		{"s_beta_5_4_0_1", likelihood.BetaKind, DesignOptions{}, space.Prior{}, nil, 0},
		{"f_negbinomial_9_5_2_off", likelihood.NegativeBinomialKind, DesignOptions{Offset: "off"}, space.Prior{}, nil, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			if c.file == "s_gamma_6_8_0_1" {
				testkit.Long(t)
			}
			c.options.Likelihood = c.kind
			problem := ridge(t, c.file, c.options, c.prior)
			for _, seed := range []uint64{2, 7, 12} {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					if seed != 2 {
						testkit.Long(t)
					}
					result, err := Run(t.Context(), device, problem, RunConfig{Precision: 0.005, Fit: vti.Config{Seed: seed}})
					require.NoError(t, err)
					require.Zero(t, result.Steps)
					require.Equal(t, vti.Trusted, result.Certificate.Verdict)
					for j, want := range c.inclusion {
						require.InDelta(t, want, float64(result.Inclusion[j].Certified), 0.012, "x%d, seed %d", j+1, seed)
					}
					if c.kind == likelihood.BetaKind {
						i := slices.IndexFunc(result.Models, func(m ModelReport) bool { return m.Code == "1111" })
						full := float64(result.Models[i].Certified)
						require.InDelta(t, 0.19, full/(1-full), 0.06)
					}
					if c.evidence != 0 {
						require.InDelta(t, c.evidence, float64(*result.LogEvidence), 0.03, "seed %d", seed)
					}
				})
			}
		})
	}
}

// In a zero-inflated model a zero comes from the count distribution or from the extra mass at zero.
// If most zeros may come from either, only the priors bound the coefficients. For this table
// importance weights of a flow are wrong: they give a mean slope of 1.58 ± 0.05 instead of 1.26.
// The expected moments are sums over a grid, which agree with quadrature (lab/hard). There are 9
// comparisons, and 4.5 standard errors give a false alarm in one of 150,000.
func TestPlateausOfZeros(t *testing.T) {
	x := table.Numbers("x", []float64{-0.19222496414656184, 1.0886683321801314, -0.3094211697963486, -0.08504169241257331})
	data, err := table.New("few", x, table.Numbers("y", []float64{0, 4, 0, 0}))
	require.NoError(t, err)
	design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: likelihood.ZeroInflatedKind})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.ZeroInflatedKind})
	require.NoError(t, err)
	for seed := range uint64(3) {
		theta, logWeights, logProposal, err := laplaceProposals{problem.models()}.propose([]int32{1}, 4000, stream.Rand(seed, "plateau"))
		require.NoError(t, err)
		floats.Sub(logWeights, logProposal)
		evidence := psis.Smooth(logWeights)
		require.Less(t, evidence.K, psis.Reliable)
		require.InDelta(t, -6.56956, evidence.LogMean, 4.5*evidence.LogMeanSE)
		weights, slopes := make([]float64, len(logWeights)), make([]float64, len(logWeights))
		for i, log := range logWeights {
			weights[i], slopes[i] = math.Exp(log-evidence.LogMean), theta.At(i, 1)
		}
		m := weighted.MomentsOf(weights, slopes, nil, nil)
		require.Less(t, m.MeanSE, 0.06)
		require.InDelta(t, 1.26034, m.Mean, 4.5*m.MeanSE)
		require.InDelta(t, 1.37819, m.SD, 4.5*m.SDSE)
	}
}

// A model without coefficients still has a shape parameter. Its evidence is an integral over the
// log of the shape, with which 1,000 weighted draws agree to four standard errors.
func TestRidgeOfNoCoefficients(t *testing.T) {
	y := []float64{0.4, 1.2, 2.1, 0.9}
	data, err := table.New("few", table.Numbers("x", []float64{1, -1, 0.5, 2}), table.Numbers("y", y))
	require.NoError(t, err)
	design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: likelihood.GammaKind, NoIntercept: true})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.GammaKind})
	require.NoError(t, err)
	want := math.Inf(-1)
	const step = 0.01
	for x := -20.0; x < 20; x += step {
		shape := math.Exp(x)
		log := math.Log(step) + distuv.Normal{Sigma: 3}.LogProb(x)
		for _, v := range y {
			log += distuv.Gamma{Alpha: shape, Beta: shape}.LogProb(v)
		}
		want = logsum.Add(want, log)
	}
	_, logWeights, logProposal, err := laplaceProposals{problem.models()}.propose([]int32{0}, 1000, stream.Rand(1, "ridge"))
	require.NoError(t, err)
	floats.Sub(logWeights, logProposal)
	got, se := psis.LogMeanExp(logWeights)
	require.InDelta(t, want, got, 4*se)
	require.Less(t, se, 0.02)
}
