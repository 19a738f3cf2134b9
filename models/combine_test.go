package models

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
)

// Evidences in closed form give exact probabilities, standard errors of 0, infinitely many
// effective draws and a trusted verdict. A model of prior probability 0 has probability 0.
func TestClosedForms(t *testing.T) {
	logPrior, evidence := []float64{math.Log(0.5), math.Log(0.5), math.Inf(-1)}, []Evidence{Closed(math.Log(3)), Closed(0), Closed(100)}
	s := Combine(logPrior, evidence)
	require.InDeltaSlice(t, []float64{0.75, 0.25, 0}, s.Probability, 1e-15)
	require.InDelta(t, math.Log(2), s.LogEvidence, 1e-15)
	require.Equal(t, []float64{0, 0, 0}, s.SE)
	require.Zero(t, s.LogEvidenceSE)
	require.Zero(t, s.Missed)
	require.True(t, math.IsInf(s.ESS, 1))
	require.Equal(t, verdict.Trusted, CertificateOf([][]int32{{0}, {1}, {2}}, logPrior, evidence).Verdict)
}

// A sum is exact only if all of its evidences are. Beside a closed form, a model whose draws all
// have weight 0 has no standard error and may still hold most of the probability, as may a model
// with an unknown evidence. If all evidences are 0, no model has a probability.
func TestSumsThatAreNotExact(t *testing.T) {
	for name, evidence := range map[string][]Evidence{
		"no weight": {Closed(0), {Log: math.Inf(-1), KHat: math.Inf(1), Draws: 1000, Bound: 3}},
		"no bound":  {Closed(0), {Log: math.Inf(-1), KHat: math.Inf(1), Draws: 1000, Bound: math.Inf(1)}},
		"unknown":   {Closed(0), {Log: math.NaN(), KHat: math.NaN(), ESS: math.Inf(1), Bound: math.Inf(1)}},
		"all zero":  {Closed(math.Inf(-1)), Closed(math.Inf(-1))},
	} {
		c := CertificateOf([][]int32{{0}, {1}}, []float64{math.Log(0.5), math.Log(0.5)}, evidence)
		require.NotEqual(t, Trusted, c.Verdict, name)
	}
}

// The test estimates three evidences by importance weights of known means, 400 times. The z-scores
// of probabilities and log evidence must have standard deviation 1, and ESS must equal the
// effective number (Kish 1965) of the draws of all models together.
func TestErrorsOfWeights(t *testing.T) {
	const studies, draws = 400, 2000
	random := rand.New(rand.NewPCG(1, 2))
	logPrior := []float64{math.Log(0.2), math.Log(0.5), math.Log(0.3)}
	truth := []float64{0, -0.3, 0.4}
	spread := []float64{0.3, 0.6, 0.9} // standard deviation of the log weights
	want := Combine(logPrior, []Evidence{Closed(truth[0]), Closed(truth[1]), Closed(truth[2])})
	var z, zEvidence []float64
	for range studies {
		var evidence []Evidence
		var joint []float64
		for m, s := range spread {
			logs := make([]float64, draws)
			for i := range logs {
				logs[i] = truth[m] + s*random.NormFloat64() - s*s/2
			}
			smoothed := psis.Smooth(logs)
			for _, l := range smoothed.LogWeights {
				joint = append(joint, logPrior[m]+l)
			}
			evidence = append(evidence, FromWeights(smoothed))
		}
		got := Combine(logPrior, evidence)
		for m := range spread {
			z = append(z, (got.Probability[m]-want.Probability[m])/got.SE[m])
		}
		zEvidence = append(zEvidence, (got.LogEvidence-want.LogEvidence)/got.LogEvidenceSE)
		total := floats.LogSumExp(joint)
		squares := 0.0
		for _, l := range joint {
			squares += math.Exp(2 * (l - total))
		}
		require.InEpsilon(t, 1/squares, got.ESS, 1e-9)
		require.Equal(t, 3*draws, got.Draws)
	}
	// The standard deviation of 400 z-scores has a standard error of 0.035; for 1,200 correlated
	// z-scores this error is smaller. The limit is four standard errors: one false alarm in 16,000
	// runs.
	require.InDelta(t, 1, stat.StdDev(z, nil), 0.14)
	require.InDelta(t, 1, stat.StdDev(zEvidence, nil), 0.14)
}

// Models whose k̂ is larger than the k̂ of the sum together hold at most a tenth of the
// probability. A model with unreliable weights counts with the upper bound of its evidence.
func TestTypicalKHat(t *testing.T) {
	require.Equal(t, 0.3, TypicalKHat([]float64{0.3, 0.9, -0.1}, []float64{0.6, 0.09, 0.31}))
	require.Equal(t, 0.9, TypicalKHat([]float64{0.3, 0.9, -0.1}, []float64{0.6, 0.11, 0.29}))
	require.True(t, math.IsNaN(TypicalKHat([]float64{math.NaN(), 0.9}, []float64{0.95, 0.05})), "most of it has no weights")
	require.True(t, math.IsInf(TypicalKHat(nil, nil), 1))

	half := math.Log(0.5)
	good := Evidence{KHat: 0.1, Draws: 4000, ESS: 2000, Bound: math.Inf(-1)}
	bad := Evidence{Log: -9, KHat: 0.9, Draws: 4000, ESS: 20, Bound: math.Inf(-1)}
	require.Equal(t, 0.1, Combine([]float64{half, half}, []Evidence{good, bad}).KHat)
	bad.Bound = -2
	require.Equal(t, 0.9, Combine([]float64{half, half}, []Evidence{good, bad}).KHat)
}

