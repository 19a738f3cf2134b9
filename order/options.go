package order

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/run"
)

// Kind is a kind of model with an order.
type Kind int

// The kinds of models are:
const (
	// Autoregression regresses a row on earlier rows.
	Autoregression Kind = iota
	// Polynomial is a polynomial in time.
	Polynomial
	// Spline is a polynomial spline in time; its order is the number of knots, at unknown places.
	Spline
)

var kinds = enum.New[Kind]("model", "autoregression", "polynomial", "spline")

// KindNames lists the names of the kinds of models.
func KindNames() []string { return kinds.List() }

// String returns the name of the kind.
func (k Kind) String() string { return kinds.String(k) }

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return kinds.Marshal(k) }

// UnmarshalText reads the output of MarshalText.
func (k *Kind) UnmarshalText(text []byte) error { return kinds.Unmarshal(text, k) }

// Options sets columns, model and priors. For every number, 0 stands for the default.
type Options struct {
	// Value is the column of values. Time is the column of times. If it is empty, the rows are in
	// the order of time.
	Value string `json:"value"`
	Time  string `json:"time,omitempty"`
	// Kind is the kind of model.
	Kind Kind `json:"model"`
	// MaxOrder is the largest order (default 10 for autoregressions, 8 for polynomials, and 6 knots
	// for splines). The prior of the order is uniform for autoregressions and polynomials.
	MaxOrder int `json:"max_order,omitempty"`
	// UnitRoot is the prior probability that an autoregression of order p ≥ 1 has a unit root: the
	// differences of its values are then an autoregression of order p−1.
	UnitRoot float64 `json:"unit_root,omitempty"`
	// Degree is the degree of a spline (default 3), which has Degree − 1 continuous derivatives.
	Degree int `json:"degree,omitempty"`
	// Candidates is the number of candidate places of knots (default 40).
	Candidates int `json:"candidates,omitempty"`
	// MeanKnots is the mean of the Poisson prior of the number of knots (default 3). The prior is
	// truncated at MaxOrder. Sets with the same number of knots have the same prior probability.
	MeanKnots float64 `json:"mean_knots,omitempty"`
}

// These limits bound the work.
const (
	mostDegree     = 5
	mostCandidates = 200
	// mostSets is the largest number of sets of knots that are summed, which takes two minutes.
	mostSets = 100_000_000
)

// withDefaults fills in defaults, and returns an error for options that contradict each other.
func (o Options) withDefaults() (Options, error) {
	spline := o.Kind == Spline
	switch {
	case o.Value == "":
		return o, errors.New("want the column of values: --value")
	case o.Kind != Autoregression && o.Time == "":
		return o, fmt.Errorf("a %s wants the column of times: --time", o.Kind)
	case o.Time == o.Value:
		return o, fmt.Errorf("column %q is both time and value: want another column of values", o.Value)
	case o.Kind != Autoregression && o.UnitRoot != 0:
		return o, fmt.Errorf("unit roots belong to autoregressions, not to a %s", o.Kind)
	case !spline && (o.Degree != 0 || o.Candidates != 0 || o.MeanKnots != 0):
		return o, fmt.Errorf("degree, candidates and prior of knots belong to splines: --model spline, got %s", o.Kind)
	case !(o.UnitRoot >= 0 && o.UnitRoot < 1):
		return o, fmt.Errorf("prior probability of a unit root: got %g, want 0 to below 1", o.UnitRoot)
	}
	o.MaxOrder = cmp.Or(o.MaxOrder, [...]int{Autoregression: 10, Polynomial: 8, Spline: 6}[o.Kind])
	if o.MaxOrder < 1 {
		return o, fmt.Errorf("largest order: got %d, want at least 1", o.MaxOrder)
	}
	if !spline {
		return o, nil
	}
	o.Degree = cmp.Or(o.Degree, 3)
	o.Candidates = cmp.Or(o.Candidates, 40)
	o.MeanKnots = cmp.Or(o.MeanKnots, 3)
	switch {
	case o.Degree < 1 || o.Degree > mostDegree:
		return o, fmt.Errorf("degree of a spline: got %d, want 1 to %d", o.Degree, mostDegree)
	case o.Candidates < 1 || o.Candidates > mostCandidates:
		return o, fmt.Errorf("candidate places of knots: got %d, want 1 to %d", o.Candidates, mostCandidates)
	case !(o.MeanKnots > 0) || math.IsInf(o.MeanKnots, 0):
		return o, fmt.Errorf("prior mean of the number of knots: got %g, want a positive number", o.MeanKnots)
	}
	return o, nil
}

// Record holds all settings of a run. The function run.Read reads it and calls NewProblem.
type Record = run.Asked[Options]
