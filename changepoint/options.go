package changepoint

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/run"
)

// Options sets columns, model and priors. For every number, 0 stands for the default.
type Options struct {
	// Time is the column of times, and Value the column of values; "" if the rows are events.
	Time  string `json:"time"`
	Value string `json:"value,omitempty"`
	// Kind is the quantity that changes.
	Kind Kind `json:"model"`
	// MeanChanges is the mean of the Poisson prior of the number of changes (default 3). The prior
	// is truncated at MaxChanges (default 30), as in Green (1995, section 4).
	MeanChanges float64 `json:"mean_changes,omitempty"`
	MaxChanges  int     `json:"max_changes,omitempty"`
	// Places is the prior of the places of changes given their number.
	Places Places `json:"places,omitempty"`
	// Shortest is the least number of rows of a segment of a series. The default is 2 where a
	// variance changes, and 1 otherwise.
	Shortest int `json:"shortest,omitempty"`
	// From and To are the ends of the window in which events were observed. If they are nil, the
	// window goes from the first event to the last.
	From *float64 `json:"from,omitempty"`
	To   *float64 `json:"to,omitempty"`
	// LevelSD is the prior standard deviation of the levels of a series, in units of the series'
	// standard deviation (default 1).
	LevelSD float64 `json:"level_sd,omitempty"`
	// RateShape and RateExposure set the prior of rates of counts and events, Gamma(RateShape,
	// RateExposure). This prior is worth the observation of RateShape events in RateExposure rows
	// or units of time. RateShape is 1 by default, and RateExposure by default makes the prior mean
	// the mean rate of the whole table.
	RateShape    float64 `json:"rate_shape,omitempty"`
	RateExposure float64 `json:"rate_exposure,omitempty"`
	// Spread, if not 0, replaces the standard deviation of the values in the priors. The mean of
	// the values in the priors is then replaced by 0.
	Spread float64 `json:"spread,omitempty"`
	// Uneven makes NewProblem accept a series whose times are not evenly spaced. The prior of
	// places ignores how far apart in time the rows are.
	Uneven bool `json:"uneven,omitempty"`
}

// Places is a prior of the places of changes given their number.
type Places int

// These constants are the priors of the places of changes.
const (
	// DefaultPlaces is Spaced for events, Uniform for a series.
	DefaultPlaces Places = iota
	// Uniform gives all sets of places the same density.
	Uniform
	// Spaced makes short segments improbable. The places are distributed like the even-numbered
	// order statistics of 2k+1 uniform places (Green 1995).
	Spaced
)

var placesNames = enum.New[Places]("prior of places", "auto", "uniform", "spaced")

// String returns the name of the prior.
func (p Places) String() string { return placesNames.String(p) }

// MarshalText returns the name of the prior.
func (p Places) MarshalText() ([]byte, error) { return placesNames.Marshal(p) }

// UnmarshalText reads the output of MarshalText.
func (p *Places) UnmarshalText(text []byte) error { return placesNames.Unmarshal(text, p) }

// MostChanges is the largest MaxChanges.
const MostChanges = 200

// withDefaults fills in the defaults that do not depend on the table.
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
	o.MeanChanges = cmp.Or(o.MeanChanges, 3)
	o.MaxChanges = cmp.Or(o.MaxChanges, 30)
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
		least = 2 // a single row has no information about a variance
	}
	o.Shortest = cmp.Or(o.Shortest, least)
	if o.Shortest < 1 {
		return o, fmt.Errorf("shortest segment: got %d rows, want at least 1", o.Shortest)
	}
	if o.Places == Spaced && o.Shortest > 1 {
		if o.Kind != Variance && o.Kind != Both || o.Shortest > least {
			return o, errors.New("the prior spaced has no shortest segment: leave one out")
		}
		o.Shortest = 1
	}
	o.LevelSD = cmp.Or(o.LevelSD, 1)
	o.RateShape = cmp.Or(o.RateShape, 1)
	for _, x := range []float64{o.MeanChanges, o.LevelSD, o.RateShape, o.RateExposure} {
		if x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			return o, fmt.Errorf("priors: got %g, want a positive number", x)
		}
	}
	return o, nil
}

// Kind is the quantity that changes.
type Kind int

// The kinds.
const (
	// AnyKind stands for Events if there is no column of values, and for Mean otherwise.
	AnyKind Kind = iota
	// Mean is the level of a series, about which rows scatter with a common standard deviation.
	Mean
	// Variance is the variance of a series about a common mean.
	Variance
	// Both is the level together with the variance.
	Both
	// Slope is a line in each segment, with a level and a slope; rows scatter about it with a
	// common standard deviation.
	Slope
	// Rate is the rate of counts.
	Rate
	// Events is the rate of a Poisson process with known event times.
	Events
)

var kinds = enum.New[Kind]("model", "auto", "mean", "variance", "both", "slope", "rate", "events")

// KindNames lists the names of the kinds except AnyKind.
func KindNames() []string { return kinds.List()[1:] }

// String returns the name of the kind.
func (k Kind) String() string { return kinds.String(k) }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return kinds.Marshal(k) }

// UnmarshalText reads the output of MarshalText.
func (k *Kind) UnmarshalText(text []byte) error { return kinds.Unmarshal(text, k) }

// Record holds all settings of a run, from which run.Read builds the problem again with NewProblem.
type Record = run.Asked[Options]
