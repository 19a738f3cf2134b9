package sem

import "fmt"

// Mechanism is how a node depends on its parents.
type Mechanism int

const (
	// AnyMechanism is Categorical for discrete data, Mixed for tables with both kinds of columns,
	// and BGe for continuous ones, or Linear where the noise scale or the prior of the weights is
	// given.
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
	// Mixed is for tables of numbers and categories: numbers are those of BGe whose intercept may
	// differ by category, and categories have multinomial logistic regressions.
	Mixed
)

// Closed reports whether the evidences of families have a closed form, or weights that are as good
// as one.
func (m Mechanism) Closed() bool { return m != MLP }

// Integrated reports whether answers know parameters only integrated out, not as draws.
func (m Mechanism) Integrated() bool { return m == Categorical || m == Mixed }

var MechanismNames = [...]string{"auto", "linear", "mlp", "bge", "categorical", "mixed"}

// String returns the name that [ParseMechanism] reads.
func (m Mechanism) String() string {
	if m < 0 || int(m) >= len(MechanismNames) {
		return fmt.Sprintf("Mechanism(%d)", int(m))
	}
	return MechanismNames[m]
}

// ParseMechanism reads auto, linear, mlp, bge, categorical or mixed.
func ParseMechanism(s string) (Mechanism, error) {
	for m, name := range MechanismNames {
		if s == name {
			return Mechanism(m), nil
		}
	}
	return 0, fmt.Errorf("unknown mechanism %q; want auto, linear, mlp, bge, categorical or mixed", s)
}

// MarshalText writes the name.
func (m Mechanism) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *Mechanism) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMechanism(string(text))
	return err
}
