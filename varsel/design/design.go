package design

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// PredictorGroup names columns that enter and leave a model together.
type PredictorGroup struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Options sets the use of the columns of a table. All other columns are selectable predictors.
type Options struct {
	// Target is the response column; it must be set.
	Target string `json:"target"`
	// Likelihood decides which responses are valid and whether the response is scaled.
	Likelihood likelihood.Kind `json:"likelihood"`
	// Formula, if not empty, lists the terms. The columns of a term enter and leave a model
	// together. [Options.WithFormula] sets Formula, Target and other fields.
	Formula string `json:"formula,omitempty"`
	// Always names columns, or terms of the formula, that are in every model.
	Always []string `json:"always,omitempty"`
	// Exclude names columns that are not used.
	Exclude []string `json:"exclude,omitempty"`
	// Groups names columns that enter and leave a model together.
	Groups []PredictorGroup `json:"groups,omitempty"`
	// Interactions names products of two predictors as "a:b", or is the single entry
	// AllInteractions. Products are listed behind the other predictors.
	Interactions []string `json:"interactions,omitempty"`
	// Factors names numeric columns whose values are labels of categories.
	Factors []string `json:"factors,omitempty"`
	// Censored names a column that is 1 where the time in the response is only a lower bound, and 0
	// otherwise; "" for none. It is for survival times.
	Censored string `json:"censored,omitempty"`
	// Trials names a column of the numbers of trials whose successes the response counts; "" if
	// each row is one trial. It is for the logistic likelihood.
	Trials string `json:"trials,omitempty"`
	// Offset names a numeric column added to the linear predictor as it is, or a function of
	// columns such as log(exposure); "" for none.
	Offset string `json:"offset,omitempty"`
	// NoStandardize keeps predictors and response as they are in the table.
	NoStandardize bool `json:"no_standardize,omitempty"`
	// Levels are the labels of an ordered categorical response, in their order; the table may lack
	// some. They are nil for numeric responses, and for categories without an order.
	Levels []string `json:"levels,omitempty"`
	// NoIntercept leaves out the column of ones.
	NoIntercept bool `json:"no_intercept,omitempty"`
	// DropDegenerate leaves out constant and duplicated columns instead of refusing them.
	DropDegenerate bool `json:"drop_degenerate,omitempty"`
	// NA is the policy for rows with a missing cell in a used column.
	NA NAPolicy `json:"na"`
}

// Predictor is a selectable predictor. Its coordinates enter and leave a model together.
type Predictor struct {
	// Name is the column's or the group's name.
	Name string
	// Coordinates index the columns of the design matrix.
	Coordinates []int
	// Parents are the numbers of the selectable predictors that an interaction multiplies. They are
	// smaller than the number of the interaction.
	Parents []int
	// AlwaysParent is set if a predictor that the interaction multiplies is in every model.
	AlwaysParent bool
}

// Dropped is a predictor column left out because it carries no information.
type Dropped struct {
	Name   string
	Reason string
	// Original is the column that it duplicates; "" if it is constant.
	Original string
}

// ErrDegenerate is the error for constant and duplicated columns, which DropDegenerate of [Options]
// avoids.
var ErrDegenerate = errors.New("predictors that carry no information")

