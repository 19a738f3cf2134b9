package regression

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/space"
)

// SDPrior is the kind of prior of the standard deviation of a varying effect, an effect that varies
// by group.
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

// text writes the prior in the syntax of the flag --prior, with the rate of an exponential prior
// and the scale of other priors.
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

// Options holds the priors of a regression. In its comments sd(y) is the standard deviation of a
// continuous response; for other responses, whose effects are on the scale of the link, it is 1.
type Options struct {
	// CoefficientScale is the prior standard deviation of a population effect, in units of sd(y)
	// for one standard deviation of its column; 0 stands for 1.5.
	CoefficientScale float64 `json:"coefficient_scale"`
	// InterceptScale is the prior standard deviation of the intercept at the mean of the columns,
	// in units of sd(y); 0 stands for 10.
	InterceptScale float64 `json:"intercept_scale"`
	// Intercept, if not nil, is the prior of the intercept at the mean of the columns, in the units
	// of the response. It replaces InterceptScale.
	Intercept *NormalPrior `json:"intercept,omitempty"`
	// SDPrior is the prior of the standard deviation of a varying effect, and SDScale its scale in
	// units of sd(y), for one standard deviation of its column or, in a column of zeros and ones,
	// for a change from 0 to 1; 0 stands for 1.
	SDPrior SDPrior `json:"sd_prior"`
	SDScale float64 `json:"sd_scale"`
	// Correlation is η of the LKJ prior of the correlations of varying effects; 0 stands for 2.
	Correlation float64 `json:"correlation"`
	// Degrees are the degrees of freedom of the student likelihood; 0 stands for 4.
	Degrees float64 `json:"degrees"`
	// ResponseMean and ResponseSD are the mean and sd(y) of a continuous response, in whose units
	// its priors are. For a positive response ResponseMean is the centre of the prior of the
	// intercept. If ResponseSD is 0, both come from the table. Responses drawn from the priors need
	// both.
	ResponseMean float64 `json:"response_mean,omitempty"`
	ResponseSD   float64 `json:"response_sd,omitempty"`
	// Terms are the priors of single effects and standard deviations; they replace the priors
	// above.
	Terms []TermPrior `json:"terms,omitempty"`
	// Select makes every term of the formula optional.
	Select bool `json:"select"`
	// Models is the prior over models if Select is set. A model makes decisions of two kinds:
	// whether it contains a term, and whether a term that it contains varies by a grouping. The
	// prior gives all models the same probability, or all decisions of a kind the same probability
	// of yes, which is a given number or has the prior Beta(a, b). The zero value stands for
	// Beta(1, 1).
	Models space.Prior `json:"models"`
}

// NormalPrior is N(Mean, SD²).
type NormalPrior struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// withDefaults replaces zeros by the defaults.
func (o Options) withDefaults() Options {
	o.CoefficientScale, o.InterceptScale, o.SDScale = cmp.Or(o.CoefficientScale, 1.5), cmp.Or(o.InterceptScale, 10), cmp.Or(o.SDScale, 1)
	o.Correlation, o.Degrees = cmp.Or(o.Correlation, 2), cmp.Or(o.Degrees, 4)
	o.Models = o.Models.WithDefaults()
	return o
}

// Validate returns an error for the first option out of its range.
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

// TermPrior is the prior of one population effect, which is normal, or of the standard deviations
// of effects that vary by a grouping. It is in the units of the table.
type TermPrior struct {
	// Effect is the column of the population effect, or of one varying effect; "" stands for all
	// effects that vary by Group.
	Effect string
	// Group is the grouping of varying effects; "" for a population effect.
	Group string
	// Mean and Scale are the mean and the standard deviation of a population effect. For varying
	// effects, Scale is the scale of SDPrior, the prior of their standard deviations.
	Mean, Scale float64
	SDPrior     SDPrior
}

const termPriorForms = `want "b:COLUMN=normal(MEAN,SD)", or "sd:GROUP=" or "sd:COLUMN|GROUP=" and half-normal(SCALE), half-cauchy(SCALE) or exponential(RATE)`

