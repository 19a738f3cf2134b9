package vti_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// exactConjugate is a conjugate model with evidences in closed form. If failing is set, their
// computation fails.
type exactConjugate struct {
	*conjugate
	failing bool
}

// Known returns the evidences in closed form.
func (c exactConjugate) Known() models.Known { return models.Known{Evidences: models.FromExact(c)} }

func (c exactConjugate) LogEvidences(ctx context.Context, codes [][]int32) ([]float64, error) {
	if c.failing {
		return nil, errors.New("not positive definite")
	}
	values := make([]float64, len(codes))
	for i, code := range codes {
		values[i], _, _, _ = c.exact(code)
	}
	return values, ctx.Err()
}

func (c exactConjugate) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	_, mean, covariance, active := c.exact(code)
	var factor mat.Cholesky
	if !factor.Factorize(covariance) {
		return nil, nil, errors.New("not positive definite")
	}
	var lower mat.TriDense
	factor.LTo(&lower)
	k := len(active)
	theta, logDensity := mat.NewDense(n, c.space.Dim(), nil), make([]float64, n)
	z, draw := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	for i := range n {
		logDensity[i] = -factor.LogDet() / 2
		for a := range k {
			z.SetVec(a, random.NormFloat64())
			logDensity[i] -= (z.AtVec(a)*z.AtVec(a) + math.Log(2*math.Pi)) / 2
		}
		draw.MulVec(&lower, z)
		for a, j := range active {
			theta.Set(i, j, mean.AtVec(a)+draw.AtVec(a))
		}
	}
	return theta, logDensity, nil
}

// untrained returns a posterior fitted with too few steps for a useful q.
func untrained(t *testing.T, target vti.Target, models vti.ModelDistribution) *vti.Posterior {
	cfg := smallConfig()
	cfg.Steps, cfg.Start, cfg.Models = 1, vti.AnchorStart, models
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	return posterior
}

// Evidences, probabilities and parameters are exact for every q.
func TestExactSum(t *testing.T) {
	target := exactConjugate{conjugate: newConjugate(30, 4)}
	certificate, err := untrained(t, target, nil).Certify(t.Context(), vti.CertifyConfig{Confirm: true})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, certificate.Verdict)
	require.Equal(t, vti.ExactSum, certificate.Basis)
	require.True(t, math.IsNaN(certificate.KHat))
	logEvidence, probability := target.posterior()
	require.Len(t, certificate.Models, len(probability))
	for _, model := range certificate.Models {
		at := -1
		for i := range logEvidence {
			if math.Abs(logEvidence[i]-model.LogEvidence) < 1e-12 {
				at = i
			}
		}
		require.GreaterOrEqual(t, at, 0, "model %v", model.Code)
		require.InDelta(t, probability[at], model.Certified, 1e-12)
		require.Zero(t, model.SE)
	}
	// 10 comparisons of moments of the draws and of the exact mixture over models, to 4.5 standard
	// errors, give one false alarm in 15,000 runs.
	var mean, second [5]float64
	for _, model := range certificate.Models {
		_, m, covariance, active := target.exact(model.Code)
		for a, j := range active {
			mean[j] += model.Certified * m.AtVec(a)
			second[j] += model.Certified * (covariance.At(a, a) + m.AtVec(a)*m.AtVec(a))
		}
	}
	n := len(certificate.Sample.Codes)
	for j := range mean {
		column := mat.Col(nil, j, certificate.Sample.Theta)
		sd := math.Sqrt(second[j] - mean[j]*mean[j])
		require.InDelta(t, mean[j], stat.Mean(column, nil), 4.5*sd/math.Sqrt(float64(n)))
		squares := make([]float64, n)
		for i, value := range column {
			squares[i] = value * value
		}
		require.InDelta(t, second[j], stat.Mean(squares, nil), 4.5*stat.StdDev(squares, nil)/math.Sqrt(float64(n)))
	}
	// The log joint density of a draw, computed from p(θ | y, m) and the evidence, agrees with the
	// computation graph.
	q, err := untrained(t, target, nil).LogProb(certificate.Sample.Codes[:10], mat.DenseCopyOf(certificate.Sample.Theta.Slice(0, 10, 0, 5)))
	require.NoError(t, err)
	require.InDeltaSlice(t, q, certificate.Sample.LogQ[:10], 1e-4)
}

