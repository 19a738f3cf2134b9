package cli

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/internal/english"
)

// Refuse returns an error if one of the named flags was given. The argument why follows the name of
// the flag in the error.
func Refuse(flags *pflag.FlagSet, why string, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) {
			return errors.New("--" + name + why)
		}
	}
	return nil
}

// Value is a flag that takes a value of type T.
type Value[T any] struct {
	To *T
	// Kind is the type in the description of the flag. Wants describes the values in errors.
	Kind, Wants string
	// Parse reports whether a text is a value. Text returns "" for the value of a flag that is not
	// given.
	Parse func(text string) (T, bool)
	Text  func(value T) string
}

// Set reads the value from a text.
func (v Value[T]) Set(text string) error {
	x, ok := v.Parse(text)
	if !ok {
		return fmt.Errorf("expected %s, found %q", v.Wants, text)
	}
	*v.To = x
	return nil
}

func (v Value[T]) String() string { return v.Text(*v.To) }

// Type returns the kind of the value.
func (v Value[T]) Type() string { return v.Kind }

// Positive returns a flag that takes a finite number above zero. Zero is the value of a flag that
// is not given.
func Positive(number *float64) Value[float64] {
	return Value[float64]{number, "number", "a positive number", func(text string) (float64, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil && x > 0 && !math.IsInf(x, 1)
	}, func(x float64) string {
		if x == 0 {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}}
}

// Count returns a flag that takes a whole number from the argument least on.
func Count(number *int, least int) Value[int] {
	return Value[int]{number, "count", fmt.Sprintf("a whole number from %d", least), func(text string) (int, bool) {
		x, err := strconv.Atoi(text)
		return x, err == nil && x >= least
	}, func(x int) string {
		if x == 0 && least > 0 {
			return ""
		}
		return strconv.Itoa(x)
	}}
}

// Optional returns a flag that takes a finite number. The number stays nil if the flag is not
// given.
func Optional(number **float64) Value[*float64] {
	return Value[*float64]{number, "number", "a number", func(text string) (*float64, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return &x, err == nil && x-x == 0
	}, func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}}
}

// PositiveOr returns a flag that takes a positive number, or a word, which is stored as −1.
func PositiveOr(word string, number *float64) Value[float64] {
	return orWord(Positive(number), "a positive number or "+word, word)
}

// CountOr returns a flag that takes a whole number from 1, or a word, which is stored as −1.
func CountOr(word string, number *int) Value[int] {
	return orWord(Count(number, 1), "a whole number from 1, or "+word, word)
}

func orWord[T int | float64](v Value[T], wants, word string) Value[T] {
	return Value[T]{v.To, "number", wants, func(text string) (T, bool) {
		if text == word {
			return -1, true
		}
		return v.Parse(text)
	}, func(x T) string {
		if x < 0 {
			return word
		}
		return v.Text(x)
	}}
}

// OneOf adds a flag that takes one of a few names, each of which stands for the element of values
// with the same index. The shell suggests the names.
func OneOf[T comparable](cmd *cobra.Command, value *T, flag, usage string, names []string, values []T) {
	cmd.Flags().Var(Value[T]{value, "name", english.Join(names, "or"), func(text string) (x T, ok bool) {
		if at := slices.Index(names, text); at >= 0 {
			return values[at], true
		}
		return x, false
	}, func(x T) string {
		if at := slices.Index(values, x); at >= 0 {
			return names[at]
		}
		return ""
	}}, flag, usage)
	CompleteWith(cmd, flag, names...)
}

// OneWord adds a flag that takes one of a few words.
func OneWord(cmd *cobra.Command, value *string, flag, usage string, words ...string) {
	OneOf(cmd, value, flag, usage, words, words)
}

// named is implemented by types whose values have names on the command line.
type named interface {
	fmt.Stringer
	encoding.TextUnmarshaler
}

// Name returns a flag for a value of a type that parses its own names.
func Name(value named) pflag.Value { return textual{value} }

// Named adds a flag for a value of a type that parses its own names. The shell suggests the given
// values, which may have meanings (see [CompleteWith]).
func Named(cmd *cobra.Command, value named, flag, usage string, values ...string) {
	cmd.Flags().Var(Name(value), flag, usage)
	CompleteWith(cmd, flag, values...)
}

type textual struct{ named }

func (v textual) Set(s string) error { return v.UnmarshalText([]byte(s)) }

func (v textual) Type() string { return "name" }
