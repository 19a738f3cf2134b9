package regression

import (
	"context"
	"math"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// Certified probabilities and evidences of the six probable models of the radon formula agree with
// quadrature over their hyperparameters. The other six have probabilities below 1e-12.
func TestSelectionAgreesWithEnumeration(t *testing.T) {
	testkit.Long(t)
	r := newRegression(t, frameOfFile(t, "radon.csv", frame.Options{Formula: "log_radon ~ floor + log_uppm + (1 + floor | county)"}), Options{Select: true})
	device, err := gpu.Open(gpu.Auto)
	require.NoError(t, err)
	defer device.Close()
	ctx := context.Background()
	require.NoError(t, r.Prepare(ctx, device))
	posterior, err := vti.Fit(ctx, device, r.Target(), vti.Config{Steps: 200, Batch: 512, Flow: cosmic.Config{Kind: cosmic.Spline, Layers: 3}, Seed: 1})
	require.NoError(t, err)
	certificate, err := posterior.Certify(ctx, vti.CertifyConfig{})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	require.Len(t, certificate.Models, 12)

	// all other models are less probable by e^18 or more, and their quadrature takes long
	likely := certificate.Models[:6]
	assert.Less(t, certificate.Models[6].Certified, 1e-12)
	exact, logMass := make([]float64, len(likely)), make([]float64, len(likely))
	for i, model := range likely {
		exact[i] = quadratureEvidence(t, r, model.Code, 7)
		logMass[i] = exact[i] + r.space.logPrior[space.Encode(r.space.cards, model.Code)]
	}
	total := logsum.Of(logMass)
	for i, model := range likely {
		probability := math.Exp(logMass[i] - total)
		// The quadrature with seven nodes has an error of up to 0.05 nats where the standard
		// deviation of a slope is nearly zero.
		assert.InDelta(t, probability, model.Certified, 5*model.SE+0.02, r.FormulaOf(model.Code))
		assert.InDelta(t, exact[i], model.LogEvidence+r.LogJacobian(), 5*model.LogEvidenceSE+0.05, r.FormulaOf(model.Code))
	}
	assert.Equal(t, "log_radon ~ 1 + floor + log_uppm + (1 + floor | county)", r.FormulaOf(certificate.Models[0].Code))
}

// A selection has a question for each term, such as whether a model has it and by which groups it
// varies. The test compares the possible answers with a list, and counts the models with positive
// prior: an interaction needs both of its terms.
func TestQuestions(t *testing.T) {
	r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ x*z + (1 + x | g) + (x | h) + (0 + z | g)"}), Options{Select: true, Models: space.Prior{Kind: space.BernoulliPrior, Pi: 0.5}})
	states := map[string][]string{}
	for _, q := range r.questions {
		for outcome := range q.outcomes() {
			states[q.name] = append(states[q.name], q.state(int32(outcome), r.groups))
		}
	}
	assert.Equal(t, map[string][]string{
		"(Intercept)": {"pooled", "varying by g", "varying by h", "varying by g and h"},
		"x":           {"absent", "pooled", "varying by g", "varying by h", "varying by g and h"},
		"z":           {"absent", "pooled", "varying by g"},
		"x:z":         {"absent", "pooled"},
	}, states)
	allowed := 0
	for index, code := range r.codes() {
		if math.IsInf(r.space.logPrior[index], -1) {
			assert.Contains(t, r.FormulaOf(code), "x:z")
			continue
		}
		allowed++
	}
	assert.Equal(t, 4*5*3+4*4*2, allowed, "the interaction needs x and z")
	assert.Equal(t, "y ~ 1", r.FormulaOf(make([]int32, 4)))
	full := r.codes()[len(r.codes())-1]
	assert.Equal(t, "y ~ 1 + x + z + x:z + (1 + x | g) + (1 + x | h) + (0 + z | g)", r.FormulaOf(full))
	probability := func(event func(code []int32) bool) (sum float64) {
		for index, code := range r.codes() {
			if event(code) {
				sum += math.Exp(r.space.logPrior[index])
			}
		}
		return sum
	}
	in := probability(func(code []int32) bool { return r.has(code, r.questions[1].term) })
	assert.InDelta(t, probability(func(code []int32) bool {
		return r.has(code, r.questions[1].term) && r.varies(code, r.questions[1].term, 1)
	}), in/2, 1e-12)

	// The common probability of decisions of a kind is uniform on (0, 1), so that n times yes in k
	// decisions has the probability 1 / ((k + 1) C(k, n)). Of x, z and x:z one or two are in; the
	// intercept and x could vary by two groups each, and z, if in, by one.
	common := newRegression(t, r.Frame, Options{Select: true})
	one, two := common.space.logPrior[common.index([]int32{0, 1, 0, 0})], common.space.logPrior[common.index([]int32{0, 1, 1, 0})]
	assert.InDelta(t, math.Log(1./4/3/5)-math.Log(1./4/3/6), one-two, 1e-12)

	alone := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ 1 + (0 + x | g)"}), Options{Select: true})
	require.Len(t, alone.questions, 1)
	assert.Equal(t, "absent", alone.questions[0].state(0, alone.groups))
	_, err := New(frameOf(t, grouped18, frame.Options{Formula: "y ~ 1"}), Options{Select: true})
	require.ErrorContains(t, err, "no term to select")
}

func TestRegressionOptions(t *testing.T) {
	f := frameOf(t, grouped18, frame.Options{Formula: "y ~ x"})
	for want, opt := range map[string]Options{
		"coefficient scale: got -1, want a positive number":          {CoefficientScale: -1},
		"degrees of freedom: got +Inf, want a positive":              {Degrees: math.Inf(1)},
		"got the prior of standard deviations regression.SDPrior(7)": {SDPrior: 7},
	} {
		_, err := New(f, opt)
		require.ErrorContains(t, err, want)
	}
	for p := HalfNormalSD; p <= ExponentialSD; p++ {
		text, err := p.MarshalText()
		require.NoError(t, err)
		var back SDPrior
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, p, back)
	}
	err := new(SDPrior).UnmarshalText([]byte("flat"))
	require.ErrorContains(t, err, "want half-normal, half-cauchy or exponential")
	lines := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ x + (1 + x | g)"}), Options{Select: true}).Priors()
	require.Len(t, lines, 7)
	require.Contains(t, lines[3], "sd of (Intercept) by g: ~ half-normal(1.863)")
}