// summedConjugate is a target that itself computes the sum over models, and lists a given number of
// the most probable models.
type summedConjugate struct {
	exactConjugate
	listed int
}

func (s summedConjugate) Known() models.Known {
	return models.Known{Evidences: models.FromExact(s), Sum: s.sum}
}

func (s summedConjugate) sum(context.Context, func(done, total int)) (sum models.Total, ok bool, err error) {
	logEvidence, probability := s.posterior()
	order := make([]int, len(probability))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(probability[b], probability[a]) })
	cards := s.Space().Cards()
	for _, i := range order[:s.listed] {
		sum.Codes = append(sum.Codes, space.Decode(cards, i, nil))
		sum.LogEvidences = append(sum.LogEvidences, logEvidence[i])
	}
	best := order[0]
	logPrior := -math.Log(float64(len(probability)))
	sum.Count, sum.LogEvidence = len(probability), logPrior+logEvidence[best]-math.Log(probability[best])
	return sum, s.listed > 0, nil
}

// TestSumOfTheTarget checks certificates of a target that itself computes the sum over models.
// Probabilities of models must be exact. Probabilities of other events must be exact to within the
// total probability of the models that the target does not list.
func TestSumOfTheTarget(t *testing.T) {
	target := summedConjugate{exactConjugate{conjugate: newConjugate(30, 4)}, 5}
	certificate, err := untrained(t, target, nil).Certify(t.Context(), vti.CertifyConfig{MaxModels: 1})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, certificate.Verdict)
	require.Equal(t, vti.ExactSum, certificate.Basis)
	require.False(t, certificate.Complete)
	require.Len(t, certificate.Models, 5)
	whole, err := untrained(t, target, nil).Certify(t.Context(), vti.CertifyConfig{})
	require.NoError(t, err)
	require.True(t, whole.Complete)
	require.InDelta(t, whole.LogEvidence, certificate.LogEvidence, 1e-9)
	left := 1.0
	for i, want := range whole.Models[:5] {
		got := certificate.Models[i]
		require.Equal(t, want.Code, got.Code)
		require.InDelta(t, want.Certified, got.Certified, 1e-9)
		require.InDelta(t, want.LogEvidence, got.LogEvidence, 1e-9)
		left -= got.Certified
	}
	require.Positive(t, left)
	members := func(code []int32) (in []int) {
		for site, bit := range code {
			if bit == 1 {
				in = append(in, site)
			}
		}
		return in
	}
	exact, none := whole.Frequencies(4, members)
	got, se := certificate.Frequencies(4, members)
	for site := range exact {
		require.Zero(t, none[site])
		require.InDelta(t, left, se[site], 1e-9)
		require.InDelta(t, exact[site], got[site], left)
	}
	probability, within := certificate.Probability(func(code []int32) bool { return code[0] == 1 })
	require.Equal(t, got[0], probability)
	require.Equal(t, se[0], within)
	for i, code := range certificate.Sample.Codes {
		require.True(t, slices.ContainsFunc(certificate.Models, func(m vti.ModelEstimate) bool { return slices.Equal(m.Code, code) }), "draw %d", i)
	}

	target.listed = 0 // 0 means that the target computes no sum
	weighed, err := untrained(t, target, nil).Certify(t.Context(), vti.CertifyConfig{MaxModels: 1})
	require.NoError(t, err)
	require.Equal(t, vti.Weights, weighed.Basis)
}

