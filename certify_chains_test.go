package vti_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// inclusions returns the exact probability that each site has outcome 1, and the log evidence of
// all models under the uniform prior.
func (c *conjugate) inclusions() (inclusion []float64, logEvidence float64) {
	logEvidences, probability := c.posterior()
	inclusion = make([]float64, len(c.space.Cards()))
	largest := math.Inf(-1)
	for index, code := range space.All(c.space.Cards()) {
		for site, outcome := range code {
			inclusion[site] += float64(outcome) * probability[index]
		}
		largest = math.Max(largest, logEvidences[index])
	}
	var sum float64
	for _, value := range logEvidences {
		sum += math.Exp(value - largest)
	}
	return inclusion, largest + math.Log(sum/float64(len(logEvidences)))
}

// poorAnswer returns errors of a joint certificate in units of its standard errors: the error of
// the log evidence, and the largest error of an inclusion probability.
func poorAnswer(t *testing.T, target *conjugate, certificate *vti.Certificate) (evidence, inclusion float64) {
	t.Helper()
	exact, logEvidence := target.inclusions()
	n := len(exact)
	got, se := certificate.Frequencies(n, func(code []int32) (on []int) {
		for site, outcome := range code {
			if outcome == 1 {
				on = append(on, site)
			}
		}
		return on
	})
	for site := range exact {
		inclusion = max(inclusion, math.Abs(got[site]-exact[site])/se[site])
	}
	return math.Abs(certificate.LogEvidence-logEvidence) / certificate.LogEvidenceSE, inclusion
}

// TestChainsReplaceAPoorQ checks that chains find the evidence and the probabilities although q is
// useless: q(m) is uniform, and the flow is far too narrow and off by several standard deviations.
// Seven numbers are compared to 5 standard errors, estimated from 64 chains, which gives a false
// alarm in 10⁵ runs.
func TestChainsReplaceAPoorQ(t *testing.T) {
	testkit.Long(t)
	target := newConjugate(40, 6)
	posterior := poorPosterior(t, target, 2, 3)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{MaxModels: 1, Draws: 1 << 15})
	require.NoError(t, err)
	require.NotNil(t, certificate.Sample.Group, "plain weights should not have been good enough")
	evidence, inclusion := poorAnswer(t, target, certificate)
	require.Less(t, evidence, 5.0)
	require.Less(t, inclusion, 5.0)
	require.Less(t, certificate.LogEvidenceSE, 0.1)
	require.InDelta(t, 1, sum(certificate.Sample.Weight), 1e-9)
	require.Equal(t, vti.Doubtful, certificate.Verdict, "chains alone do not earn trust")
	require.Greater(t, certificate.RHat, 0.9)
}

// TestChainsConfirm checks that a certificate by good weights, joint or model by model, is the
// answer if chains confirm it, and that short chains take less work than long ones.
func TestChainsConfirm(t *testing.T) {
	testkit.Long(t)
	target := newConjugate(40, 4)
	posterior := poorPosterior(t, target, 1, 0)
	calls := func(jointly int, short bool) (calls int) {
		certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{
			MaxModels: jointly, Draws: 1 << 15, Confirm: true, Short: short, Progress: func(int, int) { calls++ },
		})
		require.NoError(t, err)
		require.True(t, certificate.Confirmed)
		require.Nil(t, certificate.Sample.Group)
		evidence, inclusion := poorAnswer(t, target, certificate)
		require.Less(t, evidence, 5.0)
		require.Less(t, inclusion, 5.0)
		return calls
	}
	calls(1, false)
	require.Less(t, calls(0, true), calls(0, false), "as many iterations as long chains")
}

// twoModes has one model, and the posterior ½ N(−5, 0.2²) + ½ N(5, 0.2²).
type twoModes struct{ *space.Subsets }

func (m twoModes) Space() space.Space { return m.Subsets }

func (twoModes) LogPrior(codes *Node) *Node {
	return AddScalar(MulScalar(ReduceSum(ConvertDType(codes, dtypes.Float64), -1), 0), -math.Ln2)
}

func (twoModes) LogJoint(_, mask, theta *Node) *Node {
	const sd = 0.2
	x := ReduceSum(Where(mask, theta, ZerosLike(theta)), -1)
	side := MulScalar(Square(AddScalar(Abs(x), -5)), -0.5/(sd*sd)) // the two modes hardly overlap
	used := ReduceMax(ConvertDType(mask, theta.DType()), -1)
	return Mul(used, AddScalar(side, -math.Log(2*sd)-0.5*math.Log(2*math.Pi)))
}

// TestChainsFindWhatWeightsMiss certifies with a flow that covers only one of two modes, each with
// half of the evidence, so that weights look good. Chains find the other mode, and Certify must
// then compute new weights with a proposal at the draws of the chains.
func TestChainsFindWhatWeightsMiss(t *testing.T) {
	testkit.Slow(t)
	sp, err := space.NewSubsets(1, nil, [][]int{{0}})
	require.NoError(t, err)
	cfg := smallConfig()
	cfg.Steps, cfg.LearningRate = 1, 1e-12
	cfg.Flow.Precision, cfg.Flow.Linear = []float64{25}, []float64{125} // the flow covers only the mode at 5
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), twoModes{sp}, cfg)
	require.NoError(t, err)
	weights, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 14})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, weights.Verdict, "weights alone cannot tell")
	require.InDelta(t, 1.0/3, weights.Models[1].Certified, 0.01)
	for _, short := range []bool{false, true} {
		checked, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 15, Confirm: true, Short: short})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, checked.Verdict, checked.Reasons)
		require.True(t, checked.Confirmed)
		require.Nil(t, checked.Sample.Group, "the better weights are more precise than the chains")
		half, se := checked.Probability(func(code []int32) bool { return code[0] == 1 })
		require.InDelta(t, 0.5, half, 4*se)
		require.Less(t, se, 0.01)
		require.InDelta(t, 0, checked.LogEvidence, 4*checked.LogEvidenceSE)
	}
}

