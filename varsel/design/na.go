package design

import "fmt"

// NAPolicy says what to do with rows with a missing cell.
type NAPolicy int

const (
	// RefuseNA makes a missing cell in a used column an error.
	RefuseNA NAPolicy = iota
	// DropNA leaves out the rows with a missing cell in a used column.
	DropNA
)

// String returns "refuse" or "drop".
func (p NAPolicy) String() string {
	switch p {
	case RefuseNA:
		return "refuse"
	case DropNA:
		return "drop"
	}
	return fmt.Sprintf("NAPolicy(%d)", int(p))
}

// ParseNAPolicy reads refuse or drop.
func ParseNAPolicy(s string) (NAPolicy, error) {
	for _, policy := range []NAPolicy{RefuseNA, DropNA} {
		if s == policy.String() {
			return policy, nil
		}
	}
	return 0, fmt.Errorf("unknown policy for missing values %q; want refuse or drop", s)
}

// MarshalText writes the name.
func (p NAPolicy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (p *NAPolicy) UnmarshalText(text []byte) (err error) {
	*p, err = ParseNAPolicy(string(text))
	return err
}
