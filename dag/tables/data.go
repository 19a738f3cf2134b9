package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// DataOptions states how a table is used. Columns that are not named here are nodes.
type DataOptions struct {
	// Exclude names columns that are not used.
	Exclude []string `json:"exclude,omitempty"`
	// Intervened names a column that holds, in each row, the name of the node that was set from
	// outside. Several nodes are separated by semicolons. Without an intervention the cell is empty
	// or NA.
	Intervened string `json:"intervened,omitempty"`
	// SoftIntervened names a column that holds, in each row, the nodes whose mechanism an
	// intervention changed while their parents stayed the same, in the format of Intervened.
	SoftIntervened string `json:"soft_intervened,omitempty"`
	// Discrete names numeric columns that are categories; text columns are always categories.
	// Continuous names columns of few different whole numbers that are not categories. [EveryNode]
	// stands for all nodes.
	Discrete   []string `json:"discrete,omitempty"`
	Continuous []string `json:"continuous,omitempty"`
	// Discretize cuts the columns of numbers that are not categories into classes.
	Discretize Discretization `json:"discretize,omitzero"`
	// Clamp sets a node to a value in the rows in which another column is not zero. An entry is
	// "column=node:low" or "column=node:high", "column=node:level" with the name of a level, or
	// "column=node" for the value in the table. The other column is not a node.
	Clamp []string `json:"clamp,omitempty"`
	// Log takes the natural logarithm of every node before scaling. Scaling is the scaling of the
	// columns.
	Log     bool    `json:"log,omitempty"`
	Scaling Scaling `json:"scaling"`
	// DropMissing leaves out rows with a missing cell. Without DropMissing and ImputeMissing, a
	// missing cell is an error.
	DropMissing bool `json:"drop_missing,omitempty"`
	// ImputeMissing keeps rows with missing cells, whose values Markov chains over graphs draw.
	ImputeMissing bool `json:"impute_missing,omitempty"`
}

// Data is a table prepared for inference, with n rows and N nodes.
type Data struct {
	// Path and Fingerprint identify the file.
	Path, Fingerprint string
	Names             []string // names of the nodes, in the order of the table
	// X holds the values [n,N] after logarithms and scaling, as DataOptions requests. A value of a
	// category is the index of its level.
	X *mat.Dense
	// Levels holds the levels of each category, by node, and nil for a number. It is nil if all
	// nodes are numbers.
	Levels [][]string
	// Unclear names columns that were taken as numbers and may hold codes of categories: columns of
	// few different whole numbers that neither Discrete nor Continuous names.
	Unclear []string
	// Counted[r][j] reports whether row r counts for node j, that is, whether the node was not set
	// from outside in this row. It is nil when all rows count for all nodes.
	Counted [][]bool
	// Regimes holds the soft interventions: rows with another mechanism of a node.
	Regimes []regime
	// Centers holds, for each node, the means of all columns over the rows that count for the node,
	// on the scale of X [N][N]. The mechanism of the node subtracts them, in place of an intercept.
	// Centers is nil without interventions, and when columns are used unscaled.
	Centers [][]float64
	// Scaling is the scaling of the columns. For a value x of node j in X, x·Scale[j] + Shift[j] is
	// the value in the table, or its logarithm.
	Scaling      Scaling
	Shift, Scale []float64
	// Missing holds, for each of the n rows, the nodes whose cells are missing in the table. X then
	// has the mean or the most frequent level. Missing is nil if no cells are missing.
	Missing [][]int
	// Places holds the numbers of the rows in the file [n], in units of PlaceUnit: "line" or "row".
	Places    []int
	PlaceUnit string
	// DroppedRows is the number of rows that were left out because of missing cells.
	DroppedRows int
	constants   []constantColumn // columns left out because they are constant
	mixed       []string         // notes on columns of categories that mix numbers with text
}

// leastRows is the least number of rows of a table. A standard deviation needs two rows, and has
// some precision only with three.
const leastRows = 3

// NewData makes nodes of the columns of a table. Errors name the column and the place in the file.
func NewData(t *table.Table, options DataOptions) (*Data, error) {
	names, clamps, err := options.nodes(t)
	if err != nil {
		return nil, err
	}
	d := &Data{Path: t.Path, Fingerprint: t.Fingerprint, Scaling: options.Scaling}
	if t, err = d.chooseCells(t, names, options); err != nil {
		return nil, err
	}
	if err := d.fillColumns(t, options); err != nil {
		return nil, err
	}
	if err := d.readInterventions(t, options.Intervened); err != nil {
		return nil, err
	}
	if err := d.applyClamps(t, clamps); err != nil {
		return nil, err
	}
	if err := d.checkSetCells(); err != nil { // before soft interventions are read, because these allow missing cells of their nodes
		return nil, err
	}
	if err := d.readSoftInterventions(t, options.SoftIntervened); err != nil {
		return nil, err
	}
	if err := d.checkCounted(t); err != nil {
		return nil, err
	}
	if d.Discrete() {
		return d, nil
	}
	if err := d.Rescale(options.Scaling); err != nil {
		return nil, err
	}
	return d, d.center()
}

