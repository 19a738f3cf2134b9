package sem

import "github.com/transdim/vti/internal/enum"

// Mechanism is how a node depends on its parents.
type Mechanism int

const (
	// AnyMechanism is Categorical for discrete data, Mixed for tables with both kinds of columns,
	// and for continuous ones BGe, or Linear if noise scale or weight prior is given.
	AnyMechanism Mechanism = iota
	// Linear is x_j = Σ w_i x_i + noise.
	Linear
	// MLP is x_j = W2 relu(W1 x + b1) + b2 + noise, with one hidden layer (paper, appendix F).
	MLP
	// BGe is linear, with an intercept and a noise scale of every node, and with the prior that
	// gives all graphs of an equivalence class the same evidence.
	BGe
	// Categorical is a table of probabilities for each combination of the parents' values.
	Categorical
	// Mixed is for tables of numbers and categories. Numbers have the mechanism of BGe with an
	// intercept that may differ by category; categories have multinomial logistic regressions.
	Mixed
	// Spline is Mixed for tables of numbers, with natural cubic splines of parents in place of
	// lines.
	Spline
)

// Closed reports whether the evidences of families have a closed form, or equally good weights.
func (m Mechanism) Closed() bool { return m != MLP }

// Integrated reports whether answers have no draws of parameters, which are integrated out.
func (m Mechanism) Integrated() bool { return m == Categorical || m.ByColumns() }

// ByColumns reports whether a node of the mechanism is a regression on columns that its parents are
// expanded to: contrasts of categories, and functions of numbers.
func (m Mechanism) ByColumns() bool { return m == Mixed || m == Spline }

var mechanisms = enum.New[Mechanism]("mechanism", "auto", "linear", "mlp", "bge", "categorical", "mixed", "spline")

// String returns the name of the mechanism.
func (m Mechanism) String() string { return mechanisms.String(m) }

// MarshalText writes the name.
func (m Mechanism) MarshalText() ([]byte, error) { return mechanisms.Marshal(m) }

// UnmarshalText reads auto, linear, mlp, bge, categorical, mixed or spline.
func (m *Mechanism) UnmarshalText(text []byte) error { return mechanisms.Unmarshal(text, m) }

// Check returns an error if m is not a mechanism.
func (m Mechanism) Check() error { return mechanisms.Check(m) }
