package changepoint

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what changes.
type Kind int

// The kinds.
const (
	// AnyKind is Events without a column of values, else Mean.
	AnyKind Kind = iota
	// Mean is the level of a series, about which rows scatter with a common standard deviation.
	Mean
	// Variance is the variance of a series about a common mean.
	Variance
	// Both is the level and the variance together.
	Both
	// Slope is a line of a level and a slope; rows scatter with a common standard deviation.
	Slope
	// Rate is the rate of counts.
	Rate
	// Events is the rate of a Poisson process, of which the moments are given.
	Events
)

var kindNames = [...]string{AnyKind: "auto", Mean: "mean", Variance: "variance", Both: "both", Slope: "slope", Rate: "rate", Events: "events"}

// KindNames lists what ParseKind takes.
func KindNames() []string { return slices.Clone(kindNames[1:]) }

// String returns the name of the kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// ParseKind reads a name that String writes.
func ParseKind(text string) (Kind, error) {
	if at := slices.Index(kindNames[:], text); at >= 0 {
		return Kind(at), nil
	}
	return AnyKind, fmt.Errorf("unknown model %q: want %s", text, strings.Join(KindNames(), ", "))
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}
