package varsel

import "fmt"

// Choices are names in a record, as they are on the command line: readable, and safe from a change
// of their order.

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