// TestExactWeightsOverModels certifies a target with too many models to list, whose evidences are
// known: Certify draws models and weights them. The 16 inclusion probabilities and the evidence
// must agree with the exact sum to 4.5 standard errors: one false alarm in 8,000 runs.
func TestExactWeightsOverModels(t *testing.T) {
	target := exactConjugate{conjugate: newConjugate(30, 4)}
	posterior := untrained(t, target, nil)
	exact, err := posterior.Certify(t.Context(), vti.CertifyConfig{})
	require.NoError(t, err)
	weights, err := posterior.CertifyModelsByQ(t.Context(), vti.CertifyConfig{Draws: 1 << 14})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, weights.Verdict, weights.Reasons)
	require.Equal(t, vti.Weights, weights.Basis)
	require.InDelta(t, exact.LogEvidence, weights.LogEvidence, 4.5*weights.LogEvidenceSE)
	in := func(code []int32) (sites []int) {
		for site, bit := range code {
			if bit == 1 {
				sites = append(sites, site)
			}
		}
		return sites
	}
	want, _ := exact.Frequencies(4, in)
	got, se := weights.Frequencies(4, in)
	for site := range want {
		require.Positive(t, se[site])
		require.InDelta(t, want[site], got[site], 4.5*se[site])
	}
	for _, model := range weights.Models {
		evidence, _, _, _ := target.exact(model.Code)
		require.InDelta(t, evidence, model.LogEvidence, 1e-12)
		require.Zero(t, model.LogEvidenceSE)
	}
}

// coins is a q(m) of independent sites. The first site is 1 with probability first, and every other
// site with probability ½.
type coins struct{ first float64 }

func (c coins) LogProb(_ *vti.Context, codes *Node) *Node {
	first := ConvertDType(Slice(codes, AxisRange(), AxisElem(0)), dtypes.Float64)
	on, off := math.Log(c.first), math.Log1p(-c.first)
	others := float64(codes.Shape().Dimensions[1]-1) * math.Ln2
	if c.first == 0 {
		return AddScalar(Log(OneMinus(Squeeze(first, -1))), -others)
	}
	return AddScalar(Squeeze(AddScalar(MulScalar(first, on-off), off), -1), -others)
}

func (c coins) Sample(_ *vti.Context, uniforms *Node) *Node {
	half := MulScalar(OnesLike(Slice(uniforms, AxisRange(), AxisRange(1))), 0.5)
	first := MulScalar(OnesLike(Slice(uniforms, AxisRange(), AxisRange(0, 1))), c.first)
	return ConvertDType(LessThan(uniforms, Concatenate([]*Node{first, half}, -1)), dtypes.Int32)
}

// TestExactWeightsFindMissedModels checks the search for missed models. It must lower the verdict
// if q(m) never proposes the most probable models, and otherwise leave the verdict unchanged.
func TestExactWeightsFindMissedModels(t *testing.T) {
	target := exactConjugate{conjugate: newConjugate(400, 6)}
	for first, missed := range map[float64]bool{0: true, 0.5: false} {
		certificate, err := untrained(t, target, coins{first}).CertifyModelsByQ(t.Context(), vti.CertifyConfig{Draws: 1 << 10})
		require.NoError(t, err)
		reasons := strings.Join(certificate.Reasons, "\n")
		if missed {
			require.Equal(t, vti.Doubtful, certificate.Verdict)
			require.Contains(t, reasons, "the evidence estimated by weights of drawn models")
			continue
		}
		require.NotContains(t, reasons, "q(m)") // the verdict is doubtful because of few draws, but no model is missed
	}
}

