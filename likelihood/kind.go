package likelihood

import (
	"fmt"
	"math"
	"strings"
)

// Kind names a likelihood.
type Kind int

const (
	// GaussianKind: y ~ N(η, σ²).
	GaussianKind Kind = iota
	// RobustKind: y ~ (1−ε) N(η, σ²) + ε N(η, (κσ)²), the mixture of equation 20 with the mean
	// inside both normals.
	RobustKind
	// StudentKind: (y−η)/σ has a Student t distribution with ν degrees of freedom.
	StudentKind
	// LogisticKind: y is 1 with probability 1/(1+exp(−η)), else 0.
	LogisticKind
	// PoissonKind: y is a count with mean exp(η).
	PoissonKind
)

// row is what is known of a kind before its shape is.
type row struct {
	name string
	link Link
	// scaled reports whether the response is continuous, with a noise scale.
	scaled bool
	// expected describes valid responses, and valid reports whether a finite number is one.
	expected string
	valid    func(y float64) bool
	make     func(Shape) Likelihood
}

var kinds = [...]row{
	GaussianKind: {"gaussian", IdentityLink, true, "a number", isFinite, func(Shape) Likelihood { return gaussian{} }},
	RobustKind:   {"robust", IdentityLink, true, "a number", isFinite, newRobust},
	StudentKind:  {"student", IdentityLink, true, "a number", isFinite, newStudent},
	LogisticKind: {"logistic", LogitLink, false, "0 or 1", isBinary, func(Shape) Likelihood { return logistic{} }},
	PoissonKind:  {"poisson", LogLink, false, "a count (0, 1, 2, …)", isCount, func(Shape) Likelihood { return poisson{} }},
}

func isFinite(y float64) bool { return !math.IsNaN(y) && !math.IsInf(y, 0) }
func isBinary(y float64) bool { return y == 0 || y == 1 }
func isCount(y float64) bool  { return y >= 0 && y == math.Trunc(y) && isFinite(y) }

// Kinds lists all kinds.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for k := range all {
		all[k] = Kind(k)
	}
	return all
}

// Parse reads the name of a kind.
func Parse(name string) (Kind, error) {
	var names []string
	for k, row := range kinds {
		if row.name == name {
			return Kind(k), nil
		}
		names = append(names, row.name)
	}
	last := len(names) - 1
	return 0, fmt.Errorf("unknown likelihood %q; want %s or %s", name, strings.Join(names[:last], ", "), names[last])
}

// String returns the name that [Parse] reads.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kinds) {
		return fmt.Sprintf("likelihood.Kind(%d)", int(k))
	}
	return kinds[k].name
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = Parse(string(text))
	return err
}

// Link is between η and the mean of the response.
func (k Kind) Link() Link { return kinds[k].link }

// Continuous reports whether the response is a real number that may be shifted and scaled, with a
// noise scale σ.
func (k Kind) Continuous() bool { return kinds[k].scaled }

// Conjugate reports whether the response is normal given σ, so that coefficients with normal priors
// can be integrated out in closed form.
func (k Kind) Conjugate() bool { return k == GaussianKind }

// LogConcave reports whether the log density is a concave function of η, so that with normal priors
// the posterior of coefficients has a single mode, for a response without a noise scale.
func (k Kind) LogConcave() bool { return k == LogisticKind || k == PoissonKind }

// Expected describes valid responses when y is none, and is "" when y is one.
func (k Kind) Expected(y float64) string {
	if kinds[k].valid(y) {
		return ""
	}
	return kinds[k].expected
}

// Shape holds the parameters of a likelihood that are neither η nor σ; a kind uses only its own.
type Shape struct {
	// Degrees are the degrees of freedom ν of StudentKind; 0 stands for 4.
	Degrees float64
	// Outlier is the share ε of outliers of RobustKind, between 0 and 1, and Ratio their noise
	// scale κ in units of σ; 0 stands for 0.1 and 10, as in table 2.
	Outlier, Ratio float64
}

// New returns the likelihood of a kind. It panics when the kind is unknown.
func New(k Kind, shape Shape) Likelihood {
	if k < 0 || int(k) >= len(kinds) {
		panic(fmt.Sprintf("likelihood.New: unknown kind %d", int(k)))
	}
	for _, field := range []struct {
		value    *float64
		fallback float64
	}{{&shape.Degrees, 4}, {&shape.Outlier, 0.1}, {&shape.Ratio, 10}} {
		if *field.value == 0 {
			*field.value = field.fallback
		}
	}
	return kinds[k].make(shape)
}
