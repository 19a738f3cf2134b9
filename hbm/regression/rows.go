package regression

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// Rows are rows under the draws of the run: those it was fitted to if fresh is nil, else those of
// a new table. Rows of groups that the run has seen have their effects; the effects of others are
// drawn with the standard deviations and correlations of each draw.
func (r *StoredRun) Rows(fresh *table.Table) (*predict.Rows, error) {
	return r.rows(fresh, rowsOptions{groups: true})
}

// Observed are Rows of a new table whose responses are known, with one row for each trial or unit
// of weight of a row of the table.
func (r *StoredRun) Observed(fresh *table.Table) (*predict.Rows, error) {
	return r.rows(fresh, rowsOptions{groups: true, repeat: true})
}

// rowsOptions say what rows are like.
type rowsOptions struct {
	groups bool // with the effects of groups
	repeat bool // as many as rows of a new table stand for
}

// rows are those of Rows and Observed, with or without the effects of groups.
func (r *StoredRun) rows(fresh *table.Table, opt rowsOptions) (*predict.Rows, error) {
	path := filepath.Join(r.Dir, DrawsParquet)
	if !rundir.Exists(path) {
		return nil, fmt.Errorf("%s holds no %s: repeat the run", r.Dir, DrawsParquet)
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
	own, err := NewFrame(seen, r.Record.Frame)
	if err != nil {
		return nil, err
	}
	rows := &predict.Rows{Discrete: own.Response.Discrete(), Survival: own.Response.Survival()}
	if own.Response.HasCategories() {
		if rows.Categories = own.Labels; !own.Response.Ordered() {
			rows.Unordered = likelihood.AgainstFirst(len(own.Labels))
		}
	} else {
		rows.Labels = own.Labels
		rows.Response = likelihood.New(own.Response, likelihood.Shape{Degrees: r.Record.Model.withDefaults().Degrees})
	}
	frame, first := own, 0
	if fresh != nil {
		labels := own.Formula.Labels()
		seen, fresh = seen.WithLabels(labels...), fresh.WithLabels(labels...)
		if frame, first, err = own.below(seen, fresh, r.Record.Frame, rows, opt.repeat); err != nil {
			return nil, err
		}
	}
	rows.Places, rows.Unit = frame.Places[first:], frame.PlaceUnit
	if fresh == nil || rows.Y != nil {
		rows.Y = frame.Y[first:]
	}
	if frame.Offset != nil {
		rows.Offset = frame.Offset[first:]
	}
	column := r.fillPopulation(rows, stored, own, frame, first)
	for k, g := range frame.Groupings {
		if !opt.groups && !g.Smooth { // a smooth function is of the population
			continue
		}
		if err := r.fillGrouping(rows, stored.Len(), column, own, own.Groupings[k], g, first); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// below is the frame of the rows that the run has seen with those of a new table below them, of
// which first is the first. Without a response of every new row rows.Y stays nil. A row of a frame
// that repeats rows is one new row, without a response, unless it is to be repeated as well.
func (f *Frame) below(seen, fresh *table.Table, options FrameOptions, rows *predict.Rows, repeat bool) (frame *Frame, first int, err error) {
	used, err := usedColumns(seen, options, f.Formula)
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
	} else if !f.Formula.Counts() { // any response will do
		for _, name := range response {
			column, err := seen.Lookup(name)
			if err != nil {
				return nil, 0, err
			}
			fresh = fresh.With(column.Repeated(0, fresh.Rows()))
		}
	}
	both, dropped, err := seen.Below(fresh, used, options.DropMissing)
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
	if frame, err = newFrame(both, options, first); err != nil {
		return nil, 0, err
	}
	names := func(columns []Column) (list []string) {
		for _, c := range columns {
			list = append(list, c.Name)
		}
		return list
	}
	for k, g := range f.Groupings {
		if !slices.Equal(names(g.Columns), names(frame.Groupings[k].Columns)) {
			return nil, 0, fmt.Errorf("%s: the rows have combinations of labels that vary by %s and that the run has not seen", fresh.Path, g.Name)
		}
	}
	if !slices.Equal(names(f.Columns), names(frame.Columns)) {
		return nil, 0, fmt.Errorf("%s: the rows have combinations of labels that the run has not seen: got the columns %q, want %q", fresh.Path, names(frame.Columns), names(f.Columns))
	}
	return frame, first, nil
}

// repeats reports whether a row of the table may stand for several of the frame: its trials, or as
// many as its weight says.
func (f *Frame) repeats() bool {
	return f.Formula.Counts() || f.Weights == nil && len(f.Formula.Weights.Columns()) > 0
}

// asOneRow makes each row of a table stand for one row of a frame that repeats rows: for one trial,
// or with a weight of one.
func (f *Frame) asOneRow(fresh *table.Table) *table.Table {
	for _, v := range []formula.Variable{f.Formula.Response, f.Formula.Trials, f.Formula.Failures, f.Formula.Weights} {
		value := 1.0
		if v.Column == f.Formula.Response.Column {
			if value = 0; !f.Formula.Counts() {
				continue // below takes any
			}
		}
		for _, name := range v.Columns() {
			fresh = fresh.With(table.Numbers(name, slices.Repeat([]float64{value}, fresh.Rows())))
		}
	}
	return fresh
}

// checkSeen compares the new values of population and varying terms with those seen.
func (f *Frame) checkSeen(both *table.Table, first int, rows *predict.Rows) error {
	terms := slices.Clone(f.Formula.Terms)
	for _, v := range f.Formula.Varying {
		terms = append(terms, v.Terms...)
	}
	checked := map[string]bool{}
	for _, term := range terms {
		for _, v := range term {
			for _, column := range v.Columns() {
				if checked[column] || v.Transform == formula.TakeSteps { // which has its own errors
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
	}
	return nil
}

// fillPopulation puts the draws of population effects beside their columns, and returns the draws
// of a coordinate by its name, nil for one that the run has not.
func (r *StoredRun) fillPopulation(rows *predict.Rows, stored *draws.Draws, own, frame *Frame, first int) (column func(name string) []float64) {
	at := make(map[string]int, len(stored.Coordinates))
	for j, name := range stored.Coordinates {
		if _, repeated := at[name]; !repeated { // population effects come first
			at[name] = j
		}
	}
	column = func(name string) []float64 {
		j, ok := at[name]
		if !ok {
			return nil
		}
		values := make([]float64, stored.Len())
		for s := range values {
			values[s] = stored.Values(s)[j]
		}
		return values
	}
	if rows.Scale = column(own.Response.Scale()); rows.Scale == nil {
		rows.Scale = slices.Repeat([]float64{1}, stored.Len())
	}
	if names := own.cutNames(); names != nil {
		categories := likelihood.NewCategories(own.Response, len(own.Labels)).(likelihood.OrderedCategories)
		points := make([][]float64, stored.Len())
		for _, name := range names {
			for s, point := range column(name) {
				points[s] = append(points[s], point)
			}
		}
		for _, cuts := range points {
			rows.Given = append(rows.Given, categories.Cut(cuts))
		}
	}
	if frame.SE != nil {
		rows.RowScale = frame.SE[first:]
	}
	for _, weight := range frame.Weights[min(first, len(frame.Weights)):] {
		rows.RowScale = append(rows.RowScale, 1/math.Sqrt(weight))
	}
	for plane, prefix := range own.planeNames() {
		for j, c := range frame.Columns {
			name, coefficient := prefix+c.text(), column(prefix+c.Name)
			if c.Step != "" {
				coefficient = stepCoefficient(coefficient, column(name), frame.steps(j))
			}
			rows.Terms = append(rows.Terms, predict.Term{Name: name, Plane: plane, X: mat.Col(nil, j, frame.X)[first:], Draws: [][]float64{coefficient}})
		}
	}
	return column
}

// fillGrouping adds the effects of one grouping. own is the frame of the run, seen its grouping,
// and g that of the rows.
func (r *StoredRun) fillGrouping(rows *predict.Rows, n int, column func(name string) []float64, own *Frame, seen, g *Grouping, first int) error {
	var levels []string // of the rows, each once
	place := map[int]int{}
	index := make([]int, len(g.Index)-first)
	for i, level := range g.Index[first:] {
		if _, ok := place[level]; !ok {
			place[level] = len(levels)
			levels = append(levels, g.Levels[level])
		}
		index[i] = place[level]
	}
	names := own.varyingNames(g)
	effects := make([][][]float64, len(names)) // by plane and column, and level
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
					return fmt.Errorf("%s: the run keeps no draws of the effects of its %d groups by %s, which are more than %d", r.Dir, len(seen.Levels), g.Name, mostDrawnLevels)
				}
			} else {
				values = make([]float64, n)
			}
			effects[c] = append(effects[c], values)
		}
	}
	if len(fresh) > 0 {
		unseen := make([]string, len(fresh))
		for i, k := range fresh {
			unseen[i] = levels[k]
		}
		rows.Notes = append(rows.Notes, fmt.Sprintf("%s: %s not seen before: effects drawn with the variance of groups", g.Name, listText(unseen)))
		spread := newLevelSpread(column, g)
		for s := range n {
			factor := spread.factor(s)
			for _, k := range fresh {
				random := stream.Rand(uint64(s), "predict/group/"+g.Name+"/"+levels[k])
				for c, effect := range own.newEffects(factor, random) {
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

// levelSpread holds draws of how the effects of a group differ from those of the population.
type levelSpread struct {
	sd          [][]float64   // of each effect, by draw
	correlation [][][]float64 // of effects a > b, by draw; nil for none
}

func newLevelSpread(column func(name string) []float64, g *Grouping) *levelSpread {
	l := &levelSpread{}
	for a, c := range g.Columns {
		l.sd = append(l.sd, column(sdName(c.Name, g.Name)))
		l.correlation = append(l.correlation, nil)
		for b := range a {
			l.correlation[a] = append(l.correlation[a], column(correlationName(g.Columns[b].Name, c.Name, g.Name)))
		}
	}
	return l
}

// factor is the lower Cholesky factor of the covariance under a draw. Effects that are absent have
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

// listText lists names, the first few of many.
func listText(names []string) string {
	const shown = 4
	text := ""
	for i, name := range names[:min(shown, len(names))] {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	if len(names) > shown {
		text += fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return text
}