// TestConclusion checks verdicts from a certificate by weights and one by chains. Chains that have
// missed a mode found by weights must not be trusted, however well they mix. If the weights failed,
// chains alone must not be enough for a trusted verdict.
func TestConclusion(t *testing.T) {
	sp, err := space.NewSubsets(1, nil, [][]int{{0}})
	require.NoError(t, err)
	certificate := func(verdict vti.Verdict, evidence, se, p float64) *vti.Certificate {
		c := &vti.Certificate{Verdict: verdict, Complete: true, LogEvidence: evidence, LogEvidenceSE: se}
		if verdict != vti.Trusted {
			c.Reasons = []string{"a reason"}
		}
		for outcome, share := range []float64{1 - p, p} {
			if share > 0 {
				c.Models = append(c.Models, vti.ModelEstimate{Code: []int32{int32(outcome)}, Certified: share, LogEvidenceSE: se})
				c.Sample.Codes = append(c.Sample.Codes, []int32{int32(outcome)})
				c.Sample.Weight = append(c.Sample.Weight, share)
			}
		}
		c.Sample.Theta = mat.NewDense(len(c.Sample.Codes), 1, nil)
		return c
	}
	for _, test := range []struct {
		name            string
		weights, chains *vti.Certificate
		byChains        bool
		want            vti.Verdict
		reason          string
	}{
		{"agree", certificate(vti.Trusted, 0, 0.01, 0.5), certificate(vti.Trusted, 0.01, 0.01, 0.5), false, vti.Trusted, ""},
		{"agree, weights less reliable", certificate(vti.Doubtful, 0, 0.1, 0.5), certificate(vti.Trusted, 0.01, 0.01, 0.5), true, vti.Trusted, ""},
		{"agree on what others have seen more of", certificate(vti.Doubtful, 0, 0.1, 0.5), certificate(vti.Trusted, 0.01, 0.01, 0.5), true, vti.Doubtful, "a reason"},
		{"weights failed", certificate(vti.Failed, 0, 0.1, 0.5), certificate(vti.Trusted, 0.01, 0.01, 0.5), true, vti.Doubtful, "a reason"},
		{"less evidence", certificate(vti.Doubtful, 0, 0.01, 0.5), certificate(vti.Trusted, -0.4, 0.01, 0.5), false, vti.Doubtful, "0.4 nats less"},
		{"more evidence", certificate(vti.Trusted, 0, 0.01, 0.5), certificate(vti.Trusted, 0.4, 0.01, 0.5), true, vti.Doubtful, "log evidences differ by 0.4; log evidence 0.00 ± 0.01 by weights, 0.40 ± 0.01 by chains"},
		{"never visited", certificate(vti.Doubtful, 0, 0.01, 0.9), certificate(vti.Trusted, 0, 0.01, 0), false, vti.Doubtful, "never visited model [1]"},
		{"other probabilities", certificate(vti.Trusted, 0, 0.001, 0.5), certificate(vti.Trusted, 0, 0.001, 0.6), true, vti.Doubtful, "probabilities of an outcome differ by 0.1"},
		{"chains not mixed", certificate(vti.Trusted, 0, 0.01, 0.5), certificate(vti.Doubtful, 0, 0.01, 0.6), false, vti.Doubtful, "did not confirm"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := vti.Conclusion(sp, test.weights, test.chains, strings.Contains(test.name, "others have seen"))
			require.Same(t, map[bool]*vti.Certificate{false: test.weights, true: test.chains}[test.byChains], got)
			require.Equal(t, test.want, got.Verdict)
			require.Equal(t, test.want == vti.Trusted, got.Confirmed)
			if test.reason != "" {
				require.Contains(t, got.Reasons[len(got.Reasons)-1], test.reason)
			}
		})
	}
}

// quadratic returns H [D·D] and b [D] of the log joint density of the largest model, which is −½
// θᵀHθ + bᵀθ plus a constant.
func (c *conjugate) quadratic() (precision, linear []float64) {
	n, dim := c.x.Dims()
	precision, linear = make([]float64, dim*dim), make([]float64, dim)
	for j := range dim {
		for k := range dim {
			for i := range n {
				precision[j*dim+k] += c.x.At(i, j) * c.x.At(i, k) / (c.sigma * c.sigma)
			}
		}
		precision[j*dim+j]++
		for i := range n {
			linear[j] += c.x.At(i, j) * c.y[i] / (c.sigma * c.sigma)
		}
	}
	return precision, linear
}

// poorPosterior returns a posterior whose flow is normal for every model. The standard deviations
// of the flow are narrow times the posterior standard deviations. Its mean is off by shift
// posterior standard deviations in each coordinate, or more, because coordinates are dependent.
func poorPosterior(t *testing.T, target *conjugate, narrow, shift float64) *vti.Posterior {
	t.Helper()
	cfg := smallConfig()
	cfg.Steps, cfg.LearningRate = 1, 1e-12
	cfg.Flow.Precision, cfg.Flow.Linear = target.quadratic()
	cfg.Flow.Linear[0] += shift * math.Sqrt(cfg.Flow.Precision[0])
	for i := range cfg.Flow.Precision {
		cfg.Flow.Precision[i] *= narrow * narrow
	}
	for i := range cfg.Flow.Linear {
		cfg.Flow.Linear[i] *= narrow * narrow
	}
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	return posterior
}
