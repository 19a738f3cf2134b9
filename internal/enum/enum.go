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
	"strings"
)

// Names are the names of the values 0, 1, … of a type, in order.
type Names[T ~int] struct {
	noun  string
	names []string
}

// New takes a noun for the values in errors, and their names.
func New[T ~int](noun string, names ...string) Names[T] { return Names[T]{noun, names} }

// String returns the name of a value; of an unknown one it says which type and number it is.
func (n Names[T]) String(value T) string {
	if value < 0 || int(value) >= len(n.names) {
		return fmt.Sprintf("%T(%d)", value, int(value))
	}
	return n.names[value]
}

// Parse returns the value of a name. Other text is an error that lists the names.
func (n Names[T]) Parse(text string) (T, error) {
	if at := slices.Index(n.names, text); at >= 0 {
		return T(at), nil
	}
	return 0, fmt.Errorf("unknown %s %q; want %s", n.noun, text, n.Choice())
}

// Check returns an error for a value without a name.
func (n Names[T]) Check(value T) error {
	if value < 0 || int(value) >= len(n.names) {
		return fmt.Errorf("got the %s %s, want %s", n.noun, n.String(value), n.Choice())
	}
	return nil
}

// Marshal is MarshalText of a value: its name. A value without one is an error.
func (n Names[T]) Marshal(value T) ([]byte, error) { return []byte(n.String(value)), n.Check(value) }

// Unmarshal is UnmarshalText to a value.
func (n Names[T]) Unmarshal(text []byte, value *T) (err error) {
	*value, err = n.Parse(string(text))
	return err
}

// List returns the names in order.
func (n Names[T]) List() []string { return slices.Clone(n.names) }

// Choice lists the names in words: "mean, slope or rate".
func (n Names[T]) Choice() string {
	last := len(n.names) - 1
	if last < 1 {
		return strings.Join(n.names, "")
	}
	return strings.Join(n.names[:last], ", ") + " or " + n.names[last]
}