// TestMeansOfWeightedModels checks standard errors of means of coefficients if models were drawn
// and weighted. Over 40 certificates, the mean square of the z-scores of a coefficient must be 1 to
// within 4 of its standard errors, sqrt(2/40). Several draws of parameters can belong to one draw
// of a model, which the field ModelDraw of the sample names. Standard errors that ignore this field
// must be too small by a factor of more than two.
func TestMeansOfWeightedModels(t *testing.T) {
	testkit.Slow(t)
	target := exactConjugate{conjugate: newConjugate(30, 6)}
	dim := target.space.Dim()
	want, inclusion := make([]float64, dim), make([]float64, dim)
	_, probability := target.posterior()
	for index, code := range space.All(target.space.Cards()) {
		_, mean, _, active := target.exact(code)
		for a, j := range active {
			want[j] += probability[index] * mean.AtVec(a)
			inclusion[j] += probability[index]
		}
	}
	posterior := untrained(t, target, coins{0.5})
	const certificates = 40
	grouped, independent := make([]float64, dim), make([]float64, dim) // mean squares of z-scores, with and without ModelDraw
	for k := range certificates {
		c, err := posterior.CertifyModelsByQ(t.Context(), vti.CertifyConfig{Draws: 1 << 10}.OnStream(fmt.Sprint(k)))
		require.NoError(t, err)
		sample := c.Sample
		require.Len(t, sample.ModelDraw, len(sample.Codes))
		model := map[int]string{}
		for i, draw := range sample.ModelDraw {
			if first, ok := model[draw]; ok {
				require.Equal(t, first, space.Key(sample.Codes[i]), "a draw of a model has one model")
			}
			model[draw] = space.Key(sample.Codes[i])
		}
		for j := range dim {
			var weight, value []float64
			var draws []int
			for i, code := range sample.Codes {
				if target.space.MaskRow(code, nil)[j] {
					weight, value, draws = append(weight, sample.Weight[i]), append(value, sample.Theta.At(i, j)), append(draws, sample.ModelDraw[i])
				}
			}
			z := func(numbers []int) float64 {
				m := weighted.Plain(weight, value, numbers)
				return (m.Mean - want[j]/inclusion[j]) / m.MeanSE
			}
			grouped[j] += z(draws) * z(draws) / certificates
			independent[j] += z(nil) * z(nil) / certificates
		}
	}
	for j := range dim {
		require.InDelta(t, 1, grouped[j], 4*math.Sqrt(2.0/certificates), "coefficient %d", j)
	}
	require.Greater(t, stat.Mean(independent, nil), 4.0)
}

// If the closed form of the evidence fails numerically, the certificate comes from weights of
// draws.
func TestExactFallsBack(t *testing.T) {
	certificate, err := untrained(t, exactConjugate{newConjugate(30, 2), true}, nil).Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 12})
	require.NoError(t, err)
	require.NotEqual(t, vti.ExactSum, certificate.Basis)
}

// laplaceConjugate proposes parameters from a normal distribution with the mean of p(θ | y, m) and
// a wider covariance.
type laplaceConjugate struct {
	*conjugate
	wider float64 // factor of the standard deviations; 0 stands for 1.3
}

func (c laplaceConjugate) Known() models.Known {
	return models.Known{Evidences: models.Proposer{Propose: c.propose}}
}

func (c laplaceConjugate) propose(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error) {
	wider := cmp.Or(c.wider, 1.3)
	theta, logConditional, err := exactConjugate{conjugate: c.conjugate}.SampleParameters(code, n, random)
	logEvidence, mean, _, active := c.exact(code)
	logJoint, logProposal = make([]float64, n), make([]float64, n)
	k, peak := float64(len(active)), c.logPeak(code)
	for i, value := range logConditional {
		// Distances from the mean are wider times larger, so that the quadratic form grows by
		// wider².
		for a, j := range active {
			theta.Set(i, j, mean.AtVec(a)+wider*(theta.At(i, j)-mean.AtVec(a)))
		}
		logProposal[i] = value - k*math.Log(wider)
		logJoint[i] = logEvidence + peak + wider*wider*(value-peak)
	}
	return theta, logJoint, logProposal, err
}

// logPeak returns the largest log density of p(θ | y, m).
func (c laplaceConjugate) logPeak(code []int32) float64 {
	_, _, covariance, active := c.exact(code)
	var factor mat.Cholesky
	factor.Factorize(covariance)
	return -factor.LogDet()/2 - float64(len(active))/2*math.Log(2*math.Pi)
}

// TestSampleOfModels checks that the share of each model in the weighted sample equals its final
// probability, also if evidences from the first draws of parameters are poor. The tolerance allows
// for shares that are rounded to whole draws, and for models whose expected number of draws is
// below one.
func TestSampleOfModels(t *testing.T) {
	for _, wider := range []float64{2, 7} {
		certificate, err := untrained(t, laplaceConjugate{newConjugate(30, 4), wider}, nil).Certify(t.Context(), vti.CertifyConfig{})
		require.NoError(t, err)
		require.Equal(t, vti.Weights, certificate.Basis)
		shares := map[string]float64{}
		for i, code := range certificate.Sample.Codes {
			shares[space.Key(code)] += certificate.Sample.Weight[i]
		}
		for _, model := range certificate.Models {
			require.InDelta(t, model.Certified, shares[space.Key(model.Code)], 2e-3, "model %v, %g times as wide", model.Code, wider)
		}
	}
}

