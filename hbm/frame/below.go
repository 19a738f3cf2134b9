package frame

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// Below returns the frame of the fitted rows, in the table seen, followed by the rows of a new
// table, fresh, and the index of the first new row. It adds notes to rows, and leaves rows.Y nil
// unless every new row has a response. If the response has trials, or weights that count rows, and
// repeat is false, each new row has one trial or weight 1, and its response is not read.
func (f *Frame) Below(seen, fresh *table.Table, options Options, rows *predict.Rows, repeat bool) (frame *Frame, first int, err error) {
	used, err := UsedColumns(seen, options, f.Formula)
	if err != nil {
		return nil, 0, err
	}
	if seen, _, err = seen.Complete(used, options.DropMissing); err != nil {
		return nil, 0, err
	}
	first = seen.Rows()
	response := f.Formula.Response.Columns()
	if f.Formula.Censored.Column != "" {
		response = append(response, f.Formula.Censored.Column)
	}
	if f.repeats() && !repeat {
		fresh = f.asOneRow(fresh)
	}
	observed := (repeat || !f.repeats()) && !slices.ContainsFunc(response, func(name string) bool { return !slices.Contains(fresh.Names(), name) })
	if missing, err := fresh.Missing(response); observed && (err != nil || len(missing) > 0) {
		observed = false
		rows.Notes = append(rows.Notes, f.Formula.Response.String()+" is not known in every row: it is not compared")
	}
	if observed {
		rows.Y = []float64{}
	} else if !f.Formula.Counts() { // the response is not used: any value will do
		for _, name := range response {
			column, err := seen.Lookup(name)
			if err != nil {
				return nil, 0, err
			}
			fresh = fresh.With(column.Repeated(0, fresh.Rows()))
		}
	}
	both, dropped, err := f.withGroupLabels(seen, fresh).Below(fresh, used, options.DropMissing)
	if err != nil {
		return nil, 0, err
	}
	if dropped > 0 {
		rows.Notes = append(rows.Notes, fmt.Sprintf("%s of %s with missing values %s no prediction", english.Count(dropped, "row"), fresh.Path, english.Form(dropped, "has", "have")))
	}
	if err := f.checkSeen(both, first, rows); err != nil {
		return nil, 0, err
	}
	if f.Response.HasCategories() {
		options.Levels = f.Labels
	}
	if f.repeats() {
		first = f.Rows()
	}
	if frame, err = build(both, options, first); err != nil {
		return nil, 0, err
	}
	for k, g := range f.Groupings {
		if !slices.Equal(Names(g.Columns), Names(frame.Groupings[k].Columns)) {
			return nil, 0, fmt.Errorf("%s: the rows have combinations of labels that the run has not seen: got the columns %q that vary by %s, want %q", fresh.Path, Names(frame.Groupings[k].Columns), g.Name, Names(g.Columns))
		}
	}
	if !slices.Equal(Names(f.Columns), Names(frame.Columns)) {
		return nil, 0, fmt.Errorf("%s: the rows have combinations of labels that the run has not seen: got the columns %q, want %q", fresh.Path, Names(frame.Columns), Names(f.Columns))
	}
	return frame, first, nil
}

// withGroupLabels returns seen with the numbers of each column of groups as labels if fresh has
// texts in this column.
func (f *Frame) withGroupLabels(seen, fresh *table.Table) *table.Table {
	for _, v := range f.Formula.Varying {
		for _, group := range v.Group {
			old, err := seen.Lookup(group.Column)
			named, absent := fresh.Lookup(group.Column)
			if err != nil || absent != nil || old.Kind != table.Numeric || named.Kind != table.Factor {
				continue // the code that reads the column reports other errors
			}
			seen = seen.With(old.AsFactor())
		}
	}
	return seen
}

// repeats reports whether a row of the table may stand for several rows of the frame, by its number
// of trials or its weight.
func (f *Frame) repeats() bool {
	return f.Formula.Counts() || f.Weights == nil && len(f.Formula.Weights.Columns()) > 0
}

// asOneRow gives each row of fresh one trial, or the weight 1, so that the row stands for one row
// of the frame.
func (f *Frame) asOneRow(fresh *table.Table) *table.Table {
	for _, v := range []formula.Variable{f.Formula.Response, f.Formula.Trials, f.Formula.Failures, f.Formula.Weights} {
		value := 1.0
		if v.Column == f.Formula.Response.Column {
			if value = 0; !f.Formula.Counts() {
				continue // Below fills in the response
			}
		}
		for _, name := range v.Columns() {
			fresh = fresh.With(table.Numbers(name, slices.Repeat([]float64{value}, fresh.Rows())))
		}
	}
	return fresh
}

// checkSeen compares the values of population and varying terms in the new rows, which begin at
// index first, with the values in the rows before. An unseen label is an error, and numbers outside
// the earlier range a note.
func (f *Frame) checkSeen(both *table.Table, first int, rows *predict.Rows) error {
	checked := map[string]bool{}
	for _, v := range slices.Concat(f.Formula.Products()...) {
		for _, column := range v.Columns() {
			if checked[column] || v.Transform == formula.TakeSteps { // Variable.steps checks it
				continue
			}
			checked[column] = true
			c, err := both.Lookup(column)
			if err != nil {
				return err
			}
			note, err := both.CheckSeen(c, first, v.Transform == formula.AsFactor)
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