// Design is a data set ready for inference. Its columns and a continuous response are on the
// working scale: centred and divided by their standard deviations, unless Options.NoStandardize is
// set.
type Design struct {
	// Path and Fingerprint identify the file of the data.
	Path, Fingerprint string
	// Target is the name of the response, and Likelihood its kind of likelihood.
	Target     string
	Likelihood likelihood.Kind
	// Levels are the two labels of a factor response, which stand for 0 and 1, or the labels of a
	// categorical response; nil for numbers.
	Levels []string
	// Y is the response [n], or its logarithm for a logarithmic likelihood. For continuous
	// likelihoods the offset is subtracted from it, and it is centred and scaled. A censored time,
	// known by its lower bound only, is stored as minus that bound.
	Y []float64
	// Offset [n] is added to the linear predictor. It is nil without an offset, and for continuous
	// likelihoods, where the offset is subtracted from the response.
	Offset []float64
	// X is the design matrix [n, D].
	X *mat.Dense
	// Names are the names of the D columns: "(Intercept)", a name of the table, or "factor=level".
	// All differ: if a column is called "(Intercept)", the intercept gets more parentheses.
	Names []string
	// Intercept is the coordinate of the column of ones that is not in the table, -1 for none.
	Intercept int
	// Always holds the coordinates that are in every model, in increasing order.
	Always []int
	// Predictors are the G selectable predictors in table order.
	Predictors []Predictor
	// Scaling maps coefficients back to the scale of the table.
	Scaling Scaling
	// Places [n] holds the number of each row in the file, in units of PlaceUnit ("line" or "row").
	Places    []int
	PlaceUnit string
	// DroppedRows counts the rows left out by the policies DropNA and MeanNA, and FilledCells the
	// genotypes replaced by MeanNA.
	DroppedRows, FilledCells int
	// Dropped lists the columns left out as degenerate.
	Dropped []Dropped
	// Statistics holds the summary statistics behind X and Y; nil if X and Y are rows of data.
	Statistics *Statistics

	// logSum is Σ log y if the logarithm of the response is fitted, less the log of the number of
	// orders in which the successes of all trials can occur.
	logSum float64
}

// InterceptName is the name of the column of ones, unless the table has a column of that name.
const InterceptName = "(Intercept)"

// Rows returns the number n of rows.
func (d *Design) Rows() int {
	if d.Statistics != nil {
		return d.Statistics.Rows
	}
	return len(d.Y)
}

// Dim returns D, the number of columns of the design matrix.
func (d *Design) Dim() int { return len(d.Names) }

// Groups returns the coordinates of each selectable predictor.
func (d *Design) Groups() [][]int {
	return apply.To(d.Predictors, func(p Predictor) []int { return p.Coordinates })
}

// PredictorNames returns the names of the selectable predictors, in the order of a model's code.
func (d *Design) PredictorNames() []string {
	return apply.To(d.Predictors, func(p Predictor) string { return p.Name })
}

// LogJacobian returns the difference between the log evidence of the response in its own units and
// the log evidence of Y: −n log sd(y), less Σ log y if the logarithm of y is fitted. It is zero if
// the response is as in the table.
func (d *Design) LogJacobian() float64 { return d.Scaling.logJacobian(d.Rows()) - d.logSum }

// New builds the design matrix and response from a table. It returns an error, with the column and
// line if there are any, for faults of the data and contradictions in the options.
func New(t *table.Table, opt Options) (*Design, error) {
	if err := opt.validateCategories(); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	t, layout, err := newLayout(t, opt)
	if err != nil {
		return nil, err
	}
	t, dropped, filled, err := layout.complete(t, opt)
	if err != nil {
		return nil, err
	}
	if t.Rows() < 2 {
		return nil, fmt.Errorf("%s: got %s%s, want at least two", t.Path, english.Count(t.Rows(), "row"), afterDropping(dropped))
	}
	d := &Design{Path: t.Path, Fingerprint: t.Fingerprint, Target: opt.Target, Likelihood: opt.Likelihood, DroppedRows: dropped, FilledCells: filled}
	d.Places, d.PlaceUnit = t.Places()
	var y []float64
	switch {
	case opt.Trials != "":
		t, y, err = d.expandTrials(t, opt)
		d.Places, d.PlaceUnit = t.Places()
	default:
		y, d.Levels, err = readResponse(t, opt, opt.Levels)
	}
	if err != nil {
		return nil, err
	}
	if opt.Likelihood.Logarithmic() {
		for i, v := range y {
			y[i] = math.Log(v)
			d.logSum += y[i]
		}
	}
	offset, err := opt.offsets(t)
	if err != nil {
		return nil, err
	}
	if offset != nil && opt.Likelihood.Continuous() {
		for i := range y {
			y[i] -= offset[i]
		}
		offset = nil
	}
	d.Offset = offset
	predictors, err := layout.expand(t, t.Rows())
	if err != nil {
		return nil, err
	}
	level := !opt.NoIntercept // cut points, the limits between ordered categories, take the place of an intercept
	predictors, d.Dropped, err = removeDegenerate(predictors, level, opt.DropDegenerate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	if len(opt.Interactions) > 0 {
		products, err := interactions(t, predictors, opt.Interactions, !opt.NoStandardize)
		if err != nil {
			return nil, err
		}
		var dropped []Dropped
		if predictors, dropped, err = removeDegenerate(append(predictors, products...), level, opt.DropDegenerate); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Path, err)
		}
		d.Dropped = append(d.Dropped, dropped...)
	}
	columns := d.arrange(predictors, level && !opt.Likelihood.Ordered(), t.Rows())
	if len(d.Predictors) == 0 {
		return nil, fmt.Errorf("%s: no predictor is left to select from (%s, %d excluded, %d always in, %d dropped)",
			t.Path, english.Count(len(t.Names()), "column"), len(opt.Exclude), len(opt.Always), len(d.Dropped))
	}
	if err := d.scale(columns, y, opt); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	return d, nil
}