// TestModelsAlone compares certificates by evidences of models with the exact sum. Evidences
// estimated by draws around modes are used in a sum over all models, and in weights of models that
// are drawn from a distribution fitted to chains. Evidences in closed form are used in such weights
// only. 22 inclusion probabilities and log evidences are compared to 4.5 standard errors: one false
// alarm in 7,000 runs.
func TestModelsAlone(t *testing.T) {
	testkit.Slow(t)
	conjugate := newConjugate(30, 6)
	want, err := untrained(t, exactConjugate{conjugate: conjugate}, nil).Certify(t.Context(), vti.CertifyConfig{})
	require.NoError(t, err)
	in := func(code []int32) (sites []int) {
		for site, bit := range code {
			if bit == 1 {
				sites = append(sites, site)
			}
		}
		return sites
	}
	inclusion, _ := want.Frequencies(6, in)
	check := func(name string, c *vti.Certificate, err error) {
		t.Helper()
		require.NoError(t, err, name)
		require.Equal(t, vti.Trusted, c.Verdict, "%s: %v", name, c.Reasons)
		require.Equal(t, vti.Weights, c.Basis, name)
		require.Positive(t, c.LogEvidenceSE, name)
		require.InDelta(t, want.LogEvidence, c.LogEvidence, 4.5*c.LogEvidenceSE, name)
		got, se := c.Frequencies(6, in)
		for site := range inclusion {
			require.Positive(t, se[site], name)
			require.InDelta(t, inclusion[site], got[site], 4.5*se[site], "%s, site %d", name, site)
		}
		// means of the weighted draws, compared with the errors of about 20,000 effective draws
		wantColumn, column := mat.Col(nil, 0, want.Sample.Theta), mat.Col(nil, 0, c.Sample.Theta)
		require.InDelta(t, stat.Mean(wantColumn, nil), stat.Mean(column, c.Sample.Weight), 6*stat.StdDev(wantColumn, nil)/math.Sqrt(20000), name)
	}
	estimated := untrained(t, laplaceConjugate{conjugate: conjugate}, nil)
	c, err := estimated.Certify(t.Context(), vti.CertifyConfig{})
	check("sum of estimates", c, err)
	require.True(t, c.Complete)
	c, err = estimated.CertifyModelsByChains(t.Context(), vti.CertifyConfig{})
	check("estimates, by chains", c, err)
	require.True(t, c.Confirmed)
	c, err = untrained(t, exactConjugate{conjugate: conjugate}, coins{0}).CertifyModelsByChains(t.Context(), vti.CertifyConfig{})
	check("exact, by chains, with a q(m) that never proposes the best models", c, err)
	again, err := estimated.CertifyModelsByChains(t.Context(), vti.CertifyConfig{})
	require.NoError(t, err)
	first, err := untrained(t, laplaceConjugate{conjugate: conjugate}, nil).CertifyModelsByChains(t.Context(), vti.CertifyConfig{})
	require.NoError(t, err)
	require.Equal(t, first.LogEvidence, again.LogEvidence, "what was certified before does not matter")

	// After the time limit chains are short and draws are few, but the answer is still right.
	cfg := vti.CertifyConfig{Draws: 1 << 14}
	whole, err := estimated.CertifyModelsByChains(t.Context(), cfg)
	require.NoError(t, err)
	hurried, err := estimated.CertifyModelsByChains(t.Context(), cfg.Preliminary(true))
	require.NoError(t, err)
	require.Less(t, hurried.Draws, whole.Draws)
	require.InDelta(t, want.LogEvidence, hurried.LogEvidence, 4.5*hurried.LogEvidenceSE)
}
