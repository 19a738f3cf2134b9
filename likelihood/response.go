package likelihood

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// Read returns the values [n] of a response column, which must have no missing cells. Two labels of
// a 0/1 response, or two numbers other than 0 and 1, are read as 0 and 1 in increasing order, and
// levels are their texts. Otherwise levels is nil. The argument label, such as "target", names the
// column in errors.
func Read(t *table.Table, label string, c *table.Column, kind Kind) (y []float64, levels []string, err error) {
	label = fmt.Sprintf("%s %q", label, c.Name)
	binary := kind.Binary()
	if binary && c.Kind == table.Numeric {
		odd := slices.ContainsFunc(c.Values, func(v float64) bool { return kind.Expected(v) != "" })
		if labels := c.AsFactor(); odd && len(labels.Levels) == 2 {
			c = labels
		}
	}
	switch {
	case c.Kind == table.Numeric:
		y = slices.Clone(c.Values)
	case !binary:
		return nil, nil, fmt.Errorf("%s: %s: got %s, want numbers for a %s likelihood", t.Path, label, t.TextFound(c), kind)
	case len(c.Levels) > 2:
		const show = 5
		shown := strings.Join(c.Levels[:min(show, len(c.Levels))], ", ")
		return nil, nil, fmt.Errorf("%s: %s: got %s (%s, …), want 0 and 1 or two labels for a %s likelihood", t.Path, label, english.Count(len(c.Levels), "label"), shown, kind)
	default:
		if len(c.Levels) == 1 {
			return nil, nil, nothingToExplain(t, label, c.Levels[0])
		}
		levels = c.Levels
		y = apply.To(c.Codes, func(code int) float64 { return float64(code) })
	}
	if err := Check(t, label, y, kind); err != nil {
		return nil, nil, err
	}
	return y, levels, nil
}

// mostCategories is the largest number of categories. A response with more values is assumed to be
// a count or a number, and refused.
const mostCategories = 50

// ReadCategories returns the categories 0, 1, … [n] of a response column, which must have no
// missing cells, and their texts. The argument levels lists the texts in order; some of them may be
// absent from the column. If levels is nil, the texts are the numbers of the column in increasing
// order, or its labels if the kind has no order. Errors name the column as in Read.
func ReadCategories(t *table.Table, label string, c *table.Column, kind Kind, levels []string) (y []float64, texts []string, err error) {
	label = fmt.Sprintf("%s %q", label, c.Name)
	labels := c.AsFactor()
	switch {
	case levels != nil:
		for k, level := range levels {
			if slices.Contains(levels[:k], level) {
				return nil, nil, fmt.Errorf("%s: the level %q is listed twice", label, level)
			}
		}
		texts = levels
	case c.Kind != table.Numeric && kind.Ordered():
		const show = 5
		shown := strings.Join(labels.Levels[:min(show, len(labels.Levels))], ", ")
		if len(labels.Levels) > show {
			shown += ", …"
		}
		return nil, nil, fmt.Errorf("%s: %s: got labels (%s) and no order of them: want all of them as levels, from the lowest to the highest, for a %s likelihood", t.Path, label, shown, kind)
	default:
		texts = labels.Levels
		for row, v := range c.Values {
			if v != math.Trunc(v) {
				return nil, nil, fmt.Errorf("%s: %s: %s: got %v, want whole numbers or labels for a %s likelihood", t.Path, t.Place(row), label, v, kind)
			}
		}
	}
	if len(texts) > mostCategories {
		return nil, nil, fmt.Errorf("%s: %s: got %d categories, want at most %d for a %s likelihood", t.Path, label, len(texts), mostCategories, kind)
	}
	for row, code := range labels.Codes {
		k := slices.Index(texts, labels.Levels[code])
		if k < 0 {
			return nil, nil, fmt.Errorf("%s: %s: %s: got %q, want one of the levels %s", t.Path, t.Place(row), label, labels.Levels[code], strings.Join(texts, ", "))
		}
		y = append(y, float64(k))
	}
	if len(labels.Levels) == 1 {
		return nil, nil, nothingToExplain(t, label, labels.Levels[0])
	}
	return y, texts, nil
}

// Check returns an error for the first invalid value of a response, and for a response that is
// constant. Errors name the response as in Read.
func Check(t *table.Table, label string, y []float64, kind Kind) error {
	for row, v := range y {
		if expected := kind.Expected(v); expected != "" {
			return fmt.Errorf("%s: %s: %s: got %v, want %s for a %s likelihood", t.Path, t.Place(row), label, v, expected, kind)
		}
	}
	if slices.Min(y) == slices.Max(y) {
		return nothingToExplain(t, label, y[0])
	}
	return nil
}

// Censor returns the times y with a minus sign in rows where the column is 1 instead of 0. These
// times are only lower bounds.
func Censor(t *table.Table, column string, y []float64, kind Kind) ([]float64, error) {
	if !kind.Survival() {
		return nil, fmt.Errorf("%s: censored times, %q, are for the %s and %s likelihoods; this one is %s", t.Path, column, ExponentialKind, WeibullKind, kind)
	}
	c, err := t.Lookup(column)
	if err != nil {
		return nil, fmt.Errorf("censored: %w", err)
	}
	const want = "want 1 where the time is a lower bound and 0 where it is the end"
	if c.Kind != table.Numeric {
		return nil, fmt.Errorf("%s: censored %q: got %s, %s", t.Path, column, t.TextFound(c), want)
	}
	marked, ends := slices.Clone(y), 0
	for row, v := range c.Values {
		switch v {
		case 0:
			ends++
		case 1:
			marked[row] = -y[row]
		default:
			return nil, fmt.Errorf("%s: %s: censored %q: got %v, %s", t.Path, t.Place(row), column, v, want)
		}
	}
	if ends == 0 {
		return nil, fmt.Errorf("%s: every time is a lower bound: nothing is known of how long they are", t.Path)
	}
	return marked, nil
}

func nothingToExplain(t *table.Table, label string, value any) error {
	return fmt.Errorf("%s: %s is %v in every row, so there is nothing to explain", t.Path, label, value)
}
