package likelihood

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/enum"
)

// Kind is a kind of likelihood of a response y with linear predictor η. Below, σ is a noise scale,
// α and k are shapes, φ is a precision and ω are odds, each the positive parameter that Scale
// names. [Shape] holds ε, κ and ν.
type Kind int

const (
	// GaussianKind: y ~ N(η, σ²).
	GaussianKind Kind = iota
	// RobustKind: y ~ (1−ε) N(η, σ²) + ε N(η, (κσ)²), as in equation 20 of the VTI paper, except
	// that both normals have the mean η.
	RobustKind
	// StudentKind: (y−η)/σ has a Student t distribution with ν degrees of freedom.
	StudentKind
	// LogisticKind: y is 1 with probability 1/(1+exp(−η)), else 0.
	LogisticKind
	// PoissonKind: y is a count with mean exp(η).
	PoissonKind
	// NegativeBinomialKind: y is a count with mean μ = exp(η) and variance μ + μ²/φ.
	NegativeBinomialKind
	// ZeroInflatedKind: y is 0 with probability ω/(1+ω), else a Poisson count with mean exp(η).
	ZeroInflatedKind
	// HurdleKind: y is 0 with probability ω/(1+ω), else a nonzero Poisson count with rate exp(η).
	HurdleKind
	// GammaKind: y has a gamma distribution with mean exp(η) and shape α.
	GammaKind
	// LogNormalKind: log y ~ N(η, σ²).
	LogNormalKind
	// BetaKind: y is a share between 0 and 1 with mean μ = 1/(1+exp(−η)), y ~ Beta(μφ, (1−μ)φ).
	BetaKind
	// ExponentialKind: y is a time with mean exp(η) and constant hazard. A time that is only known
	// to be longer than t is written as y = −t.
	ExponentialKind
	// WeibullKind: y is a time with mean exp(η) and a hazard in proportion to time^(k−1). A time
	// that is only known to be longer than t is written as y = −t.
	WeibullKind
	// CumulativeLogitKind: y is one of K ordered categories, with P(y ≤ k) = 1/(1+exp(η−c_k)) for
	// cut points c_k. Its distribution is one of [Categories].
	CumulativeLogitKind
	// CumulativeProbitKind: y is one of K ordered categories, with P(y ≤ k) = Φ(c_k−η) for cut
	// points c_k. Its distribution is one of [Categories].
	CumulativeProbitKind
	// CategoricalKind: y is one of K categories without an order, whose probabilities are a softmax
	// with K−1 linear predictors. Its distribution is one of [Categories].
	CategoricalKind
)

// Names of the parameters of a kind beside η.
const (
	sigma     = "sigma"     // σ
	shapeName = "shape"     // φ, α and k
	precision = "precision" // φ of BetaKind
	zeroOdds  = "zero odds" // ω
)

// row describes a kind in the table kinds.
type row struct {
	name string
	link Link
	// scale is the name of the positive parameter beside η; "" for none.
	scale string
	// expected describes valid responses. valid reports whether a finite number is valid.
	expected string
	valid    func(y float64) bool
	make     func(Shape) Likelihood // nil for kinds with categories, which NewCategories makes
}

