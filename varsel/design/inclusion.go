package design

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/transdim/vti/table"
)

// otherPredictors is the name in a table of inclusion probabilities that stands for all predictors
// without a row.
const otherPredictors = "*"

// PriorInclusion returns the prior inclusion probabilities of the predictors [G], each strictly
// between 0 and 1, from a table with columns predictor and probability. Each predictor has a row,
// whether it has one column or several. A row named * stands for all predictors without a row.
// Other columns are ignored. Rows with unknown names are ignored too, so that one table serves
// several regions of a genome, but are an error if there is a row *. A predictor gets the largest
// probability among itself and its duplicates that the design has left out. It is an error if a
// predictor has no probability, a name has two rows, or a number is not a probability.
func (d *Design) PriorInclusion(t *table.Table) ([]float64, error) {
	known, err := inclusionByName(t)
	if err != nil {
		return nil, err
	}
	rest, hasRest := known[otherPredictors]
	delete(known, otherPredictors)
	copies := make(map[string]float64) // largest probability of the dropped duplicates of each predictor
	unused := maps.Clone(known)
	for _, dropped := range d.Dropped {
		own, named := known[dropped.Name]
		if !named {
			own = rest
		}
		copies[dropped.Original] = math.Max(copies[dropped.Original], own)
		delete(unused, dropped.Name)
	}
	probabilities := make([]float64, len(d.Predictors))
	for j, predictor := range d.Predictors {
		own, named := known[predictor.Name]
		switch {
		case named:
		case hasRest:
			own = rest
		case copies[predictor.Name] == 0:
			return nil, fmt.Errorf("%s: no row for predictor %q: want one for each predictor, or one with the name %s for the others", t.Path, predictor.Name, otherPredictors)
		}
		probabilities[j] = math.Max(own, copies[predictor.Name])
		delete(unused, predictor.Name)
	}
	if names := slices.Sorted(maps.Keys(unused)); hasRest && len(names) > 0 {
		return nil, fmt.Errorf("%s: %q is not a predictor to select: a misspelled one would get the probability of the row %s", t.Path, names[0], otherPredictors)
	}
	return probabilities, nil
}

// inclusionByName returns the probabilities in a table, by the names of the predictors.
func inclusionByName(t *table.Table) (map[string]float64, error) {
	names, err := t.Lookup("predictor")
	if err != nil {
		return nil, err
	}
	values, err := t.NumbersOf("probability", "a number")
	if err != nil {
		return nil, err
	}
	known := make(map[string]float64, len(values))
	for i, value := range values {
		name := names.Text(i)
		if names.IsMissing(i) {
			return nil, fmt.Errorf("%s: %s: the name of the predictor is missing", t.Path, t.Place(i))
		}
		if _, twice := known[name]; twice {
			return nil, fmt.Errorf("%s: %s: predictor %q has a row already", t.Path, t.Place(i), name)
		}
		if !(value > 0 && value < 1) {
			return nil, fmt.Errorf("%s: %s: %q: got %v, want an inclusion probability strictly between 0 and 1; predictors are left out, or always in, by other options", t.Path, t.Place(i), name, value)
		}
		known[name] = value
	}
	return known, nil
}
