package frame

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// ResponseKinds lists all kinds of responses but "robust", whose posterior has too many modes.
func ResponseKinds() []likelihood.Kind {
	return slices.DeleteFunc(likelihood.Kinds(), func(kind likelihood.Kind) bool { return kind == likelihood.RobustKind })
}

// ParseResponseKind reads the name of a kind of response.
func ParseResponseKind(s string) (likelihood.Kind, error) {
	kinds := ResponseKinds()
	names := apply.To(kinds, likelihood.Kind.String)
	if at := slices.Index(names, s); at >= 0 {
		return kinds[at], nil
	}
	return 0, fmt.Errorf("unknown likelihood %q; want %s", s, english.Join(names, "or"))
}

// Options configures the use of a table.
type Options struct {
	// Formula is the text of the formula; see [formula.Parse].
	Formula string `json:"formula"`
	// Response is the distribution of the response.
	Response likelihood.Kind `json:"likelihood"`
	// Levels are the labels of a categorical response in their order; the table may lack some of
	// them. Levels is nil if the categories are numbers or have no order. Answers for categories
	// without an order are log odds against the first.
	Levels []string `json:"levels,omitempty"`
	// SE names a column of known standard deviations of a gaussian response; "": σ is unknown.
	SE string `json:"se,omitempty"`
	// DropMissing leaves out rows that miss a cell in a used column, which are an error otherwise.
	DropMissing bool `json:"drop_missing,omitempty"`
}

// Frame is the design of a formula on a table, in the units of the table.
type Frame struct {
	// Path and Fingerprint identify the file the data came from.
	Path, Fingerprint string
	// Formula is the parsed formula, and Response the distribution of the response.
	Formula  *formula.Formula
	Response likelihood.Kind
	// Y is the response [n]. Labels are its texts for 0 and 1, or its categories; nil for other
	// responses.
	Y      []float64
	Labels []string
	// LogWays is the logarithm of the product of the binomial coefficients of a response that
	// counts successes among trials; 0 for other responses. Each trial is a row of the frame, so
	// that the likelihood of the rows lacks this factor.
	LogWays float64
	// Offset [n] is added to the linear predictor; nil if there is none.
	Offset []float64
	// SE [n] are the known standard deviations of the response; nil if σ is unknown.
	SE []float64
	// X [n, P] is the design of the P population columns, which Columns describes; nil if P is 0.
	X       *mat.Dense
	Columns []Column
	// Groupings are the grouping factors, each once.
	Groupings []*Grouping
	// Places [n] are the numbers of the rows in the file, in units of PlaceUnit: "line" or "row".
	Places    []int
	PlaceUnit string
	// Weights [n] divide the variance σ² of the response; nil if all weights are 1.
	Weights []float64
	// DroppedRows counts rows left out because of missing cells.
	DroppedRows int
	// Warnings describe data that are unusual but not wrong.
	Warnings []string

	// Reduced describes the table if it was read in slices: then the rows of the frame replace the
	// rows of the table. It is nil for other frames.
	Reduced *Reduced

	seen int // number of rows that the run was fitted to, if new rows follow them; else 0
}

// Column is a column of a design.
type Column struct {
	// Name is the name of the term, with the level of each factor: "floor", "trt=a:age"; for the
	// intercept it is InterceptName.
	Name string
	// Term is the index of the term of the column: among the population terms, for a varying column
	// among the terms of its Varying, and for a smooth function among all smooth functions.
	Term int
	// Step is the name of the step for a column of a monotonic effect, whose columns share one
	// Name; "" for other columns.
	Step string
	// Varying is the index in Formula.Varying of the term of a varying column; 0 for other columns.
	Varying int
}

// Names returns the names of columns.
func Names(columns []Column) []string {
	return apply.To(columns, func(c Column) string { return c.Name })
}

// Grouping is a way to group the rows, with the columns that vary by it.
type Grouping struct {
	// Name is the name of the grouping column, or the names of several columns joined by colons.
	// Group lists these columns.
	Name  string
	Group formula.Term
	// Levels are the names of the groups in the order of the table's levels. Index [n] is the group
	// of each row, and Counts is the number of rows of each group.
	Levels []string
	Index  []int
	Counts []int
	// Z is the design [n, Q] of the varying columns, and Columns describes them.
	Z       *mat.Dense
	Columns []Column
	// Smooth says that the grouping is a smooth function. It then has one level, which holds all
	// rows, and the effects of its columns have one standard deviation.
	Smooth bool
}