// ParseTermPrior reads the text of String: b:age=normal(0,1), sd:Subject=exponential(2), where 2 is
// the rate, or sd:Days|Subject=half-normal(10).
func ParseTermPrior(s string) (TermPrior, error) {
	fail := func(why string) (TermPrior, error) {
		return TermPrior{}, fmt.Errorf("prior %q: %s; %s", s, why, termPriorForms)
	}
	at := strings.LastIndex(s, "=")
	if at < 0 {
		return fail("no =")
	}
	kind, name, found := strings.Cut(s[:at], ":")
	family, rest, open := strings.Cut(s[at+1:], "(")
	rest, closed := strings.CutSuffix(strings.TrimSpace(rest), ")")
	if !found || name == "" || !open || !closed {
		return fail("not of that form")
	}
	var numbers []float64
	for field := range strings.SplitSeq(rest, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return fail(fmt.Sprintf("%q is no number", field))
		}
		numbers = append(numbers, v)
	}
	family = strings.TrimSpace(family)
	if !(numbers[len(numbers)-1] > 0) {
		return fail(fmt.Sprintf("got %v, want a positive number last", numbers[len(numbers)-1]))
	}
	switch {
	case kind == "b" && family == "normal" && len(numbers) == 2:
		return TermPrior{Effect: name, Mean: numbers[0], Scale: numbers[1]}, nil
	case kind == "sd" && len(numbers) == 1:
		p := TermPrior{Group: name, Scale: numbers[0]}
		if effect, group, both := strings.Cut(name, "|"); both {
			p.Effect, p.Group = strings.TrimSpace(effect), strings.TrimSpace(group)
		}
		var err error
		if p.SDPrior, err = sdPriors.Parse(family); err != nil {
			return fail(err.Error())
		}
		if p.SDPrior == ExponentialSD {
			p.Scale = 1 / p.Scale
		}
		return p, nil
	}
	return fail(fmt.Sprintf("%s of %s is no prior of %q", family, english.Count(len(numbers), "number"), kind))
}

// String returns the text that ParseTermPrior reads.
func (p TermPrior) String() string {
	if p.Group == "" {
		return fmt.Sprintf("b:%s=normal(%v,%v)", p.Effect, p.Mean, p.Scale)
	}
	name, number := p.Group, p.Scale
	if p.Effect != "" {
		name = p.Effect + "|" + p.Group
	}
	if p.SDPrior == ExponentialSD {
		number = 1 / number
	}
	return fmt.Sprintf("sd:%s=%s(%v)", name, p.SDPrior, number)
}

// MarshalText writes what ParseTermPrior reads.
func (p TermPrior) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (p *TermPrior) UnmarshalText(text []byte) (err error) {
	*p, err = ParseTermPrior(string(text))
	return err
}

// setTermPriors sets the priors of single terms. If a prior names no term, the error lists the
// possible terms.
func (r *Regression) setTermPriors() error {
	for _, p := range r.Options.Terms {
		var names []string
		found := false
		if p.Group == "" {
			for _, j := range r.Frame.EffectColumns() {
				c := r.Frame.Columns[j]
				if c.Name == formula.InterceptName {
					continue // its coordinate is the intercept at the mean of the columns
				}
				if names = append(names, c.Name); c.Name == p.Effect {
					found = true
					for m := range r.planes {
						coordinate := &r.coordinates[m*len(r.Frame.Columns)+j]
						coordinate.mean, coordinate.sd = p.Mean*r.xSD[j]/r.ySD, p.Scale*r.xSD[j]/r.ySD
					}
				}
			}
		}
		for _, g := range r.groups {
			for c, column := range g.Spreads() {
				if p.Group == "" {
					continue
				}
				if g.Smooth {
					column.Name = g.Name
				}
				if names = append(names, column.Name+"|"+g.Name); g.Name == p.Group && (p.Effect == "" || p.Effect == column.Name) {
					found = true
					spread := &r.coordinates[g.sd[c]]
					spread.prior, spread.scale = p.SDPrior, p.Scale*g.zSD[c]/r.ySD
					spread.unit = spread.scale
				}
			}
		}
		if !found {
			slices.Sort(names)
			return fmt.Errorf("%s: prior %s: there is no such term; terms that can have a prior are %q", r.Frame.Path, p, names)
		}
	}
	return nil
}
