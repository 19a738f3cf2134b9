package study

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Setting is a value that distinguishes a task from others: a flag, a table, a seed. The value is a
// string, int64, float64, bool, or a list of these.
type Setting struct {
	Name  string
	Value any
}

// Text is the value as text; the elements of a list are separated by commas.
func (s Setting) Text() string { return strings.Join(texts(s.Value), ",") }

// arguments returns settings as command line flags, repeated for each element of a list.
func arguments(settings []Setting) (args []string) {
	for _, s := range settings {
		for _, text := range texts(s.Value) {
			args = append(args, "--"+s.Name+"="+text)
		}
	}
	return args
}

// texts returns the command line texts of a value or of the elements of a list.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case int64:
		return []string{strconv.FormatInt(v, 10)}
	case float64:
		return []string{strconv.FormatFloat(v, 'g', -1, 64)}
	case []any:
		var all []string
		for _, element := range v {
			all = append(all, texts(element)...)
		}
		return all
	}
	panic(fmt.Sprintf("study.texts: a value of type %T", value)) // checkValue refuses other types
}

// checkValue refuses values that no flag can have, such as a date.
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

// fixed returns flags with one value each, by name.
func fixed(flags map[string]any) (settings []Setting) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		settings = append(settings, Setting{name, flags[name]})
	}
	return settings
}

// grid is every combination of the values of some flags.
type grid []axis

// axis is one flag and its values.
type axis struct {
	name   string
	values []any
}

// newGrid orders flags by name, so that the grid does not depend on the order in the file.
func newGrid(values map[string][]any) (g grid) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		g = append(g, axis{name, values[name]})
	}
	return g
}

// count is the number of combinations; 1 for an empty grid.
func (g grid) count() int {
	n := 1
	for _, a := range g {
		n *= len(a.values)
	}
	return n
}

// at returns combination i; the last flag changes fastest.
func (g grid) at(i int) []Setting {
	settings := make([]Setting, len(g))
	for k := len(g) - 1; k >= 0; k-- {
		n := len(g[k].values)
		settings[k] = Setting{g[k].name, g[k].values[i%n]}
		i /= n
	}
	return settings
}
