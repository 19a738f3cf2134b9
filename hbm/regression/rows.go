package regression

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// Rows returns the fitted rows if fresh is nil, else the rows of the table fresh, with the draws of
// the run. Groups that the run has seen keep their effects. The effects of other groups are drawn
// from the standard deviations and correlations of each draw.
func (r *StoredRun) Rows(fresh *table.Table) (*predict.Rows, error) {
	return r.rows(fresh, rowsOptions{groups: true})
}

// Observed returns the Rows of a new table whose responses are known, with one row for each trial
// or unit of weight of a row of the table.
func (r *StoredRun) Observed(fresh *table.Table) (*predict.Rows, error) {
	return r.rows(fresh, rowsOptions{groups: true, repeat: true})
}

// rowsOptions chooses rows and their terms.
type rowsOptions struct {
	groups bool // whether predictors include the effects of groups
	repeat bool // one row for each trial or unit of weight of a row of a new table
}

// rows returns the rows of Rows and Observed, with or without the effects of groups.
func (r *StoredRun) rows(fresh *table.Table, opt rowsOptions) (*predict.Rows, error) {
	path := filepath.Join(r.Dir, draws.ParquetFile)
	if !rundir.Exists(path) {
		return nil, fmt.Errorf("%s holds no %s: repeat the run", r.Dir, draws.ParquetFile)
	}
	stored, err := draws.Read(path)
	if err != nil {
		return nil, err
	}
	if stored.Len() == 0 {
		return nil, fmt.Errorf("%s holds no draws", path)
	}
	seen, err := r.Record.Table()
	if err != nil {
		return nil, err
	}
	fitted, err := frame.New(seen, r.Record.Frame)
	if err != nil {
		return nil, err
	}
	rows := &predict.Rows{Discrete: fitted.Response.Discrete(), Survival: fitted.Response.Survival()}
	if fitted.Response.HasCategories() {
		if rows.Categories = fitted.Labels; !fitted.Response.Ordered() {
			rows.Unordered = likelihood.AgainstFirst(len(fitted.Labels))
		}
	} else {
		rows.Labels = fitted.Labels
		rows.Response = likelihood.New(fitted.Response, likelihood.Shape{Degrees: r.Record.Model.withDefaults().Degrees})
	}
	design, first := fitted, 0
	if fresh != nil {
		labels := fitted.Formula.Labels()
		seen, fresh = seen.WithLabels(labels...), fresh.WithLabels(labels...)
		if design, first, err = fitted.Below(seen, fresh, r.Record.Frame, rows, opt.repeat); err != nil {
			return nil, err
		}
	}
	rows.Places, rows.Unit = design.Places[first:], design.PlaceUnit
	if fresh == nil || rows.Y != nil {
		rows.Y = design.Y[first:]
	}
	if design.Offset != nil {
		rows.Offset = design.Offset[first:]
	}
	column := r.fillPopulation(rows, stored, fitted, design, first)
	for k, g := range design.Groupings {
		if !opt.groups && !g.Smooth { // a smooth function belongs to the population
			continue
		}
		if err := r.fillGrouping(rows, stored.Len(), column, fitted, fitted.Groupings[k], g, first); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// fillPopulation adds to rows the columns of the population, with the draws of their effects. It
// returns a function from the name of a coordinate to its draws, or to nil if the run lacks it.
func (r *StoredRun) fillPopulation(rows *predict.Rows, stored *draws.Draws, fitted, design *frame.Frame, first int) (column func(name string) []float64) {
	columnOf := make(map[string]int, len(stored.Coordinates))
	for j, name := range stored.Coordinates {
		if _, repeated := columnOf[name]; !repeated { // population effects go first
			columnOf[name] = j
		}
	}
	column = func(name string) []float64 {
		j, ok := columnOf[name]
		if !ok {
			return nil
		}
		return apply.UpTo(stored.Len(), func(s int) float64 { return stored.Values(s)[j] })
	}
	if rows.Scale = column(fitted.Response.Scale()); rows.Scale == nil {
		rows.Scale = slices.Repeat([]float64{1}, stored.Len())
	}
	if names := fitted.CutNames(); names != nil {
		categories := likelihood.NewCategories(fitted.Response, len(fitted.Labels)).(likelihood.OrderedCategories)
		points := make([][]float64, stored.Len())
		for _, name := range names {
			for s, point := range column(name) {
				points[s] = append(points[s], point)
			}
		}
		rows.Given = apply.To(points, func(cuts []float64) predict.Response { return categories.Cut(cuts) })
	}
	if design.SE != nil {
		rows.RowScale = design.SE[first:]
	}
	for _, weight := range design.Weights[min(first, len(design.Weights)):] {
		rows.RowScale = append(rows.RowScale, 1/math.Sqrt(weight))
	}
	for plane, prefix := range fitted.PlaneNames() {
		for j, c := range design.Columns {
			name, coefficient := prefix+c.Text(), column(prefix+c.Name)
			if c.Step != "" {
				coefficient = frame.StepCoefficient(coefficient, column(name), design.Steps(j))
			}
			rows.Terms = append(rows.Terms, predict.Term{Name: name, Plane: plane, X: mat.Col(nil, j, design.X)[first:], Draws: [][]float64{coefficient}})
		}
	}
	return column
}

// fillGrouping adds the effects of one grouping to rows, for n draws. fitted is the frame of the
// run, seen the grouping in this frame, and g the grouping of the rows, which begin at row first.
func (r *StoredRun) fillGrouping(rows *predict.Rows, n int, column func(name string) []float64, fitted *frame.Frame, seen, g *frame.Grouping, first int) error {
	var levels []string // the levels that the rows have, each once
	place := map[int]int{}
	index := make([]int, len(g.Index)-first)
	for i, level := range g.Index[first:] {
		if _, ok := place[level]; !ok {
			place[level] = len(levels)
			levels = append(levels, g.Levels[level])
		}
		index[i] = place[level]
	}
	names := fitted.VaryingNames(g)
	effects := make([][][]float64, len(names)) // draws of each effect, by plane and column, and by level
	var fresh []int
	for k, level := range levels {
		known := slices.Contains(seen.Levels, level)
		if !known {
			fresh = append(fresh, k)
		}
		for c, name := range names {
			var values []float64
			if known {
				if values = column(levelName(name, g.Name, level)); values == nil {
					return fmt.Errorf("%s: the run has %d groups by %s and keeps draws of the effects of at most %d", r.Dir, len(seen.Levels), g.Name, mostDrawnLevels)
				}
			} else {
				values = make([]float64, n)
			}
			effects[c] = append(effects[c], values)
		}
	}
	if len(fresh) > 0 {
		unseen := apply.To(fresh, func(k int) string { return levels[k] })
		rows.Notes = append(rows.Notes, fmt.Sprintf("%s: %s not seen before: effects drawn with the variance of groups", g.Name, english.List(unseen, 4)))
		spread := newLevelSpread(column, g)
		for s := range n {
			factor := spread.factor(s)
			for _, k := range fresh {
				random := stream.Rand(uint64(s), "predict/group/"+g.Name+"/"+levels[k])
				for c, effect := range fitted.NewEffects(factor, random) {
					effects[c][k][s] = effect
				}
			}
		}
	}
	for at, name := range names {
		plane, c := at/len(g.Columns), at%len(g.Columns)
		rows.Terms = append(rows.Terms, predict.Term{Name: name + " | " + g.Name, Plane: plane, X: mat.Col(nil, c, g.Z)[first:], Level: index, Draws: effects[at]})
	}
	return nil
}

// levelSpread holds draws of the covariance of the effects of a group around the population.
type levelSpread struct {
	sd          [][]float64   // standard deviation of each effect, by draw
	correlation [][][]float64 // correlations of effects a > b, by draw; nil if they have none
}

func newLevelSpread(column func(name string) []float64, g *frame.Grouping) *levelSpread {
	l := &levelSpread{}
	for a, c := range g.Columns {
		l.sd = append(l.sd, column(frame.SDName(c.Name, g.Name)))
		l.correlation = append(l.correlation, nil)
		for b := range a {
			l.correlation[a] = append(l.correlation[a], column(frame.CorrelationName(g.Columns[b].Name, c.Name, g.Name)))
		}
	}
	return l
}

// factor returns the lower Cholesky factor of the covariance in one draw. Absent effects have
// variance 0.
func (l *levelSpread) factor(draw int) [][]float64 {
	factor := make([][]float64, len(l.sd))
	for a := range factor {
		factor[a] = make([]float64, len(l.sd))
		left := l.sd[a][draw] * l.sd[a][draw]
		for b := range a {
			value := 0.0
			if l.correlation[a][b] != nil {
				value = l.correlation[a][b][draw] * l.sd[a][draw] * l.sd[b][draw]
			}
			for c := range b {
				value -= factor[a][c] * factor[b][c]
			}
			if factor[b][b] > 0 {
				factor[a][b] = value / factor[b][b]
			}
			left -= factor[a][b] * factor[a][b]
		}
		factor[a][a] = math.Sqrt(math.Max(left, 0))
	}
	return factor
}

var _ predict.Source = (*StoredRun)(nil)

// Predictors implements [predict.Source]. It returns the columns of the population terms and of the
// offsets.
func (r *StoredRun) Predictors() (response string, predictors []predict.Variable, seen *table.Table, err error) {
	if seen, err = r.Record.Table(); err != nil {
		return "", nil, nil, err
	}
	fitted, err := frame.New(seen, r.Record.Frame)
	if err != nil {
		return "", nil, nil, err
	}
	f := fitted.Formula
	seen = seen.WithLabels(f.Labels()...)
	used, err := frame.UsedColumns(seen, r.Record.Frame, f)
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

// inOrder returns a table with the labels of a column in the given order, without labels that no
// row has.
func inOrder(t *table.Table, name string, order []string) (*table.Table, error) {
	column, err := t.Lookup(name)
	if err != nil {
		return nil, err
	}
	column = column.AsFactor()
	ordered := &table.Column{Name: name, Kind: table.Factor, Codes: make([]int, len(column.Codes))}
	ordered.Levels = apply.Keep(order, func(label string) bool { return slices.Contains(column.Levels, label) })
	for row, code := range column.Codes {
		ordered.Codes[row] = slices.Index(ordered.Levels, column.Levels[code])
	}
	return t.With(ordered), nil
}

// Population implements [predict.Source].
func (r *StoredRun) Population(fresh *table.Table) (*predict.Rows, error) {
	return r.rows(fresh, rowsOptions{})
}