// nodes returns the columns that are nodes, in the order of the table. The other columns are
// excluded or describe interventions. nodes also returns the interventions that columns mark.
func (o DataOptions) nodes(t *table.Table) (names []string, clamps []clamp, err error) {
	notesOfRows := []string{o.Intervened, o.SoftIntervened}
	for _, name := range notesOfRows {
		if name != "" && slices.Contains(o.Exclude, name) {
			return nil, nil, fmt.Errorf("column %q is excluded and also names interventions", name)
		}
	}
	for _, name := range slices.Concat(o.Exclude, notesOfRows) {
		if name == "" {
			continue
		}
		if _, err := t.Lookup(name); err != nil && !slices.Contains(t.Names(), name) {
			return nil, nil, err
		}
	}
	for _, text := range o.Clamp {
		c, err := parseClamp(text, t)
		if err != nil {
			return nil, nil, err
		}
		clamps, notesOfRows = append(clamps, c), append(notesOfRows, c.column)
	}
	names = apply.Keep(t.Names(), func(name string) bool {
		return !slices.Contains(notesOfRows, name) && !slices.Contains(o.Exclude, name)
	})
	if len(names) < 2 {
		return nil, nil, fmt.Errorf("%s: got %s as nodes of %d (the others are excluded), want at least two", t.Path, english.Count(len(names), "column"), len(t.Names()))
	}
	return names, clamps, nil
}

// chooseCells leaves out constant columns and, unless missing cells are to be drawn, the rows with
// missing cells. The columns in names that remain are the nodes of d.
func (d *Data) chooseCells(t *table.Table, names []string, options DataOptions) (*table.Table, error) {
	t = d.withLabels(t, names, options.Discrete)
	names, err := d.leaveOutConstants(t, names)
	if err != nil {
		return nil, err
	}
	if options.ImputeMissing {
		if err := options.checkImputable(t, names); err != nil {
			return nil, err
		}
	} else {
		if t, d.DroppedRows, err = t.Complete(names, options.DropMissing); err != nil {
			return nil, err
		}
		if names, err = d.leaveOutConstants(t, names); err != nil { // columns that became constant because rows were left out
			return nil, err
		}
	}
	if t.Rows() < leastRows {
		return nil, fmt.Errorf("%s: got %s, want at least %d", t.Path, english.Count(t.Rows(), "row"), leastRows)
	}
	if len(names) < 2 {
		return nil, fmt.Errorf("%s: got %s that %s, want at least two as nodes: %s", t.Path, english.Count(len(names), "column"), english.Form(len(names), "varies", "vary"), d.constants[0])
	}
	d.Names = names
	d.Places, d.PlaceUnit = t.Places()
	return t, nil
}

func numbers(t *table.Table, c *table.Column, log bool) ([]float64, error) {
	values := slices.Clone(c.Values)
	if log {
		for row, x := range values {
			if x <= 0 {
				return nil, fmt.Errorf("%s: column %q, %s: got %g, want a positive number to take the logarithm of", t.Path, c.Name, t.Place(row), x)
			}
			values[row] = math.Log(x)
		}
	}
	return values, nil
}

func (d *Data) readInterventions(t *table.Table, column string) error {
	return d.eachIntervention(t, column, func(_ string, rows, nodes []int) error {
		for _, row := range rows {
			for _, j := range nodes {
				d.exempt(row, j)
			}
		}
		return nil
	})
}

// eachIntervention reads a column that names nodes in some rows. It calls do for each different
// text, in the order of their first rows, with the rows that have it and the nodes that it names.
func (d *Data) eachIntervention(t *table.Table, column string, do func(text string, rows, nodes []int) error) error {
	if column == "" {
		return nil
	}
	c, err := t.Lookup(column)
	if err != nil {
		return err
	}
	rows := map[string][]int{}
	var texts []string
	for row := range t.Rows() {
		if c.IsMissing(row) || c.Text(row) == "" { // a text in a Parquet file can be empty without being missing
			continue
		}
		text := c.Text(row)
		if rows[text] == nil {
			texts = append(texts, text)
		}
		rows[text] = append(rows[text], row)
	}
	for _, text := range texts {
		nodes, err := d.targets(text)
		if err != nil {
			return fmt.Errorf("%s: column %q, %s: %w", t.Path, column, t.Place(rows[text][0]), err)
		}
		if err := do(text, rows[text], nodes); err != nil {
			return err
		}
	}
	return nil
}