var kinds = [...]row{
	GaussianKind:         {"gaussian", IdentityLink, sigma, "a number", isFinite, func(Shape) Likelihood { return gaussian{} }},
	RobustKind:           {"robust", IdentityLink, sigma, "a number", isFinite, newRobust},
	StudentKind:          {"student", IdentityLink, sigma, "a number", isFinite, newStudent},
	LogisticKind:         {"logistic", LogitLink, "", "0 or 1", isBinary, func(Shape) Likelihood { return logistic{} }},
	PoissonKind:          {"poisson", LogLink, "", counted, isCount, func(Shape) Likelihood { return poisson{} }},
	NegativeBinomialKind: {"negbinomial", LogLink, shapeName, counted, isCount, func(Shape) Likelihood { return negativeBinomial{} }},
	ZeroInflatedKind:     {"zero-inflated-poisson", LogLink, zeroOdds, counted, isCount, func(Shape) Likelihood { return zeroInflated{} }},
	HurdleKind:           {"hurdle-poisson", LogLink, zeroOdds, counted, isCount, func(Shape) Likelihood { return hurdle{} }},
	GammaKind:            {"gamma", LogLink, shapeName, "a positive number", isPositive, func(Shape) Likelihood { return gamma{} }},
	LogNormalKind:        {"lognormal", IdentityLink, sigma, "a positive number", isPositive, func(Shape) Likelihood { return logNormal{} }},
	BetaKind:             {"beta", LogitLink, precision, "a number between 0 and 1", isShare, func(Shape) Likelihood { return beta{} }},
	ExponentialKind:      {"exponential", LogLink, "", "a positive number", isPositive, func(Shape) Likelihood { return weibull{constant: true} }},
	WeibullKind:          {"weibull", LogLink, shapeName, "a positive number", isPositive, func(Shape) Likelihood { return weibull{} }},
	CumulativeLogitKind:  {"cumulative-logit", LogitLink, "", category, isCount, nil},
	CumulativeProbitKind: {"cumulative-probit", ProbitLink, "", category, isCount, nil},
	CategoricalKind:      {"categorical", LogitLink, "", category, isCount, nil},
}

const (
	counted  = "a count (0, 1, 2, …)"
	category = "a category"
)

func isFinite(y float64) bool { return !math.IsNaN(y) && !math.IsInf(y, 0) }
func isBinary(y float64) bool { return y == 0 || y == 1 }
func isCount(y float64) bool  { return y >= 0 && y == math.Trunc(y) && isFinite(y) }
func isShare(y float64) bool  { return y >= leastPositive && y < 1 }

func isPositive(y float64) bool { return y >= leastPositive && isFinite(y) }

// leastPositive is the least number that float64 holds with all its digits. Smaller numbers are no
// valid responses: on amd64 math.Log(5e-324) is off by 35, which would be an error of the evidence.
const leastPositive = 0x1p-1022

// Kinds returns all kinds.
func Kinds() []Kind {
	return apply.UpTo(len(kinds), func(k int) Kind { return Kind(k) })
}

var names = enum.New[Kind]("likelihood", apply.To(kinds[:], func(r row) string { return r.name })...)

// Parse reads the name of a kind.
func Parse(name string) (Kind, error) { return names.Parse(name) }

// String returns the name that [Parse] reads.
func (k Kind) String() string { return names.String(k) }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return names.Marshal(k) }

// UnmarshalText reads the text that MarshalText writes.
func (k *Kind) UnmarshalText(text []byte) error { return names.Unmarshal(text, k) }

// Link returns the link between η and the mean of the response.
func (k Kind) Link() Link { return kinds[k].link }

// Continuous reports whether the response, or its logarithm if Logarithmic, is a real number that
// may be shifted and scaled, with a noise scale σ.
func (k Kind) Continuous() bool { return kinds[k].link == IdentityLink }

// Logarithmic reports whether Working is the distribution of the logarithm of the response.
func (k Kind) Logarithmic() bool { return k == LogNormalKind }

// Working returns the kind of the fitted response. For a logarithmic kind this is the kind of the
// response's logarithm.
func (k Kind) Working() Kind {
	if k.Logarithmic() {
		return GaussianKind
	}
	return k
}

// Scale returns the name of the positive parameter beside η: the noise scale "sigma", a "shape", a
// "precision" or "zero odds", and "" if there is none.
func (k Kind) Scale() string { return kinds[k].scale }

// ScaleSD returns the standard deviation of the vague normal prior of the logarithm of the
// parameter that Scale names. The mean of the prior is 0 or, for a noise scale, the log of the
// response's sd.
func (k Kind) ScaleSD() float64 {
	switch kinds[k].scale {
	case shapeName, precision:
		return 3
	}
	return 2
}

// Discrete reports whether responses are whole numbers whose densities are probabilities.
func (k Kind) Discrete() bool {
	return k == LogisticKind || kinds[k].expected == counted || k.HasCategories()
}

// HasCategories reports whether the response is one of several categories: see [NewCategories].
func (k Kind) HasCategories() bool { return kinds[k].expected == category }

// Ordered reports whether the response is one of several categories in order.
func (k Kind) Ordered() bool { return k == CumulativeLogitKind || k == CumulativeProbitKind }

