package changepoint

import "github.com/transdim/vti/internal/enum"

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
