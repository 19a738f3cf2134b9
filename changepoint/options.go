package changepoint

import (
	"errors"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/enum"
)

// Options say which columns are used and how, and set the priors. The zero value of every number is
// its default.
type Options struct {
	// Time is the column of times, Value that of values; without values the rows are events.
	Time  string `json:"time"`
	Value string `json:"value,omitempty"`
	// Kind is what changes.
	Kind Kind `json:"model"`
	// The number of changes is Poisson with mean MeanChanges (default 3), cut at MaxChanges (30),
	// as Green (1995, section 4) has it.
	MeanChanges float64 `json:"mean_changes,omitempty"`
	MaxChanges  int     `json:"max_changes,omitempty"`
	// Places is the prior of the places given their number.
	Places Places `json:"places,omitempty"`
	// Shortest is the smallest number of rows of a segment of a series (default 1, and 2 where a
	// variance changes).
	Shortest int `json:"shortest,omitempty"`
	// From and To are the window in which events were observed; nil: the first and the last event.
	From *float64 `json:"from,omitempty"`
	To   *float64 `json:"to,omitempty"`
	// LevelSD is the prior sd of the levels of a series, in units of its sd (default 1).
	LevelSD float64 `json:"level_sd,omitempty"`
	// Rates of counts and events are Gamma(RateShape, RateExposure): the prior knows RateShape
	// events in RateExposure rows or units of time. The defaults are 1 and what the whole table has
	// for each event.
	RateShape    float64 `json:"rate_shape,omitempty"`
	RateExposure float64 `json:"rate_exposure,omitempty"`
	// Centre and Spread, where Spread is not 0, stand for mean and sd of the values in the priors.
	Centre float64 `json:"centre,omitempty"`
	Spread float64 `json:"spread,omitempty"`
	// Uneven takes a series whose times are not evenly spaced. Places of changes are between rows
	// all the same.
	Uneven bool `json:"uneven,omitempty"`
}

// Places is a prior of places given their number.
type Places int

// The priors.
const (
	// DefaultPlaces is Spaced for events, Uniform for a series.
	DefaultPlaces Places = iota
	// Uniform gives all sets of places the same density.
	Uniform
	// Spaced prefers sets without short segments: the even-numbered ones of 2k+1 uniform places
	// (Green 1995).
	Spaced
)

var placesNames = enum.New[Places]("prior of places", "auto", "uniform", "spaced")

// String returns the name of the prior.
func (p Places) String() string { return placesNames.String(p) }

// MarshalText writes the name.
func (p Places) MarshalText() ([]byte, error) { return placesNames.Marshal(p) }

// UnmarshalText reads what MarshalText wrote.
func (p *Places) UnmarshalText(text []byte) error { return placesNames.Unmarshal(text, p) }

// MostChanges is the largest MaxChanges.
const MostChanges = 200

// withDefaults fills in what was left open, as far as it does not depend on the table.
func (o Options) withDefaults() (Options, error) {
	if o.Kind == AnyKind {
		o.Kind = Mean
		if o.Value == "" {
			o.Kind = Events
		}
	}
	switch {
	case o.Time == "" && o.Kind == Events:
		return o, errors.New("want the column of the moments of events: --time")
	case o.Kind == Events && o.Value != "":
		return o, fmt.Errorf("model events takes moments and no values: got the column %q (counts take model rate)", o.Value)
	case o.Kind != Events && o.Value == "":
		return o, fmt.Errorf("model %s wants a column of values: --value", o.Kind)
	case o.Kind != Events && o.Time == o.Value:
		return o, fmt.Errorf("column %q is both time and value: want another column of values", o.Value)
	case o.Kind != Events && (o.From != nil || o.To != nil):
		return o, errors.New("a window (from, to) belongs to events, not to a series")
	case o.Kind == Events && (o.Shortest > 0 || o.Uneven):
		return o, errors.New("shortest segments and uneven times belong to a series, not to events")
	}
	if o.MeanChanges == 0 {
		o.MeanChanges = 3
	}
	if o.MaxChanges == 0 {
		o.MaxChanges = 30
	}
	if o.MaxChanges < 1 || o.MaxChanges > MostChanges {
		return o, fmt.Errorf("largest number of changes: got %d, want 1 to %d", o.MaxChanges, MostChanges)
	}
	if o.Places == DefaultPlaces {
		o.Places = Uniform
		if o.Kind == Events {
			o.Places = Spaced
		}
	}
	least := 1
	if o.Kind == Variance || o.Kind == Both {
		least = 2 // one row says nothing of a variance
	}
	if o.Shortest == 0 {
		o.Shortest = least
	}
	if o.Shortest < 1 {
		return o, fmt.Errorf("shortest segment: got %d rows, want at least 1", o.Shortest)
	}
	if o.Places == Spaced && o.Shortest > 1 {
		if o.Kind != Variance && o.Kind != Both || o.Shortest > least {
			return o, errors.New("the prior spaced has no shortest segment: leave one out")
		}
		o.Shortest = 1
	}
	if o.LevelSD == 0 {
		o.LevelSD = 1
	}
	if o.RateShape == 0 {
		o.RateShape = 1
	}
	for _, x := range []float64{o.MeanChanges, o.LevelSD, o.RateShape, o.RateExposure} {
		if x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			return o, fmt.Errorf("priors: got %g, want a positive number", x)
		}
	}
	return o, nil
}
