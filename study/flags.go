package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
)

// Setting is a named value that differs between tasks, such as a flag, a table or a seed. The value
// is a string, int64, float64, bool, or a list of these.
type Setting struct {
	Name  string
	Value any
}

// Text returns the value as text. The elements of a list are separated by commas.
func (s Setting) Text() string { return strings.Join(texts(s.Value), ",") }

// arguments returns settings as command line flags. A flag is repeated for each element of a list.
func arguments(settings []Setting) (args []string) {
	for _, s := range settings {
		for _, text := range texts(s.Value) {
			args = append(args, "--"+s.Name+"="+text)
		}
	}
	return args
}

// texts returns the text of a value on the command line, or the texts of the elements of a list.
func texts(value any) []string {
	if list, isList := value.([]any); isList {
		return slices.Concat(apply.To(list, texts)...)
	}
	return []string{asText(value)}
}

// checkValue returns an error for values that no flag can have, such as a date.
func checkValue(value any) error {
	switch v := value.(type) {
	case string, bool, int64, float64:
		return nil
	case []any:
		for _, element := range v {
			if err := checkValue(element); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("got a value of type %T, want text, a number, true, false, or a list of these", value)
}

// fixed returns flags with one value each as settings, in the order of their names.
func fixed(flags map[string]any) []Setting {
	return apply.To(slices.Sorted(maps.Keys(flags)), func(name string) Setting { return Setting{name, flags[name]} })
}

// grid holds every combination of the values of some flags.
type grid []axis

// axis is one flag and its values.
type axis struct {
	name   string
	values []any
}

// newGrid orders flags by name, so that the grid does not depend on the order in the plan's file.
func newGrid(values map[string][]any) grid {
	return apply.To(slices.Sorted(maps.Keys(values)), func(name string) axis { return axis{name, values[name]} })
}

// count returns the number of combinations. It is 1 for an empty grid.
func (g grid) count() int {
	n := 1
	for _, a := range g {
		n *= len(a.values)
	}
	return n
}

// settings returns a setting for each value of each flag.
func (g grid) settings() (list []Setting) {
	for _, a := range g {
		list = append(list, apply.To(a.values, func(value any) Setting { return Setting{a.name, value} })...)
	}
	return list
}

// at returns combination i. The value of the last flag changes fastest.
func (g grid) at(i int) []Setting {
	settings := make([]Setting, len(g))
	for k := len(g) - 1; k >= 0; k-- {
		n := len(g[k].values)
		settings[k] = Setting{g[k].name, g[k].values[i%n]}
		i /= n
	}
	return settings
}
