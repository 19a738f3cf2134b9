package likelihood

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ExampleNew() {
	kind, err := Parse("student")
	if err != nil {
		panic(err)
	}
	l := New(kind, Shape{Degrees: 4})
	y, eta, sigma := 2.0, 0.5, 1.0
	fmt.Printf("%.4f\n", l.LogKernelAt(y, eta, sigma)+l.LogConstant(y))
	fmt.Println(kind.Link(), kind.Continuous(), kind.Conjugate())
	// Output:
	// -2.0965
	// identity true false
}

func TestKindNames(t *testing.T) {
	for _, kind := range Kinds() {
		parsed, err := Parse(kind.String())
		require.NoError(t, err)
		require.Equal(t, kind, parsed)
		text, err := kind.MarshalText()
		require.NoError(t, err)
		require.NoError(t, parsed.UnmarshalText(text))
	}
	_, err := Parse("cauchy")
	require.EqualError(t, err, `unknown likelihood "cauchy"; want gaussian, robust, student, logistic, poisson, negbinomial, zero-inflated-poisson, hurdle-poisson, gamma, lognormal, beta, exponential, weibull, cumulative-logit, cumulative-probit or categorical`)
	require.Equal(t, "likelihood.Kind(99)", Kind(99).String())
	require.Panics(t, func() { New(Kind(99), Shape{}) })
	require.Equal(t, "Link(9)", Link(9).String())
}

func TestExpectedResponses(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		y    float64
		want string
	}{
		{GaussianKind, -1.5, ""}, {RobustKind, 1e300, ""}, {StudentKind, math.NaN(), "a number"}, {GaussianKind, math.Inf(1), "a number"},
		{LogisticKind, 0, ""}, {LogisticKind, 1, ""}, {LogisticKind, 2, "0 or 1"}, {LogisticKind, 0.5, "0 or 1"},
		{PoissonKind, 0, ""}, {PoissonKind, 1e9, ""}, {PoissonKind, -1, "a count (0, 1, 2, …)"}, {PoissonKind, 1.5, "a count (0, 1, 2, …)"},
		{PoissonKind, math.Inf(1), "a count (0, 1, 2, …)"}, {NegativeBinomialKind, 0.5, "a count (0, 1, 2, …)"}, {HurdleKind, 0, ""},
		{GammaKind, 0, "a positive number"}, {GammaKind, 1e-300, ""}, {LogNormalKind, math.Inf(1), "a positive number"},
		{BetaKind, 0, "a number between 0 and 1"}, {BetaKind, 1, "a number between 0 and 1"}, {BetaKind, 0.3, ""},
		{WeibullKind, -1, "a positive number"}, {ExponentialKind, 2, ""},
		{BetaKind, 5e-324, "a number of at least 2.3e-308"}, {GammaKind, 1e-310, "a number of at least 2.3e-308"}, {PoissonKind, 5e-324, "a count (0, 1, 2, …)"},
	} {
		assert.Equal(t, c.want, c.kind.Expected(c.y), "%v %v", c.kind, c.y)
	}
}

// The test checks that links are increasing, and that the mean at the η that Linear returns for a
// response is near the response.
func TestLinks(t *testing.T) {
	for _, link := range []Link{IdentityLink, LogitLink, LogLink, ProbitLink} {
		for eta := -5.0; eta < 5; eta += 0.5 {
			assert.Less(t, link.Mean(eta), link.Mean(eta+0.5), link)
		}
	}
	assert.Equal(t, 3.0, IdentityLink.Mean(IdentityLink.Linear(3)))
	assert.InDelta(t, 7.5, LogLink.Mean(LogLink.Linear(7)), 1e-12)
	assert.InDelta(t, 0.88, LogitLink.Mean(LogitLink.Linear(1)), 0.01)
	assert.InDelta(t, 0.12, LogitLink.Mean(LogitLink.Linear(0)), 0.01)
}