// OfColumns returns the design of columns that are already on the working scale (standardised). The
// first column is the intercept.
func OfColumns(x *mat.Dense, y []float64, kind likelihood.Kind) *Design {
	_, dim := x.Dims()
	d := &Design{
		Target: "y", Likelihood: kind, Y: y, X: x, Names: []string{InterceptName}, Intercept: 0, Always: []int{0},
		Scaling: Scaling{Mean: make([]float64, dim), SD: slices.Repeat([]float64{1}, dim), YSD: 1, Level: 0, LevelValue: 1},
	}
	for j := 1; j < dim; j++ {
		name := fmt.Sprintf("x%d", j)
		d.Names = append(d.Names, name)
		d.Predictors = append(d.Predictors, Predictor{Name: name, Coordinates: []int{j}})
	}
	return d
}

// expandTrials returns the table with a row for each trial, and the results of all trials.
func (d *Design) expandTrials(t *table.Table, opt Options) (*table.Table, []float64, error) {
	if !opt.Likelihood.Binary() {
		return t, nil, fmt.Errorf("%s: trials %q are for the %s likelihood; this one is %s", t.Path, opt.Trials, likelihood.LogisticKind, opt.Likelihood)
	}
	trials, err := trialsOf(t, opt)
	if err != nil {
		return t, nil, err
	}
	d.logSum -= trials.LogWays
	t = t.Repeat(trials.Times)
	if opt.Censored != "" {
		_, err := likelihood.Censor(t, opt.Censored, trials.Y, opt.Likelihood)
		return t, nil, err
	}
	return t, trials.Y, likelihood.Check(t, fmt.Sprintf("target %q", opt.Target), trials.Y, opt.Likelihood)
}

// readResponse reads the column of the response. The argument levels holds its categories if they
// are known.
func readResponse(t *table.Table, opt Options, levels []string) (y []float64, found []string, err error) {
	column, err := t.Lookup(opt.Target)
	if err != nil {
		return nil, nil, fmt.Errorf("target: %w", err)
	}
	if opt.Likelihood.HasCategories() {
		y, found, err = likelihood.ReadCategories(t, "target", column, opt.Likelihood, levels)
	} else {
		y, found, err = likelihood.Read(t, "target", column, opt.Likelihood)
	}
	if err == nil && opt.Censored != "" {
		y, err = likelihood.Censor(t, opt.Censored, y, opt.Likelihood)
	}
	return y, found, err
}

// trialsOf reads the columns of successes and trials.
func trialsOf(t *table.Table, opt Options) (*likelihood.Trials, error) {
	var columns [2][]float64
	for k, name := range []string{opt.Target, opt.Trials} {
		c, err := t.Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", []string{"target", "trials"}[k], err)
		}
		if c.Kind != table.Numeric {
			return nil, fmt.Errorf("%s: %q: got %s, want a count (0, 1, 2, …)", t.Path, c.Name, t.TextFound(c))
		}
		columns[k] = c.Values
	}
	return likelihood.NewTrials(t, fmt.Sprintf("%q", opt.Target), columns[0], columns[1], opt.Target, opt.Trials)
}

