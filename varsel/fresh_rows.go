package varsel

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// freshRows is a new table below the one that a run has seen, so that labels, bends and other
// shapes of predictors are those of the run.
type freshRows struct {
	p        *Problem
	record   *Record
	layout   *layout
	both     *table.Table
	first    int       // its first row in both
	observed bool      // its responses are known
	trials   []float64 // results of all trials, of which both has a row each; nil of other responses
}

// expandFresh expands the predictors of a new table as those of the design were. Where the response
// counts successes, a new row has as many rows as trials, or without trials one.
func (p *Problem) expandFresh(record *Record, fresh *table.Table, trials bool, rows *predict.Rows, columns [][]float64) error {
	f, err := p.freshRows(record, fresh, trials, rows)
	if err != nil {
		return err
	}
	places, unit := f.both.Places()
	rows.Places, rows.Unit = places[f.first:], unit
	if f.observed {
		if rows.Y, err = f.response(); err != nil {
			return err
		}
	}
	offset, err := offsetColumn(f.both, record.Design.Offset)
	if err != nil {
		return err
	}
	if offset != nil {
		rows.Offset = offset[f.first:]
	}
	if err := f.checkSeen(rows); err != nil {
		return err
	}
	return f.fill(columns, len(rows.Places))
}

// freshRows puts a new table below that of the run. Notes of rows say what is left out.
func (p *Problem) freshRows(record *Record, fresh *table.Table, trials bool, rows *predict.Rows) (*freshRows, error) {
	options := record.Design
	if options.Trials != "" && !trials {
		for name, value := range map[string]float64{options.Target: 0, options.Trials: 1} {
			fresh = fresh.With(table.Numbers(name, slices.Repeat([]float64{value}, fresh.Rows())))
		}
	}
	seen, err := record.Table()
	if err != nil {
		return nil, err
	}
	seen, layout, err := newLayout(seen, options)
	if err != nil {
		return nil, err
	}
	labels := slices.Clone(options.Factors)
	for name := range layout.factors {
		labels = append(labels, name)
	}
	fresh = fresh.WithLabels(labels...)
	used := layout.used(options)
	if seen, _, err = seen.Complete(used, options.NA == DropNA); err != nil {
		return nil, err
	}
	response := options.response()
	needed := used[len(response):]
	observed := !slices.ContainsFunc(response, func(name string) bool { return !slices.Contains(fresh.Names(), name) })
	if missing, err := fresh.Missing(response); observed && (err != nil || len(missing) > 0) {
		observed = false
		rows.Notes = append(rows.Notes, fmt.Sprintf("%s is not known in every row: it is not compared", options.Target))
	}
	if observed {
		needed = used
	}
	both, dropped, err := seen.Below(fresh, needed, options.NA == DropNA)
	if err != nil {
		return nil, err
	}
	if dropped > 0 {
		rows.Notes = append(rows.Notes, fmt.Sprintf("%s of %s with missing values %s no prediction", english.Count(dropped, "row"), fresh.Path, english.Form(dropped, "has", "have")))
	}
	f := &freshRows{p: p, record: record, layout: layout, both: both, first: seen.Rows(), observed: observed}
	if options.Trials != "" {
		f.first, f.observed = p.Design.Rows(), observed && trials
		f.both, f.trials, err = eachTrial(both, options)
	}
	return f, err
}

// response is that of the new rows.
func (f *freshRows) response() ([]float64, error) {
	if f.trials != nil {
		return f.trials[f.first:], nil
	}
	options, kind := f.record.Design, f.p.Model.Likelihood
	column, err := f.both.Lookup(options.Target)
	if err != nil {
		return nil, err
	}
	var y []float64
	if kind.HasCategories() {
		y, _, err = likelihood.ReadCategories(f.both, "target", column, kind, f.p.Design.Levels)
	} else {
		y, _, err = likelihood.Read(f.both, "target", column, kind)
	}
	if err != nil {
		return nil, err
	}
	if options.Censored != "" {
		if y, err = likelihood.Censor(f.both, options.Censored, y, kind); err != nil {
			return nil, err
		}
	}
	return y[f.first:], nil
}

// checkSeen notes predictors outside the range of the run's table. A label that it lacks is an
// error.
func (f *freshRows) checkSeen(rows *predict.Rows) error {
	for _, b := range f.layout.blocks {
		for _, name := range b.columns {
			c, err := f.both.Lookup(name)
			if err != nil {
				return err
			}
			note, err := f.both.CheckSeen(c, f.first, f.layout.factors[name])
			if err != nil {
				return err
			}
			if note != "" {
				rows.Notes = append(rows.Notes, note)
			}
		}
	}
	return nil
}

// fill writes the columns of the design, of n new rows.
func (f *freshRows) fill(columns [][]float64, n int) error {
	predictors, err := f.layout.expand(f.both, f.first)
	if err != nil {
		return err
	}
	raw := make(map[string][]float64)
	for _, predictor := range predictors {
		for _, c := range predictor.columns {
			raw[c.name] = c.values
		}
	}
	for j, name := range f.p.Design.Names {
		switch values, left, right := raw[name], "", ""; {
		case j == f.p.Design.Intercept:
			columns[j] = slices.Repeat([]float64{1}, n)
		case values != nil:
			columns[j] = values[f.first:]
		default:
			left, right, _ = strings.Cut(name, ":")
			if raw[left] == nil || raw[right] == nil {
				return fmt.Errorf("%s: column %q of the design is none of the table: two columns of the run have one name", filepath.Base(f.record.Data), name)
			}
			columns[j] = product(raw[left], raw[right], f.first, !f.record.Design.NoStandardize)
		}
	}
	return nil
}
