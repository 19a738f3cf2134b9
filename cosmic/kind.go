package cosmic

import "github.com/transdim/vti/internal/enum"

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

var kindNames = enum.New[Kind]("kind of flow", "affine", "spline", "diagonal")

// String returns the name of the kind.
func (k Kind) String() string { return kindNames.String(k) }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return kindNames.Marshal(k) }

// UnmarshalText reads the output of MarshalText.
func (k *Kind) UnmarshalText(text []byte) error { return kindNames.Unmarshal(text, k) }
