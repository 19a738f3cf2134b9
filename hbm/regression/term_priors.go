package regression

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/english"
)

// TermPrior is the prior of one population effect, normal, or of the standard deviations of
// effects that vary by a grouping, in the units of the table.
type TermPrior struct {
	// Effect is the column of the population effect, or of one varying effect; "" for all that
	// vary by Group.
	Effect string
	// Group is the grouping of varying effects; "" for a population effect.
	Group string
	// Mean is that of a population effect; Scale is its standard deviation, or the scale of
	// SDPrior.
	Mean, Scale float64
	SDPrior     SDPrior
}

const termPriorForms = `want "b:COLUMN=normal(MEAN,SD)", or "sd:GROUP=" or "sd:COLUMN|GROUP=" and half-normal(SCALE), half-cauchy(SCALE) or exponential(RATE)`

// ParseTermPrior reads what String writes: b:age=normal(0,1), sd:Subject=exponential(2), where 2
// is the rate, or sd:Days|Subject=half-normal(10).
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

// setTermPriors puts the priors of single terms into their coordinates. A prior of no term is an
// error that names those that there are.
func (r *Regression) setTermPriors() error {
	for _, p := range r.Options.Terms {
		var names []string
		found := false
		if p.Group == "" {
			for _, j := range r.Frame.effectColumns() {
				c := r.Frame.Columns[j]
				if c.Name == formula.InterceptName {
					continue // that at the mean of the columns has another meaning
				}
				if names = append(names, c.Name); c.Name == p.Effect {
					found = true
					for m := range r.planes {
						own := &r.coordinates[m*len(r.Frame.Columns)+j]
						own.mean, own.sd = p.Mean*r.xSD[j]/r.ySD, p.Scale*r.xSD[j]/r.ySD
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
					at := &r.coordinates[g.sd[c]]
					at.prior, at.scale = p.SDPrior, p.Scale*g.zSD[c]/r.ySD
					at.unit = at.scale
				}
			}
		}
		if !found {
			slices.Sort(names)
			return fmt.Errorf("%s: prior %s: there is no such term; those that can have one are %q", r.Frame.Path, p, names)
		}
	}
	return nil
}
