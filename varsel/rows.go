package varsel

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// Rows are rows under the draws of the run: those it was fitted to if fresh is nil, else those of a
// new table, which needs the columns of all predictors. Its factors may have no labels that the run
// has not seen.
func (r *StoredRun) Rows(fresh *table.Table) (*predict.Rows, error) {
	stored, err := r.readDraws()
	if err != nil {
		return nil, err
	}
	if stored == nil || stored.Len() == 0 {
		return nil, fmt.Errorf("%s holds no %s: repeat the run", r.Dir, DrawsParquet)
	}
	problem, err := r.Record.Problem()
	if err != nil {
		return nil, err
	}
	kind := problem.Model.Likelihood
	rows := &predict.Rows{Survival: kind.Survival(), Discrete: kind.Discrete(), Chain: stored.Chain}
	if kind.HasCategories() {
		rows.Categories = problem.Design.Levels
	} else {
		rows.Response, rows.Labels = likelihood.New(kind, problem.Model.shape()), problem.Design.Levels
	}
	if stored.Covered > 0 && stored.Covered < wellCovered {
		rows.Notes = append(rows.Notes, fmt.Sprintf("the draws are of the most probable models, which hold %.4f of the probability", stored.Covered))
	}
	columns, err := problem.columnsOf(r.Record, fresh, rows)
	if err != nil {
		return nil, err
	}
	problem.fillTerms(rows, stored, columns)
	return rows, nil
}

// wellCovered is the probability of the models with draws above which the others do not matter to a
// prediction. Chosen by hand.
const wellCovered = 0.999

// fillTerms puts the draws of coefficients beside their columns, in the units of the table.
func (p *Problem) fillTerms(rows *predict.Rows, stored *draws.Draws, columns [][]float64) {
	rows.Scale = make([]float64, stored.Len())
	coefficients := make([][]float64, p.Design.Dim())
	for s := range stored.Len() {
		rows.Scale[s] = p.knownScale()
		if rows.Categories != nil {
			rows.Given = append(rows.Given, p.responseGiven(stored.Values(s)))
		}
		p.visit(stored.Code(s), stored.Values(s), func(column int, value float64) {
			if column >= p.Design.Dim() {
				if p.UnknownScale() {
					rows.Scale[s] = value
				}
				return
			}
			if coefficients[column] == nil {
				coefficients[column] = make([]float64, stored.Len())
			}
			coefficients[column][s] = value
		})
	}
	for j, values := range coefficients {
		if values != nil {
			rows.Terms = append(rows.Terms, predict.Term{Name: p.Design.Names[j], X: columns[j], Draws: [][]float64{values}})
		}
	}
}

// columnsOf returns the columns of the design in the units of the table, for its own rows or for
// those of a new table, and fills in the rows' places, responses and offset.
func (p *Problem) columnsOf(record *Record, fresh *table.Table, rows *predict.Rows) ([][]float64, error) {
	design := p.Design
	columns := make([][]float64, design.Dim())
	if fresh != nil {
		return columns, p.expandFresh(record, fresh, rows, columns)
	}
	rows.Places, rows.Unit = design.Places, design.PlaceUnit
	for j := range columns {
		columns[j] = make([]float64, design.Rows())
		for i := range columns[j] {
			columns[j][i] = design.Scaling.Mean[j] + design.Scaling.SD[j]*design.X.At(i, j)
		}
	}
	for _, y := range design.Y {
		rows.Y = append(rows.Y, design.inTable(y))
	}
	rows.Offset = design.Offset // that of a continuous response is taken off Y
	return columns, nil
}

// expandFresh expands the predictors of a new table as those of the design were.
func (p *Problem) expandFresh(record *Record, fresh *table.Table, rows *predict.Rows, columns [][]float64) error {
	options := record.Design
	if options.Trials != "" {
		return fmt.Errorf("%s: the response counts successes in %s, each trial of which is a row: rows of other tables are not predicted", filepath.Base(record.Data), options.Trials)
	}
	seen, err := record.Table()
	if err != nil {
		return err
	}
	seen, layout, err := newLayout(seen, options)
	if err != nil {
		return err
	}
	labels := slices.Clone(options.Factors)
	for name := range layout.factors {
		labels = append(labels, name)
	}
	fresh = fresh.WithLabels(labels...)
	used := layout.used(options)
	if seen, _, err = handleMissing(seen, used, options.NA); err != nil {
		return err
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
		return err
	}
	if dropped > 0 {
		rows.Notes = append(rows.Notes, fmt.Sprintf("%s of %s with missing values %s no prediction", english.Count(dropped, "row"), fresh.Path, english.Form(dropped, "has", "have")))
	}
	first := seen.Rows()
	places, unit := both.Places()
	rows.Places, rows.Unit = places[first:], unit
	if observed {
		column, err := both.Lookup(options.Target)
		if err != nil {
			return err
		}
		var y []float64
		if p.Model.Likelihood.HasCategories() {
			y, _, err = likelihood.ReadCategories(both, "target", column, p.Model.Likelihood, p.Design.Levels)
		} else {
			y, _, err = likelihood.Read(both, "target", column, p.Model.Likelihood)
		}
		if err != nil {
			return err
		}
		if options.Censored != "" {
			if y, err = likelihood.Censor(both, options.Censored, y, p.Model.Likelihood); err != nil {
				return err
			}
		}
		rows.Y = y[first:]
	}
	offset, err := offsetColumn(both, options.Offset)
	if err != nil {
		return err
	}
	if offset != nil {
		rows.Offset = offset[first:]
	}
	for _, b := range layout.blocks {
		for _, name := range b.columns {
			c, err := both.Lookup(name)
			if err != nil {
				return err
			}
			note, err := both.CheckSeen(c, first, layout.factors[name])
			if err != nil {
				return err
			}
			if note != "" {
				rows.Notes = append(rows.Notes, note)
			}
		}
	}
	predictors, err := layout.expand(both, first)
	if err != nil {
		return err
	}
	raw := make(map[string][]float64)
	for _, predictor := range predictors {
		for _, c := range predictor.columns {
			raw[c.name] = c.values
		}
	}
	for j, name := range p.Design.Names {
		switch values, left, right := raw[name], "", ""; {
		case j == p.Design.Intercept:
			columns[j] = slices.Repeat([]float64{1}, len(rows.Places))
		case values != nil:
			columns[j] = values[first:]
		default:
			left, right, _ = strings.Cut(name, ":")
			if raw[left] == nil || raw[right] == nil {
				return fmt.Errorf("%s: column %q of the design is none of the table: two columns of the run have one name", filepath.Base(record.Data), name)
			}
			columns[j] = product(raw[left], raw[right], first, !options.NoStandardize)
		}
	}
	return nil
}

// product multiplies the new rows of two predictors as interactions does: centred and scaled by
// what the run has seen, unless standardize is false.
func product(left, right []float64, first int, standardize bool) []float64 {
	values := slices.Repeat([]float64{1}, len(left)-first)
	for _, column := range [][]float64{left, right} {
		mean, sd := 0.0, 1.0
		if standardize {
			mean, sd = stat.MeanStdDev(column[:first], nil)
		}
		for i, v := range column[first:] {
			values[i] *= (v - mean) / sd
		}
	}
	return values
}
