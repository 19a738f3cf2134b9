package dag

import "fmt"

// Mechanism is how a node depends on its parents.
type Mechanism int

const (
	// AnyMechanism is Categorical for discrete data and BGe for continuous ones, or Linear where
	// the noise scale or the prior of the weights is given.
	AnyMechanism Mechanism = iota
	// Linear is x_j = Σ w_i x_i + noise.
	Linear
	// MLP is x_j = W2 relu(W1 x + b1) + b2 + noise, with one hidden layer (paper, appendix F).
	MLP
	// BGe is linear with the prior that gives all graphs of an equivalence class the same evidence,
	// and with an intercept and a noise scale of every node.
	BGe
	// Categorical is a table of probabilities for each combination of values of the parents. It is
	// what discrete data have.
	Categorical
)

// closed reports whether the evidences of families have a closed form.
func (m Mechanism) closed() bool { return m != MLP }

var mechanismNames = [...]string{"auto", "linear", "mlp", "bge", "categorical"}

// String returns the name that [ParseMechanism] reads.
func (m Mechanism) String() string {
	if m < 0 || int(m) >= len(mechanismNames) {
		return fmt.Sprintf("Mechanism(%d)", int(m))
	}
	return mechanismNames[m]
}

// ParseMechanism reads auto, linear, mlp, bge or categorical.
func ParseMechanism(s string) (Mechanism, error) {
	for m, name := range mechanismNames {
		if s == name {
			return Mechanism(m), nil
		}
	}
	return 0, fmt.Errorf("unknown mechanism %q; want auto, linear, mlp, bge or categorical", s)
}

// MarshalText writes the name.
func (m Mechanism) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *Mechanism) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMechanism(string(text))
	return err
}
