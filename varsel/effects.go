package varsel

import (
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

var _ predict.Source = (*StoredRun)(nil)

// Predictors implements [predict.Source].
func (r *StoredRun) Predictors() (response string, predictors []predict.Variable, seen *table.Table, err error) {
	options := r.Record.Design
	if seen, err = r.Record.Table(); err != nil {
		return "", nil, nil, err
	}
	seen, layout, err := newLayout(seen, options)
	if err != nil {
		return "", nil, nil, err
	}
	if seen, _, err = seen.Complete(layout.used(options), options.NA == DropNA); err != nil {
		return "", nil, nil, err
	}
	names := layout.used(options)[len(options.response()):]
	if options.Offset != "" {
		names = append(names[1:], options.Offset)
	}
	for _, name := range names {
		c, err := seen.Lookup(name)
		if err != nil {
			return "", nil, nil, err
		}
		predictors = append(predictors, predict.Variable{Name: name, Labels: layout.factors[name] || c.Kind == table.Factor})
	}
	return options.Target, predictors, seen, nil
}

// Population implements [predict.Source]: there are no groups.
func (r *StoredRun) Population(fresh *table.Table) (*predict.Rows, error) { return r.Rows(fresh) }
