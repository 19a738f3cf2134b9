package varsel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// response returns the target [n], checked against the range of the likelihood, and the two texts
// that stand for 0 and 1 when a logistic target is a factor.
func response(t *table.Table, target string, kind likelihood.Kind) (y []float64, levels []string, err error) {
	c, err := t.Lookup(target)
	if err != nil {
		return nil, nil, fmt.Errorf("target: %w", err)
	}
	switch {
	case c.Kind == table.Numeric:
		y = slices.Clone(c.Values)
	case kind == likelihood.LogisticKind:
		y, err = twoLevels(t, c)
		levels = c.Levels
	default:
		err = fmt.Errorf("%s: %s: target %q: a %s likelihood expects numbers, found text %q", t.Path, t.Place(0), target, kind, c.Text(0))
	}
	if err != nil {
		return nil, nil, err
	}
	for row, v := range y {
		if expected := kind.Expected(v); expected != "" {
			return nil, nil, fmt.Errorf("%s: %s: target %q: a %s likelihood expects %s, found %v", t.Path, t.Place(row), target, kind, expected, v)
		}
	}
	if slices.Min(y) == slices.Max(y) {
		return nil, nil, fmt.Errorf("%s: target %q is %s in every row, so there is nothing to explain", t.Path, target, c.Text(0))
	}
	return y, levels, nil
}

// twoLevels codes a factor target: its second level, in byte order, is 1.
func twoLevels(t *table.Table, c *table.Column) ([]float64, error) {
	if len(c.Levels) > 2 {
		const show = 5
		shown := strings.Join(c.Levels[:min(show, len(c.Levels))], ", ")
		return nil, fmt.Errorf("%s: target %q: a logistic likelihood expects 0 and 1 or two labels, found %d labels (%s, …)", t.Path, c.Name, len(c.Levels), shown)
	}
	y := make([]float64, len(c.Codes))
	for row, code := range c.Codes {
		y[row] = float64(code)
	}
	return y, nil
}
