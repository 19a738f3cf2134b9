package varsel

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
)

var _ predict.Source = (*StoredRun)(nil)

// Rows returns rows together with the draws of the run: the rows of the run if fresh is nil, and
// otherwise the rows of the new table fresh. The new table needs the columns of all predictors. Its
// factors may have no labels unknown to the run. If the response counts successes, a new row is one
// trial, without a response.
func (r *StoredRun) Rows(fresh *table.Table) (*predict.Rows, error) { return r.rows(fresh, false) }

// Observed returns the same as Rows for a new table whose responses are known. It returns a row for
// each trial.
func (r *StoredRun) Observed(fresh *table.Table) (*predict.Rows, error) { return r.rows(fresh, true) }

// rows returns the result of Rows, or of Observed if trials is true.
func (r *StoredRun) rows(fresh *table.Table, trials bool) (*predict.Rows, error) {
	stored, err := r.readDraws()
	if err != nil {
		return nil, err
	}
	if stored == nil || stored.Len() == 0 {
		return nil, fmt.Errorf("%s holds no %s: repeat the run", r.Dir, draws.ParquetFile)
	}
	problem, err := r.Record.Problem()
	if err != nil {
		return nil, err
	}
	if problem.Design.Statistics != nil {
		return nil, fmt.Errorf("%s is a run on summary statistics: it has no rows to compare with or predict", r.Dir)
	}
	rows, columns, err := r.columns(problem.Design, fresh, trials)
	if err != nil {
		return nil, err
	}
	kind := problem.Model.Likelihood
	rows.Survival, rows.Discrete, rows.Chain = kind.Survival(), kind.Discrete(), stored.Chain
	if kind.HasCategories() {
		if rows.Categories = problem.Design.Levels; !kind.Ordered() {
			rows.Unordered = likelihood.AgainstFirst(len(rows.Categories))
		}
	} else {
		rows.Response, rows.Labels = likelihood.New(kind, problem.Model.shape()), problem.Design.Levels
	}
	if stored.Covered > 0 && stored.Covered < wellCovered {
		rows.Notes = slices.Insert(rows.Notes, 0, fmt.Sprintf("the draws are of the most probable models, which hold %.4f of the probability", stored.Covered))
	}
	problem.fillTerms(rows, stored, columns)
	return rows, nil
}

// wellCovered is the smallest total probability with which the models that have draws stand for all
// models. If their probability is smaller, predictions have a note that says so. Half and twice the
// difference from 1 give the same answers (docs/benchmarks/constants.md).
const wellCovered = 0.999

// fillTerms pairs the draws of coefficients with their columns, in the units of the table.
func (p *Problem) fillTerms(rows *predict.Rows, stored *draws.Draws, columns [][]float64) {
	rows.Scale = make([]float64, stored.Len())
	names, planes := p.coefficientNames(), p.Target.Planes()
	coefficients := make([][]float64, len(names))
	for s := range stored.Len() {
		rows.Scale[s] = p.knownScale()
		if rows.Categories != nil && rows.Unordered == nil {
			rows.Given = append(rows.Given, p.responseGiven(stored.Values(s)))
		}
		p.visit(stored.Code(s), stored.Values(s), func(column int, value float64) {
			if column >= len(names) {
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
	for at, values := range coefficients {
		if values != nil {
			rows.Terms = append(rows.Terms, predict.Term{Name: names[at], Plane: at % planes, X: columns[at/planes], Draws: [][]float64{values}})
		}
	}
}

// columns returns the columns of the design in the units of the table, for its rows or for the rows
// of a new table. The result rows holds the numbers of these rows in their file, their responses
// and their offsets.
func (r *StoredRun) columns(d *Design, fresh *table.Table, trials bool) (rows *predict.Rows, columns [][]float64, err error) {
	if fresh != nil {
		seen, err := r.Record.Table()
		if err != nil {
			return nil, nil, err
		}
		return d.Fresh(r.Record.Design, seen, fresh, trials)
	}
	rows = &predict.Rows{Places: d.Places, Unit: d.PlaceUnit, Offset: d.Offset} // the offset of a continuous response was subtracted from Y
	for j := range d.Dim() {
		columns = append(columns, d.Column(j))
	}
	for _, y := range d.Y {
		rows.Y = append(rows.Y, d.InTable(y))
	}
	return rows, columns, nil
}

// Predictors implements [predict.Source].
func (r *StoredRun) Predictors() (response string, predictors []predict.Variable, seen *table.Table, err error) {
	if seen, err = r.Record.Table(); err != nil {
		return "", nil, nil, err
	}
	predictors, seen, err = design.Variables(seen, r.Record.Design)
	return r.Record.Design.Target, predictors, seen, err
}

// Population implements [predict.Source]. There are no groups to average over.
func (r *StoredRun) Population(fresh *table.Table) (*predict.Rows, error) { return r.Rows(fresh) }
