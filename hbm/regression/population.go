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

// Population implements [predict.Source].
func (r *StoredRun) Population(fresh *table.Table) (*predict.Rows, error) {
	return r.rows(fresh, rowsOptions{})
}