// A model whose draws have no weight has probability 0 and does not change the errors of the other
// models. If the error of a model of positive probability is unknown, the answer's is too.
func TestUnknownEvidences(t *testing.T) {
	half := math.Log(0.5)
	none := Evidence{Log: math.Inf(-1), SE: math.NaN(), KHat: math.Inf(1), Draws: 10, Bound: math.Inf(-1)}
	s := Combine([]float64{half, half}, []Evidence{Estimated(0, 0.1, 50), none})
	require.Equal(t, []float64{1, 0}, s.Probability)
	require.InDelta(t, Estimated(0, 0.1, 50).statedSE(), s.LogEvidenceSE, 1e-15)
	c := CertificateOf([][]int32{{0}, {1}}, []float64{half, half}, []Evidence{Estimated(0, 0.1, 50), Estimated(0, math.NaN(), 1)})
	require.Equal(t, verdict.Failed, c.Verdict)
}

// The test estimates 2,000 evidences, each from eight draws of known mean weight. At most one log
// evidence in 200 may be more than three times statedSE off (with SE it is one in 40). A model with
// unreliable weights gets a standard error from the bound of its evidence, at most mostBound.
func TestErrorsOfNegligibleModels(t *testing.T) {
	random := stream.Rand(1, "few")
	const tables = 2000
	far := 0
	for range tables {
		logWeights := make([]float64, firstDraws)
		for i := range logWeights {
			logWeights[i] = 0.28 * math.Log(random.ExpFloat64())
		}
		logGamma, _ := math.Lgamma(1.28) // the log of the expected weight
		if e := estimateOf(logWeights); math.Abs(e.Log-logGamma) > 3*e.statedSE() {
			far++
		}
	}
	require.Less(t, far, tables/200)
	many := Estimated(0, 0.002, 20000)
	require.InDelta(t, many.SE, many.statedSE(), 1e-6)
	require.Zero(t, Closed(0).statedSE())

	codes := [][]int32{{0}, {1}}
	half := math.Log(0.5)
	lost := Evidence{Log: -90, SE: 1, KHat: 1.2, Draws: 256, Bound: -20}
	c := CertificateOf(codes, []float64{half, half}, []Evidence{{SE: 0.001, KHat: 0.1, Draws: 4000, ESS: 2000, Bound: math.Inf(-1)}, lost})
	_, se := c.Probability(func(code []int32) bool { return code[0] == 1 })
	require.InEpsilon(t, math.Exp(-20), se, 1e-6)
	lost.Bound = -5
	c = CertificateOf(codes, []float64{half, half}, []Evidence{{SE: 0.001, KHat: 0.1, Draws: 4000, ESS: 2000, Bound: math.Inf(-1)}, lost})
	require.Equal(t, mostBound, c.Models[1].SE)
}

func TestEffectiveOf(t *testing.T) {
	require.Equal(t, 50.0, EffectiveOf(100, 100))
	require.Equal(t, 100.0, EffectiveOf(math.Inf(1), 100))
}

// Three models of equal prior probability have the evidences 1, 3 and unknown. If the unknown
// evidence has no bound it counts as 3, so that Missed is 3/7. Missed is 0 if it has a bound or
// reliable weights, or if the prior excludes the model.
func TestUnbounded(t *testing.T) {
	third := math.Log(1.0 / 3)
	logPrior := []float64{third, third, third}
	good := Evidence{KHat: 0.1, Draws: 4000, ESS: 2000, Bound: math.Inf(-1)}
	lost := Evidence{Log: math.Inf(-1), KHat: math.Inf(1), Draws: 100, Bound: math.Inf(-1)}
	other := good
	other.Log = math.Log(3)
	require.Zero(t, Combine(logPrior, []Evidence{good, other, lost}).Missed, "a bound that is zero")
	lost.Bound = math.Inf(1)
	got := Combine(logPrior, []Evidence{good, other, lost})
	require.InDelta(t, 3.0/7, got.Missed, 1e-12)
	require.InDelta(t, 0.1, got.KHat, 0)
	lost.KHat = 0.5
	require.Zero(t, Combine(logPrior, []Evidence{good, other, lost}).Missed, "weights resolve it")
	logPrior[2], lost.KHat = math.Inf(-1), math.Inf(1)
	require.Zero(t, Combine(logPrior, []Evidence{good, other, lost}).Missed, "the prior excludes it")
}
