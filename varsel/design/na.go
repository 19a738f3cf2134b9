package design

import "github.com/transdim/vti/internal/enum"

// NAPolicy is a policy for rows with a missing cell.
type NAPolicy int

const (
	// RefuseNA makes a missing cell in a used column an error.
	RefuseNA NAPolicy = iota
	// DropNA leaves out the rows with a missing cell in a used column.
	DropNA
)

var naPolicies = enum.New[NAPolicy]("policy for missing values", "refuse", "drop")

// String returns "refuse" or "drop".
func (p NAPolicy) String() string { return naPolicies.String(p) }

// MarshalText writes the name.
func (p NAPolicy) MarshalText() ([]byte, error) { return naPolicies.Marshal(p) }

// UnmarshalText reads the text that MarshalText writes.
func (p *NAPolicy) UnmarshalText(text []byte) error { return naPolicies.Unmarshal(text, p) }
