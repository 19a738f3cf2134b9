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

// Positive is a flag that takes a finite number above zero.
type Positive float64

func (v *Positive) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("expected a positive number, found %q", s)
	}
	*v = Positive(x)
	return nil
}

func (v *Positive) String() string {
	if *v == 0 {
		return "" // the flag is not given
	}
	return strconv.FormatFloat(float64(*v), 'g', -1, 64)
}

func (v *Positive) Type() string { return "number" }

// Count is a flag that takes a whole number of at least a given size.
type Count struct {
	Value *int
	Least int
}

func (v Count) Set(s string) error {
	x, err := strconv.Atoi(s)
	if err != nil || x < v.Least {
		return fmt.Errorf("expected a whole number from %d, found %q", v.Least, s)
	}
	*v.Value = x
	return nil
}

func (v Count) String() string {
	if *v.Value == 0 && v.Least > 0 {
		return "" // the flag is not given
	}
	return strconv.Itoa(*v.Value)
}

func (v Count) Type() string { return "count" }

// oneOf is a flag that takes one of a few names, each of which stands for a value.
type oneOf[T comparable] struct {
	value  *T
	names  []string
	values []T // in the order of the names
}

// OneOf adds a flag that takes one of a few names, each of which stands for the element of values
// with the same index. The shell suggests the names.
func OneOf[T comparable](cmd *cobra.Command, value *T, flag, usage string, names []string, values []T) {
	cmd.Flags().Var(oneOf[T]{value, names, values}, flag, usage)
	CompleteWith(cmd, flag, names...)
}

// OneWord adds a flag that takes one of a few words.
func OneWord(cmd *cobra.Command, value *string, flag, usage string, words ...string) {
	OneOf(cmd, value, flag, usage, words, words)
}

func (v oneOf[T]) Set(s string) error {
	at := slices.Index(v.names, s)
	if at < 0 {
		return fmt.Errorf("expected %s, found %q", english.Join(v.names, "or"), s)
	}
	*v.value = v.values[at]
	return nil
}

func (v oneOf[T]) String() string {
	if at := slices.Index(v.values, *v.value); at >= 0 {
		return v.names[at]
	}
	return "" // the flag is not given
}

func (v oneOf[T]) Type() string { return "name" }

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

// orWord is a flag that takes a number above zero, or a word, which is stored as −1.
type orWord[T int | float64] struct {
	pflag.Value
	number      *T
	wants, word string
}

// PositiveOr returns a flag that takes a positive number, or a word, which is stored as −1.
func PositiveOr(word string, number *float64) pflag.Value {
	return orWord[float64]{(*Positive)(number), number, "a positive number", word}
}

// CountOr returns a flag that takes a whole number from 1, or a word, which is stored as −1.
func CountOr(word string, number *int) pflag.Value {
	return orWord[int]{Count{number, 1}, number, "a whole number from 1,", word}
}

func (v orWord[T]) Set(s string) error {
	if s == v.word {
		*v.number = -1
		return nil
	}
	if v.Value.Set(s) != nil {
		return fmt.Errorf("expected %s or %s, found %q", v.wants, v.word, s)
	}
	return nil
}

func (v orWord[T]) String() string {
	if *v.number < 0 {
		return v.word
	}
	return v.Value.String()
}

func (v orWord[T]) Type() string { return "number" }
