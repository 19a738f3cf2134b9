package cosmic

import (
	"fmt"
	"strings"
)

// Kind is a family of flows.
type Kind int

const (
	// Affine composes autoregressive layers that shift and scale each coordinate.
	Affine Kind = iota
	// Spline composes layers like Affine, with a monotone rational-quadratic spline before the
	// shift and scale of each coordinate.
	Spline
	// Diagonal shifts and scales each coordinate by amounts that depend on the model alone: q(θ |
	// m) is a normal distribution with a diagonal covariance matrix.
	Diagonal
)

var kindNames = [...]string{"Affine", "Spline", "Diagonal"}

// String returns the name of the kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// MarshalText writes the name in lower case, so that stored text does not depend on the constants.
func (k Kind) MarshalText() ([]byte, error) {
	if k < 0 || int(k) >= len(kindNames) {
		return nil, fmt.Errorf("cosmic: got %v, want one of the kinds %v", k, kindNames)
	}
	return []byte(strings.ToLower(kindNames[k])), nil
}

// UnmarshalText reads a name written by MarshalText.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if strings.ToLower(name) == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("cosmic: got kind of flow %q, want affine, spline or diagonal", text)
}
