package regression

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/space"
)

// SDPrior is the family of the prior of the standard deviation of a varying effect.
type SDPrior int

// The priors of standard deviations, with density p(s) on s > 0 and scale c.
const (
	HalfNormalSD  SDPrior = iota // ∝ exp(−½ (s/c)²)
	HalfCauchySD                 // ∝ 1 / (1 + (s/c)²)
	ExponentialSD                // ∝ exp(−s/c)
)

var sdPriors = enum.New[SDPrior]("prior of standard deviations", "half-normal", "half-cauchy", "exponential")

// String returns the name on the command line.
func (p SDPrior) String() string { return sdPriors.String(p) }

// text is the prior with this scale, written as --prior takes it: an exponential prior has its
// rate.
func (p SDPrior) text(scale float64) string {
	if p == ExponentialSD {
		return fmt.Sprintf("%s(%.4g), mean %.4g", p, 1/scale, scale)
	}
	return fmt.Sprintf("%s(%.4g)", p, scale)
}

// MarshalText writes the name.
func (p SDPrior) MarshalText() ([]byte, error) { return sdPriors.Marshal(p) }

// UnmarshalText reads what MarshalText wrote.
func (p *SDPrior) UnmarshalText(text []byte) error { return sdPriors.Unmarshal(text, p) }

// Options are the priors of a regression. sd(y) is the standard deviation of a continuous
// response, and 1 on the link scale of others.
type Options struct {
	// CoefficientScale is the prior standard deviation of a population effect, in units of sd(y)
	// for one standard deviation of its column; 0 stands for 1.5.
	CoefficientScale float64 `json:"coefficient_scale"`
	// InterceptScale is that of the intercept at the mean of the columns, in units of sd(y); 0
	// stands for 10.
	InterceptScale float64 `json:"intercept_scale"`
	// Intercept, if not nil, is the prior of the intercept at the mean of the columns, in the
	// units of the response; InterceptScale is not used then.
	Intercept *NormalPrior `json:"intercept,omitempty"`
	// SDPrior is the prior of the standard deviation of a varying effect, and SDScale its scale in
	// units of sd(y) for one standard deviation of its column, or for the whole of a column of
	// zeros and ones; 0 stands for 1.
	SDPrior SDPrior `json:"sd_prior"`
	SDScale float64 `json:"sd_scale"`
	// Correlation is η of the LKJ prior of the correlations of varying effects; 0 stands for 2.
	Correlation float64 `json:"correlation"`
	// Degrees are the degrees of freedom of the student likelihood; 0 stands for 4.
	Degrees float64 `json:"degrees"`
	// ResponseMean and ResponseSD are the mean and sd(y) of a continuous response that its priors
	// refer to, or ResponseMean is the centre of the prior of the intercept of a positive one;
	// ResponseSD 0 stands for those of the table. A response that is drawn from the priors needs
	// them to be fixed before.
	ResponseMean float64 `json:"response_mean,omitempty"`
	ResponseSD   float64 `json:"response_sd,omitempty"`
	// Terms are the priors of single effects and standard deviations, which replace those above.
	Terms []TermPrior `json:"terms,omitempty"`
	// Select makes every term of the formula optional.
	Select bool `json:"select"`
	// Models is the prior over models of Select. That a term is in, and that a term that is in
	// varies by a grouping, are decisions that are yes with a given probability, or with one that
	// is Beta(a, b), the same for all decisions of the first kind, and for all of the second; or
	// all models have the same probability. The zero value is betabinomial:1,1.
	Models space.Prior `json:"models"`
}

// NormalPrior is N(Mean, SD²).
type NormalPrior struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// withDefaults fills in what zeros stand for.
func (o Options) withDefaults() Options {
	for _, field := range []struct {
		value    *float64
		fallback float64
	}{{&o.CoefficientScale, 1.5}, {&o.InterceptScale, 10}, {&o.SDScale, 1}, {&o.Correlation, 2}, {&o.Degrees, 4}} {
		if *field.value == 0 {
			*field.value = field.fallback
		}
	}
	o.Models = o.Models.WithDefaults()
	return o
}

// Validate reports the first option that is out of its range.
func (o Options) Validate() error {
	o = o.withDefaults()
	for _, field := range []struct {
		name  string
		value float64
	}{
		{"coefficient scale", o.CoefficientScale}, {"intercept scale", o.InterceptScale}, {"scale of standard deviations", o.SDScale},
		{"η of correlations", o.Correlation}, {"degrees of freedom", o.Degrees},
	} {
		if !(field.value > 0) || math.IsInf(field.value, 1) {
			return fmt.Errorf("%s: got %g, want a positive number", field.name, field.value)
		}
	}
	if p := o.Intercept; p != nil && (!(p.SD > 0) || math.IsInf(p.SD, 1) || math.IsNaN(p.Mean) || math.IsInf(p.Mean, 0)) {
		return fmt.Errorf("prior of the intercept: got mean %g and sd %g, want a mean and a positive sd", p.Mean, p.SD)
	}
	if !(o.ResponseSD >= 0) || math.IsInf(o.ResponseSD, 1) || math.IsNaN(o.ResponseMean) || math.IsInf(o.ResponseMean, 0) {
		return fmt.Errorf("mean and sd of the response: got %g and %g, want numbers, the second not negative", o.ResponseMean, o.ResponseSD)
	}
	if err := sdPriors.Check(o.SDPrior); err != nil {
		return err
	}
	_, err := o.Models.LogDecisions(0, 0)
	return err
}