// Rows lists the rows of each level.
func (g *Grouping) Rows() [][]int {
	rows := make([][]int, len(g.Levels))
	for i, level := range g.Index {
		rows[level] = append(rows[level], i)
	}
	return rows
}

// Spreads returns one column for each standard deviation of the effects of the grouping.
func (g *Grouping) Spreads() []Column {
	if g.Smooth {
		return g.Columns[:1]
	}
	return g.Columns
}

// Shifted returns the responses on the scale on which effects add up: logarithms for log-normal and
// similar kinds of responses, and the values themselves for other kinds.
func (f *Frame) Shifted() []float64 {
	if f.Response.Logarithmic() {
		return apply.To(f.Y, math.Log)
	}
	return slices.Clone(f.Y)
}

// Censored reports whether the response is a time that is only a lower bound in some rows.
func (f *Frame) Censored() bool {
	return f.Response.Survival() && slices.ContainsFunc(f.Y, func(y float64) bool { return y < 0 })
}

// Rows returns the number of used rows of the table, which a Reduced frame replaces by fewer rows.
func (f *Frame) Rows() int {
	if f.Reduced != nil {
		return f.Reduced.Rows
	}
	return len(f.Y)
}

// Correlated reports whether the effects of two columns have an unknown correlation.
func (f *Frame) Correlated(g *Grouping, a, b int) bool {
	first, second := g.Columns[a].Varying, g.Columns[b].Varying
	if g.Smooth {
		return false
	}
	return first == second && !f.Formula.Varying[first].Independent
}

// New builds the design of a formula from a table. Every mistake in formula or data is an error
// that names the column and, if there is one, the line.
func New(t *table.Table, opt Options) (*Frame, error) { return build(t, opt, 0) }

// CutNames returns the names of the cut points of ordered categories.
func (f *Frame) CutNames() []string {
	if !f.Response.Ordered() {
		return nil
	}
	return apply.UpTo(len(f.Labels)-1, func(k int) string { return f.Labels[k] + "|" + f.Labels[k+1] })
}

// Enlarged returns a frame with four copies of each row of the table: two in the groups of the
// table, and two in as many other groups. A variational family that serves many tables is trained
// on it, with rows and groups left out at random for smaller tables.
func (f *Frame) Enlarged() *Frame {
	const copies, repeats = 2, 2
	large := *f
	large.Groupings = nil
	stack := func(a *mat.Dense) *mat.Dense {
		if a == nil {
			return nil
		}
		rows, columns := a.Dims()
		return mat.NewDense(copies*repeats*rows, columns, slices.Repeat(mat.DenseCopyOf(a).RawMatrix().Data, copies*repeats))
	}
	large.X, large.Y = stack(f.X), slices.Repeat(f.Y, copies*repeats)
	if f.Offset != nil {
		large.Offset = slices.Repeat(f.Offset, copies*repeats)
	}
	for _, g := range f.Groupings {
		wide := *g
		wide.Levels, wide.Index, wide.Z = nil, nil, stack(g.Z)
		wide.Counts = slices.Repeat(g.Counts, copies)
		for i := range wide.Counts {
			wide.Counts[i] *= repeats
		}
		for c := range copies {
			for _, level := range g.Levels {
				wide.Levels = append(wide.Levels, fmt.Sprintf("%s (%d)", level, c+1))
			}
			for range repeats {
				for _, level := range g.Index {
					wide.Index = append(wide.Index, c*len(g.Levels)+level)
				}
			}
		}
		large.Groupings = append(large.Groupings, &wide)
	}
	return &large
}

// ColumnSummary describes a column of the population design, in the units of the table.
type ColumnSummary struct {
	Name string        `json:"name"`
	Mean report.Number `json:"mean"`
	Min  report.Number `json:"min"`
	Max  report.Number `json:"max"`
}

// SDName names the standard deviation of a column's effects, which vary by a group.
func SDName(column, group string) string { return "sd(" + column + " | " + group + ")" }

// CorrelationName returns the name of the correlation of the effects of two columns.
func CorrelationName(a, b, group string) string { return "cor(" + a + ", " + b + " | " + group + ")" }

// SpreadName returns the name of the standard deviation of the effects of a column.
func (g *Grouping) SpreadName(c Column) string {
	if g.Smooth {
		return "sd(" + g.Name + ")"
	}
	return SDName(c.Name, g.Name)
}
