package design

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// freshRows is a new table, appended to the table of the design (in the field both) so that labels
// and the shapes of terms, such as polynomials, come from the design.
type freshRows struct {
	predict.Rows
	design   *Design
	options  Options
	layout   *layout
	both     *table.Table
	first    int       // number of the first row of both that is from the new table
	observed bool      // whether the responses of the new table are known
	trials   []float64 // results of all trials, one for each row of both; nil without trials
}

// Fresh expands the predictors of a new table in the same way as d. The argument seen is the table
// from which d was made, with the same options. If the response counts successes and trials is
// true, each trial becomes a row; otherwise each row of the new table does. The result columns
// [D][n] holds the columns of the design matrix, in the units of the table. Of rows it sets Places
// and Unit, Offset, Y if responses are known, and Notes on rows left out and on predictors outside
// their range in the table of the design.
func (d *Design) Fresh(opt Options, seen, fresh *table.Table, trials bool) (rows *predict.Rows, columns [][]float64, err error) {
	f, err := d.below(opt, seen, fresh, trials)
	if err != nil {
		return nil, nil, err
	}
	places, unit := f.both.Places()
	f.Places, f.Unit = places[f.first:], unit
	if f.observed {
		if f.Y, err = f.response(); err != nil {
			return nil, nil, err
		}
	}
	offset, err := opt.offsets(f.both)
	if err != nil {
		return nil, nil, err
	}
	if offset != nil {
		f.Offset = offset[f.first:]
	}
	if err := f.checkSeen(); err != nil {
		return nil, nil, err
	}
	columns, err = f.columns(filepath.Base(seen.Path))
	return &f.Rows, columns, err
}

// Variables returns the columns of a table that predictors and offset use, and the table with the
// rows that a design keeps.
func Variables(t *table.Table, opt Options) (variables []predict.Variable, rows *table.Table, err error) {
	t, layout, err := newLayout(t, opt)
	if err != nil {
		return nil, nil, err
	}
	if t, _, _, err = layout.complete(t, opt); err != nil {
		return nil, nil, err
	}
	names := layout.used(opt)[len(opt.responseColumns()):]
	names = append(names[len(layout.offset):], layout.offset...)
	for _, name := range names {
		c, err := t.Lookup(name)
		if err != nil {
			return nil, nil, err
		}
		variables = append(variables, predict.Variable{Name: name, Labels: layout.factors[name] || c.Kind == table.Factor})
	}
	return variables, t, nil
}

// below returns the rows of a new table, appended to the table of the design.
func (d *Design) below(opt Options, seen, fresh *table.Table, trials bool) (*freshRows, error) {
	if opt.Trials != "" && !trials {
		for name, value := range map[string]float64{opt.Target: 0, opt.Trials: 1} {
			fresh = fresh.With(table.Numbers(name, slices.Repeat([]float64{value}, fresh.Rows())))
		}
	}
	seen, layout, err := newLayout(seen, opt)
	if err != nil {
		return nil, err
	}
	labels := slices.AppendSeq(slices.Clone(opt.Factors), maps.Keys(layout.factors))
	fresh = fresh.WithLabels(labels...)
	used := layout.used(opt)
	if seen, _, _, err = layout.complete(seen, opt); err != nil {
		return nil, err
	}
	f := &freshRows{design: d, options: opt, layout: layout, first: seen.Rows()}
	if opt.NA == MeanNA {
		markers, _, err := layout.markers(seen, opt)
		if err != nil {
			return nil, err
		}
		var filled int
		if fresh, filled = fresh.FillGenotypes(markers, seen); filled > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("%s of %s replaced by the mean of the marker in the table of the run", english.Count(filled, "missing genotype"), fresh.Path))
		}
	}
	response := opt.responseColumns()
	needed := used[len(response):]
	f.observed = !slices.ContainsFunc(response, func(name string) bool { return !slices.Contains(fresh.Names(), name) })
	if missing, err := fresh.Missing(response); f.observed && (err != nil || len(missing) > 0) {
		f.observed = false
		f.Notes = append(f.Notes, fmt.Sprintf("%s is not known in every row: it is not compared", opt.Target))
	}
	if f.observed {
		needed = used
	}
	var dropped int
	if f.both, dropped, err = seen.Below(fresh, needed, opt.NA != RefuseNA); err != nil {
		return nil, err
	}
	if dropped > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%s of %s with missing values %s no prediction", english.Count(dropped, "row"), fresh.Path, english.Form(dropped, "has", "have")))
	}
	if opt.Trials != "" {
		each, err := trialsOf(f.both, opt)
		if err != nil {
			return nil, err
		}
		f.first, f.observed = d.Rows(), f.observed && trials
		f.both, f.trials = f.both.Repeat(each.Times), each.Y
	}
	return f, nil
}

func (f *freshRows) response() ([]float64, error) {
	if f.trials != nil {
		return f.trials[f.first:], nil
	}
	y, _, err := readResponse(f.both, f.options, f.design.Levels)
	if err != nil {
		return nil, err
	}
	return y[f.first:], nil
}

// checkSeen adds notes about predictors with values outside their range in the design's table. It
// returns an error for a label that the design's table does not have.
func (f *freshRows) checkSeen() error {
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
				f.Notes = append(f.Notes, note)
			}
		}
	}
	return nil
}

// columns returns the columns of the new rows. path names the design's table in errors.
func (f *freshRows) columns(path string) ([][]float64, error) {
	predictors, err := f.layout.expand(f.both, f.first)
	if err != nil {
		return nil, err
	}
	raw := make(map[string][]float64)
	for _, predictor := range predictors {
		for _, c := range predictor.columns {
			raw[c.name] = c.values
		}
	}
	columns := make([][]float64, f.design.Dim())
	for j, name := range f.design.Names {
		switch values, left, right := raw[name], "", ""; {
		case j == f.design.Intercept:
			columns[j] = slices.Repeat([]float64{1}, len(f.Places))
		case values != nil:
			columns[j] = values[f.first:]
		default:
			left, right, _ = strings.Cut(name, ":")
			if raw[left] == nil || raw[right] == nil {
				return nil, fmt.Errorf("%s: column %q of the design is not in the table, because two columns of the run have one name", path, name)
			}
			columns[j] = product(raw[left], raw[right], f.first, !f.options.NoStandardize)[f.first:]
		}
	}
	return columns, nil
}
