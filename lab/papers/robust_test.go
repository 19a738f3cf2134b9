package papers

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
)

// TestFillModels compares cross-entropies of coefficients, their excess over the entropy, and gains
// over equal probabilities with values computed by hand, for two models of one predictor.
func TestFillModels(t *testing.T) {
	found := &reference{Models: map[string]float64{"0": 0.75, "1": 0.25}}
	q := map[string]float64{"0": 0.5, "1": 0.5}
	var logQ []float64
	for range 3 * fewestDraws {
		found.Codes, found.LogP = append(found.Codes, []int32{0}), append(found.LogP, math.Log(0.75)-1)
		logQ = append(logQ, math.Log(0.5)-1.5)
	}
	for range fewestDraws {
		found.Codes, found.LogP = append(found.Codes, []int32{1}), append(found.LogP, math.Log(0.25)-2)
		logQ = append(logQ, math.Log(0.5)-4)
	}
	c := &comparison{}
	c.fillModels(found, q, logQ)
	require.InDelta(t, 0.5*0.75+2*0.25, c.within.mean, 1e-12)
	require.InDelta(t, 0, c.modelGain.mean, 1e-12)
	require.Len(t, c.models, 2)
	require.Equal(t, "0", c.models[0].bits)
	require.InDelta(t, 1.5, c.models[0].nats, 1e-12)
	require.InDelta(t, 4, c.models[1].nats, 1e-12)
	require.InDelta(t, 2, c.models[1].excess, 1e-12)
	require.InDelta(t, 0.25, variation(q, found.Models), 1e-12)

	rows := []Row{{"models": modelsText(c.models)}}
	read := modelsOf(rows[0])
	require.Len(t, read, 2)
	require.Equal(t, modelFit{bits: "1", reference: 0.25, q: 0.5, nats: 4}, read[1])
}

// TestModelsUnder compares the probabilities of models under q that modelsUnder finds from draws
// with exact ones. The tolerance is about the largest probability of a model that is never drawn.
func TestModelsUnder(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	l := &Lab{Device: device}
	_, posterior, err := l.train(t.Context(), fit{robust{"none", "focused", 3, 1}, "categorical", "affine", 30, 16, 0})
	require.NoError(t, err)
	q, err := modelsUnder(posterior, allModels(3))
	require.NoError(t, err)
	require.Len(t, q, 8)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1, NoChains: true})
	require.NoError(t, err)
	sum := 0.0
	for _, m := range certificate.Models {
		require.InDelta(t, m.Q, q[bitsOf(m.Code)], 1e-5)
		sum += q[bitsOf(m.Code)]
	}
	require.InDelta(t, 1, sum, 1e-5)
}

// TestStartDensity compares startDensity, the density q(m, θ) at the start of training, with values
// computed by hand: models are equally probable, and coefficients in the model standard normal.
func TestStartDensity(t *testing.T) {
	want := -math.Ln2 - 0.5 - math.Log(2*math.Pi)/2
	require.InDelta(t, want, startDensity([]int32{0}, []float64{1, 0}), 1e-12)
	require.InDelta(t, want-2-math.Log(2*math.Pi)/2, startDensity([]int32{1}, []float64{1, 2}), 1e-12)
}

// TestLongest checks that longest returns, of rows that differ in steps only, the row with most
// steps.
func TestLongest(t *testing.T) {
	rows := []Row{
		{"level": "none", "flow": "diag", "steps": "100", "variation": "0.5"}, {"level": "none", "flow": "diag", "steps": "2000", "variation": "0.25"},
		{"level": "none", "flow": "affine", "steps": "100", "variation": "0.125"},
	}
	best := longest(rows)
	require.Len(t, best, 2)
	require.Equal(t, "0.25", best[0]["variation"])
	require.Equal(t, "0.188 (2)", average(best, "variation", 3))
	require.Equal(t, "100 to 2000", span(best, "steps"))
	require.Equal(t, "7.1e+07", short(70832769.4, 2))
}