// arrange orders the columns (intercept, always in, selectable) and records names and coordinates.
func (d *Design) arrange(predictors []rawPredictor, intercept bool, rows int) []rawColumn {
	var columns []rawColumn
	d.Intercept = -1
	if intercept {
		d.Intercept = 0
		var taken []string
		for _, p := range predictors {
			for _, c := range p.columns {
				taken = append(taken, c.name)
			}
		}
		columns = append(columns, rawColumn{FreeName(InterceptName, taken), slices.Repeat([]float64{1}, rows)})
		d.Always = []int{0}
	}
	for _, always := range []bool{true, false} {
		for _, p := range predictors {
			if p.always != always {
				continue
			}
			var coordinates []int
			for _, c := range p.columns {
				coordinates = append(coordinates, len(columns))
				columns = append(columns, c)
			}
			if always {
				d.Always = append(d.Always, coordinates...)
			} else {
				predictor := Predictor{Name: p.name, Coordinates: coordinates}
				for _, parent := range p.parents {
					if at := slices.IndexFunc(d.Predictors, func(other Predictor) bool { return other.Name == parent }); at >= 0 {
						predictor.Parents = append(predictor.Parents, at)
					} else {
						predictor.AlwaysParent = true
					}
				}
				d.Predictors = append(d.Predictors, predictor)
			}
		}
	}
	d.Names = FreeNames(apply.To(columns, func(c rawColumn) string { return c.name }), nil)
	return columns
}

// FreeName returns name, in parentheses as long as it equals one of the names in taken.
func FreeName(name string, taken []string) string { return FreeNames([]string{name}, taken)[0] }

// FreeNames returns the names, each in parentheses as long as it equals one of the names in taken
// or an earlier one of the result.
func FreeNames(names, taken []string) []string {
	used := make(map[string]bool, len(names)+len(taken))
	for _, name := range taken {
		used[name] = true
	}
	return apply.To(names, func(name string) string {
		for used[name] {
			name = "(" + name + ")"
		}
		used[name] = true
		return name
	})
}

func afterDropping(rows int) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf(" after dropping %d with missing values", rows)
}

// offset returns the variable that Offset names: a column of the table, or a function of columns. A
// name that is neither is returned as a column, and the error on reading it suggests similar names.
func (opt Options) offset(t *table.Table) formula.Variable {
	if !slices.Contains(t.Names(), opt.Offset) {
		if v, err := formula.ParseOffset(opt.Offset); err == nil {
			return v
		}
	}
	return formula.Variable{Column: opt.Offset}
}

func (opt Options) offsets(t *table.Table) ([]float64, error) {
	if opt.Offset == "" {
		return nil, nil
	}
	values, err := opt.offset(t).Numbers(t)
	if err != nil {
		return nil, fmt.Errorf("offset: %w", err)
	}
	if err := opt.Likelihood.CheckOffset(opt.Offset, values); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	return values, nil
}

// validateCategories returns an error for options that do not suit the response, categorical or
// not.
func (opt Options) validateCategories() error {
	switch kind := opt.Likelihood; {
	case !kind.HasCategories() && opt.Levels != nil:
		return fmt.Errorf("levels of the response are for %s, %s and %s; this likelihood is %s", likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind, likelihood.CategoricalKind, kind)
	case kind == likelihood.CategoricalKind && opt.Offset != "":
		return fmt.Errorf("offset %q: the %s likelihood has a linear predictor for each category but one, and an offset belongs to none of them", opt.Offset, kind)
	case kind.Ordered() && opt.NoIntercept:
		return fmt.Errorf("the %s likelihood has cut points in place of an intercept: there is none to leave out", kind)
	}
	return nil
}
