package regression

import (
	"slices"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

var _ predict.Source = (*StoredRun)(nil)

// Predictors implements [predict.Source]: the columns of the population terms and the offsets.
func (r *StoredRun) Predictors() (response string, predictors []predict.Variable, seen *table.Table, err error) {
	if seen, err = r.Record.Table(); err != nil {
		return "", nil, nil, err
	}
	own, err := NewFrame(seen, r.Record.Frame)
	if err != nil {
		return "", nil, nil, err
	}
	f := own.Formula
	seen = seen.WithLabels(f.Labels()...)
	used, err := usedColumns(seen, r.Record.Frame, f)
	if err != nil {
		return "", nil, nil, err
	}
	if seen, _, err = seen.Complete(used, r.Record.Frame.DropMissing); err != nil {
		return "", nil, nil, err
	}
	for _, term := range append(slices.Clone(f.Terms), formula.Term(f.Offsets)) {
		for _, v := range term {
			if order := v.Order(); order != nil {
				if seen, err = inOrder(seen, v.Column, order); err != nil {
					return "", nil, nil, err
				}
			}
			for _, name := range v.Columns() {
				c, err := seen.Lookup(name)
				if err != nil {
					return "", nil, nil, err
				}
				labels := c.Kind == table.Factor || v.Transform == formula.AsFactor
				at := slices.IndexFunc(predictors, func(other predict.Variable) bool { return other.Name == name })
				if at < 0 {
					predictors = append(predictors, predict.Variable{Name: name, Labels: labels})
				} else {
					predictors[at].Labels = predictors[at].Labels || labels
				}
			}
		}
	}
	return f.ResponseText(), predictors, seen, nil
}

// inOrder is a table with the labels of a column in an order, those that it has.
func inOrder(t *table.Table, name string, order []string) (*table.Table, error) {
	column, err := t.Lookup(name)
	if err != nil {
		return nil, err
	}
	column = column.AsFactor()
	ordered := &table.Column{Name: name, Kind: table.Factor, Codes: make([]int, len(column.Codes))}
	for _, label := range order {
		if slices.Contains(column.Levels, label) {
			ordered.Levels = append(ordered.Levels, label)
		}
	}
	for row, code := range column.Codes {
		ordered.Codes[row] = slices.Index(ordered.Levels, column.Levels[code])
	}
	return t.With(ordered), nil
}

// Population implements [predict.Source].
func (r *StoredRun) Population(fresh *table.Table) (*predict.Rows, error) {
	return r.rows(fresh, rowsOptions{})
}
