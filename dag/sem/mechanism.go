package sem

import "github.com/transdim/vti/internal/enum"

// Mechanism is a kind of dependence of a node on its parents.
type Mechanism int

const (
	// AnyMechanism stands for Categorical for tables of categories, for Mixed for tables of
	// categories and numbers, and for BGe for tables of numbers. If the user gives the noise scale
	// or the prior of the weights, it stands for Linear for tables of numbers.
	AnyMechanism Mechanism = iota
	// Linear is x_j = Σ w_i x_i + noise.
	Linear
	// MLP is x_j = W2 relu(W1 x + b1) + b2 + noise, with one hidden layer (Davies et al. 2025,
	// appendix F).
	MLP
	// BGe is linear with an intercept and a noise scale for each node, and has the prior that gives
	// all graphs of an equivalence class the same evidence.
	BGe
	// Categorical is a table of probabilities for each combination of the parents' values.
	Categorical
	// Mixed is for tables of numbers and categories. Numbers have the mechanism of BGe, with an
	// intercept that each category among the parents shifts by level. Categories have multinomial
	// logistic regressions.
	Mixed
	// Spline is for tables of numbers. It is like Mixed, with natural cubic splines of the parents
	// in place of lines.
	Spline
)

// Closed reports whether the evidence of a node given its parents has a closed form, or an
// importance-sampling estimate of nearly the same accuracy.
func (m Mechanism) Closed() bool { return m != MLP }

// Integrated reports whether all parameters are integrated out, so that answers have no draws of
// parameters.
func (m Mechanism) Integrated() bool { return m == Categorical || m.ByColumns() }

// ByColumns reports whether a node is a regression on several columns for each parent: contrasts of
// a category, or basis functions of a number.
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