// AlwaysSetError is the error for a node that was set from outside in nearly all rows, so that too
// few rows are left to learn its mechanism.
type AlwaysSetError struct {
	Path, Node    string
	Rows, Counted int // numbers of all rows, and of rows in which the node was not set
}

// Error states in how many rows the node was set.
func (e *AlwaysSetError) Error() string {
	return fmt.Sprintf("%s: node %q is set from outside in %d of %d rows, want at least %d in which it is not", e.Path, e.Node, e.Rows-e.Counted, e.Rows, leastRows)
}

// checkCounted returns an error for a node that was set from outside in nearly all rows.
func (d *Data) checkCounted(t *table.Table) error {
	for j := range d.Names {
		if n := d.RowsOf(j); n < leastRows {
			return &AlwaysSetError{Path: t.Path, Node: d.Names[j], Rows: t.Rows(), Counted: n}
		}
	}
	return nil
}

// targets reads the nodes that were set from outside in a row: one node, or several nodes separated
// by semicolons. Names may contain semicolons.
func (d *Data) targets(text string) (nodes []int, err error) {
	names := []string{text}
	if _, constant := d.constant(text); !constant && !slices.Contains(d.Names, text) {
		names = strings.Split(text, ";")
	}
	for _, name := range names {
		if _, constant := d.constant(strings.TrimSpace(name)); constant {
			continue
		}
		j, err := d.Node(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, j)
	}
	return nodes, nil
}

// Node returns the index of the node with the given name. The error suggests similar names.
func (d *Data) Node(name string) (int, error) {
	if j := slices.Index(d.Names, name); j >= 0 {
		return j, nil
	}
	if c, found := d.constant(name); found {
		return 0, fmt.Errorf("no node %q: %s and was left out", name, c)
	}
	suggestions := table.Nearest(name, d.Names)
	if len(suggestions) == 0 {
		suggestions = d.Names[:min(len(d.Names), 10)]
		return 0, fmt.Errorf("no node %q; nodes are %q", name, suggestions)
	}
	return 0, fmt.Errorf("no node %q; the nearest are %q", name, suggestions)
}

// RowsFor returns the rows that count for a node: rows in which the node was not set from outside.
func (d *Data) RowsFor(j int) [][]float64 { return apply.To(d.CountedRows(j), d.X.RawRowView) }

// OwnColumn returns the values of a node in the rows in which it was not set from outside.
func (d *Data) OwnColumn(j int) []float64 {
	return apply.To(d.CountedRows(j), func(row int) float64 { return d.X.At(row, j) })
}

// RowFor copies a row into the slice named to [N], subtracts the means in Centers for node j, if
// there are any, and returns the slice.
func (d *Data) RowFor(j, row int, to []float64) []float64 {
	copy(to, d.X.RawRowView(row))
	if d.Centers != nil {
		floats.Sub(to, d.Centers[j])
	}
	return to
}

// Rows returns the number of rows n.
func (d *Data) Rows() int {
	rows, _ := d.X.Dims()
	return rows
}

// LogSD returns the log standard deviation of a node over the rows that count for it (in which it
// was not set from outside), which is the prior mean of its log σ.
func (d *Data) LogSD(j int) float64 { return math.Log(stat.StdDev(d.OwnColumn(j), nil)) }

// Targets returns the different non-empty sets of nodes that were set from outside in the same row.
func (d *Data) Targets() (sets []dgraph.Set) {
	for _, counted := range d.Counted {
		set := dgraph.SetOf(apply.Where(len(counted), func(j int) bool { return !counted[j] })...)
		if !set.Empty() && !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// Nodes returns the number of nodes N.
func (d *Data) Nodes() int { return len(d.Names) }

// Counts reports whether a row counts for node j, that is, whether the mechanism of j made its
// value in this row. Rows in which j was set from outside do not count.
func (d *Data) Counts(row, j int) bool { return d.Counted == nil || d.Counted[row][j] }

// CountedRows returns the indices of the rows in which node j was not set from outside.
func (d *Data) CountedRows(j int) []int {
	return apply.Where(d.Rows(), func(row int) bool { return d.Counts(row, j) })
}

// RowsOf returns the number of rows in which node j was not set from outside.
func (d *Data) RowsOf(j int) int { return len(d.CountedRows(j)) }
