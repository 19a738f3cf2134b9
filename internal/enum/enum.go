// Package enum gives names to the values of an enumeration.
//
//	type Kind int
//
//	const (
//		Mean Kind = iota
//		Slope
//	)
//
//	var kinds = enum.New[Kind]("model", "mean", "slope")
//
//	func (k Kind) String() string                       { return kinds.String(k) }
//	func (k Kind) MarshalText() ([]byte, error)         { return kinds.Marshal(k) }
//	func (k *Kind) UnmarshalText(text []byte) error     { return kinds.Unmarshal(text, k) }
//	func ParseKind(text string) (Kind, error)           { return kinds.Parse(text) }
package enum

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/english"
)

// Names holds the names of the values 0, 1, … of a type, in order.
type Names[T ~int] struct {
	noun  string
	names []string
}

// New returns Names with the given names. The argument noun says in errors what the values are,
// such as "model".
func New[T ~int](noun string, names ...string) Names[T] { return Names[T]{noun, names} }

// String returns the name of a value. For an unknown value it returns the type and the number.
func (n Names[T]) String(value T) string {
	if value < 0 || int(value) >= len(n.names) {
		return fmt.Sprintf("%T(%d)", value, int(value))
	}
	return n.names[value]
}

// Parse returns the value with the given name. If there is none, the error lists all names.
func (n Names[T]) Parse(text string) (T, error) {
	if at := slices.Index(n.names, text); at >= 0 {
		return T(at), nil
	}
	return 0, fmt.Errorf("unknown %s %q; want %s", n.noun, text, n.Choice())
}

// Check returns an error if the value has no name.
func (n Names[T]) Check(value T) error {
	if value < 0 || int(value) >= len(n.names) {
		return fmt.Errorf("got the %s %s, want %s", n.noun, n.String(value), n.Choice())
	}
	return nil
}

// Marshal implements MarshalText: it returns the name of a value, or an error if it has none.
func (n Names[T]) Marshal(value T) ([]byte, error) { return []byte(n.String(value)), n.Check(value) }

// Unmarshal implements UnmarshalText: it sets value to the value with the given name.
func (n Names[T]) Unmarshal(text []byte, value *T) (err error) {
	*value, err = n.Parse(string(text))
	return err
}

// List returns all names in order.
func (n Names[T]) List() []string { return slices.Clone(n.names) }

// Choice returns all names as a phrase: "mean, slope or rate".
func (n Names[T]) Choice() string { return english.Join(n.names, "or") }