// Binary reports whether the response is 0 or 1.
func (k Kind) Binary() bool { return k == LogisticKind }

// Survival reports whether the response is a time. A negative response stands for a lower bound.
func (k Kind) Survival() bool { return k == ExponentialKind || k == WeibullKind }

// HasUnit reports whether the response is positive and has a unit, whose change only shifts η.
func (k Kind) HasUnit() bool { return k == GammaKind || k == ExponentialKind || k == WeibullKind }

// widestLogOffset is the largest accepted difference between two offsets on the log scale. It is a
// factor of 2e17 between the exposures of two rows.
const widestLogOffset = 40

// CheckOffset returns an error if offsets are added to the logarithm of the mean and differ by so
// much that they must be exposures instead of logarithms of exposures. offset [n] may be nil, and
// name is its name in the error.
func (k Kind) CheckOffset(name string, offset []float64) error {
	if offset == nil || k.Link() != LogLink {
		return nil
	}
	low, high := slices.Min(offset), slices.Max(offset)
	if high-low <= widestLogOffset {
		return nil
	}
	return fmt.Errorf("the offset %s is added to the logarithm of the mean, and is from %.4g to %.4g: got a factor of e^%.0f between rows, want at most e^%d; for exposures write log(%s)", name, low, high, high-low, widestLogOffset, name)
}

// Centre returns the η at the centre of the prior of an intercept. For a response with a unit it is
// the mean of log y − offset, and otherwise 0. offset may be nil.
func (k Kind) Centre(y, offset []float64) (centre float64) {
	if !k.HasUnit() {
		return 0
	}
	for i, v := range y {
		centre += math.Log(math.Abs(v)) / float64(len(y)) // −y is a lower bound of a time
		if offset != nil {
			centre -= offset[i] / float64(len(y))
		}
	}
	return centre
}

// Conjugate reports whether the response or its logarithm is normal given σ, so that coefficients
// with normal priors can be integrated out in closed form.
func (k Kind) Conjugate() bool { return k.Working() == GaussianKind }

// HeavyTails reports whether the likelihood has heavy tails. Different rows can then be the
// outliers, so that the posterior of coefficients can have several modes.
func (k Kind) HeavyTails() bool { return k == RobustKind || k == StudentKind }

// LogConcave reports whether the log density is a concave function of η, or of all linear
// predictors of a response. With normal priors the posterior of coefficients then has a single mode
// given the other parameter of the response.
func (k Kind) LogConcave() bool {
	switch k {
	case LogisticKind, PoissonKind, NegativeBinomialKind, HurdleKind, GammaKind, ExponentialKind, WeibullKind,
		CumulativeLogitKind, CumulativeProbitKind, CategoricalKind:
		return true
	}
	return false
}

// Expected returns a description of valid responses if y is invalid, and "" if y is valid.
func (k Kind) Expected(y float64) string {
	if kinds[k].valid(y) {
		return ""
	}
	if y > 0 && y < leastPositive && kinds[k].valid(leastPositive) {
		return "a number of at least 2.3e-308"
	}
	return kinds[k].expected
}

// Shape holds the parameters of a likelihood beside η and σ. A kind ignores other parameters.
type Shape struct {
	// Degrees are the degrees of freedom ν of StudentKind; 0 stands for 4.
	Degrees float64
	// Outlier is the share ε of outliers of RobustKind, between 0 and 1, and Ratio their noise
	// scale κ in units of σ. 0 stands for 0.1 and 10, as in table 2 of the VTI paper.
	Outlier, Ratio float64
}

// New returns the likelihood of a kind. It panics for an unknown kind, or one with categories (see
// [NewCategories]).
func New(k Kind, shape Shape) Likelihood {
	if k < 0 || int(k) >= len(kinds) || kinds[k].make == nil {
		panic(fmt.Sprintf("likelihood.New: no likelihood of kind %s", k))
	}
	shape.Degrees, shape.Outlier, shape.Ratio = cmp.Or(shape.Degrees, 4), cmp.Or(shape.Outlier, 0.1), cmp.Or(shape.Ratio, 10)
	return kinds[k].make(shape)
}
