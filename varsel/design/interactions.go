package design

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/table"
)

// AllInteractions, as the only entry of Options.Interactions, stands for the products of all pairs
// of numeric predictors.
const AllInteractions = "all"

// interactions returns the products of pairs of predictors as new predictors, named "a:b". The
// argument asked lists the names. Unless standardize is false, the two predictors are centred and
// scaled first, since their product would otherwise be strongly correlated with them. Coefficients
// of products refer to these standardised predictors, even on the scale of the table.
func interactions(t *table.Table, predictors []rawPredictor, asked []string, standardize bool) ([]rawPredictor, error) {
	numeric := func(p rawPredictor) bool { return len(p.columns) == 1 && p.columns[0].name == p.name }
	var pairs [][2]rawPredictor
	switch {
	case len(asked) == 1 && asked[0] == AllInteractions:
		for i, a := range predictors {
			for _, b := range predictors[i+1:] {
				if numeric(a) && numeric(b) {
					pairs = append(pairs, [2]rawPredictor{a, b})
				}
			}
		}
		if len(pairs) == 0 {
			return nil, fmt.Errorf("%s: interactions: want at least two numeric predictors", t.Path)
		}
	default:
		find := func(pair, name string) (rawPredictor, error) {
			for _, p := range predictors {
				if p.name != name {
					continue
				}
				if !numeric(p) {
					return p, fmt.Errorf("%s: interaction %q: %q is a factor or a group, want numeric columns", t.Path, pair, name)
				}
				return p, nil
			}
			if _, err := t.Lookup(name); err != nil {
				return rawPredictor{}, fmt.Errorf("interaction %q: %w", pair, err)
			}
			return rawPredictor{}, fmt.Errorf("%s: interaction %q: %q is not a predictor here", t.Path, pair, name)
		}
		for _, pair := range asked {
			left, right, found := strings.Cut(pair, ":")
			if !found || left == right {
				return nil, fmt.Errorf("interaction: got %q, want two columns as a:b", pair)
			}
			a, err := find(pair, left)
			if err != nil {
				return nil, err
			}
			b, err := find(pair, right)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, [2]rawPredictor{a, b})
		}
	}
	products := make([]rawPredictor, len(pairs))
	for i, pair := range pairs {
		name := pair[0].name + ":" + pair[1].name
		if slices.ContainsFunc(products[:i], func(p rawPredictor) bool { return p.name == name }) {
			return nil, fmt.Errorf("interaction %q is named twice", name)
		}
		values := product(pair[0].columns[0].values, pair[1].columns[0].values, t.Rows(), standardize)
		products[i] = rawPredictor{name: name, columns: []rawColumn{{name, values}}, parents: []string{pair[0].name, pair[1].name}}
	}
	return products, nil
}

// product multiplies two predictors. If standardize is true it first centres and scales them by
// mean and standard deviation of the first rows, to which the run is fitted; seen is their number.
func product(left, right []float64, seen int, standardize bool) []float64 {
	values := slices.Repeat([]float64{1}, len(left))
	for _, column := range [][]float64{left, right} {
		mean, sd := 0.0, 1.0
		if standardize {
			mean, sd = stat.MeanStdDev(column[:seen], nil) // not 0: constant columns were removed before
		}
		for i, v := range column {
			values[i] *= (v - mean) / sd
		}
	}
	return values
}

// HasInteractions reports whether a predictor is a product of other predictors. Heredity, the rule
// that products need their factors, may then restrict the models.
func (d *Design) HasInteractions() bool {
	return slices.ContainsFunc(d.Predictors, func(p Predictor) bool { return len(p.Parents) > 0 })
}
