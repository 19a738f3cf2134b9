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
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// DataOptions are the choices for the use of a table. Columns that are not named here are nodes.
type DataOptions struct {
	// Exclude names columns that are not used.
	Exclude []string `json:"exclude,omitempty"`
	// Intervened names a column with the name of the node intervened on in each row; several are
	// separated by semicolons, and empty cells and NA stand for none.
	Intervened string `json:"intervened,omitempty"`
	// SoftIntervened names a column with the node whose mechanism was changed in each row, with the
	// same parents, in the format of Intervened.
	SoftIntervened string `json:"soft_intervened,omitempty"`
	// Discrete names numeric columns that are categories, as text columns always are; Continuous
	// names columns of few distinct whole numbers that are not. [EveryNode] stands for all.
	Discrete   []string `json:"discrete,omitempty"`
	Continuous []string `json:"continuous,omitempty"`
	// Discretize cuts the other columns of numbers into classes.
	Discretize Discretization `json:"discretize,omitzero"`
	// Clamp sets a node in the rows in which another column is not zero to a value:
	// "column=node:low", "column=node:high", with the name of a level, or "column=node" for the
	// value that the table has. The other column is not a node.
	Clamp []string `json:"clamp,omitempty"`
	// Log takes the natural logarithm of every node first.
	Log     bool    `json:"log,omitempty"`
	Scaling Scaling `json:"scaling"`
	// DropMissing leaves out rows with a missing cell instead of refusing them.
	DropMissing bool `json:"drop_missing,omitempty"`
	// ImputeMissing keeps them: chains over graphs draw the cells.
	ImputeMissing bool `json:"impute_missing,omitempty"`
}

// Data is a table ready for inference.
type Data struct {
	// Path and Fingerprint identify the file.
	Path, Fingerprint string
	Names             []string // of the nodes, in the order of the table
	// X are the values on the working scale [n,N]; of categories their places among the levels.
	X *mat.Dense
	// Levels are the values of categories, by node; nil of numbers, and where all nodes are.
	Levels [][]string
	// Unclear names columns that were taken as numbers and may be codes of categories: few distinct
	// whole numbers, named in neither Discrete nor Continuous.
	Unclear []string
	// Counted reports whether row r counts for node j: rows in which the node was set from outside
	// do not [n][N]; nil when all count.
	Counted [][]bool
	// Regimes are soft interventions, whose rows do not count for their nodes.
	Regimes []regime
	// Centers are the means of all columns over the rows that count for a node, on the working
	// scale [N][N] by node: its mechanism has an intercept for these rows, because its own column
	// and its parents' columns are centred. nil when nothing is left to centre: without
	// interventions, and when the columns are used as they are.
	Centers [][]float64
	// Scaling is the scaling of the columns. x·Scale + Shift, by node, recovers the values of the
	// table or their logarithms.
	Scaling      Scaling
	Shift, Scale []float64
	// Missing are the nodes that a row of the table misses, whose cells in X are stand-ins [n]; nil
	// for none.
	Missing [][]int
	// Places [n] are the numbers of the rows in the file, in units of PlaceUnit: "line" or "row".
	Places    []int
	PlaceUnit string
	// DroppedRows counts rows left out for missing cells.
	DroppedRows int
	constants   []constantColumn // left out
	mixed       []string         // notes of categories with numbers and other texts
}

// leastRows is the least number of rows: a standard deviation needs two, and is informative from
// three.
const leastRows = 3

// NewData prepares a table. The error for an invalid table names column and place.
func NewData(t *table.Table, options DataOptions) (*Data, error) {
	names, err := options.nodes(t)
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
	if err := d.applyClamps(t, options.Clamp); err != nil {
		return nil, err
	}
	if err := d.checkSetCells(); err != nil { // cells of nodes with another mechanism can be drawn
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

// nodes are the columns that are nodes, in the order of the table. The other columns are excluded
// or describe interventions.
func (o DataOptions) nodes(t *table.Table) (names []string, err error) {
	notesOfRows := []string{o.Intervened, o.SoftIntervened}
	for _, name := range notesOfRows {
		if name != "" && slices.Contains(o.Exclude, name) {
			return nil, fmt.Errorf("column %q is excluded and also names interventions", name)
		}
	}
	for _, name := range slices.Concat(o.Exclude, notesOfRows) {
		if name == "" {
			continue
		}
		if _, err := t.Lookup(name); err != nil && !slices.Contains(t.Names(), name) {
			return nil, err
		}
	}
	notes, err := clampColumns(t, o.Clamp)
	if err != nil {
		return nil, err
	}
	for _, name := range t.Names() {
		if !slices.Contains(notesOfRows, name) && !slices.Contains(o.Exclude, name) && !slices.Contains(notes, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return nil, fmt.Errorf("%s: got %s as nodes of %d (the others are excluded), want at least two", t.Path, english.Count(len(names), "column"), len(t.Names()))
	}
	return names, nil
}

// chooseCells leaves out the nodes among names that do not vary, and the rows with missing cells
// where that is asked for; the others are the nodes and rows of d.
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
		if names, err = d.leaveOutConstants(t, names); err != nil { // in the rows that are left
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
	if column == "" {
		return nil
	}
	c, err := t.Lookup(column)
	if err != nil {
		return err
	}
	for row := range t.Rows() {
		if c.IsMissing(row) || c.Text(row) == "" { // text of Parquet can be empty
			continue
		}
		targets, err := d.targets(c.Text(row))
		if err != nil {
			return fmt.Errorf("%s: column %q, %s: %w", t.Path, column, t.Place(row), err)
		}
		for _, j := range targets {
			d.exempt(row, j)
		}
	}
	return nil
}

// AlwaysSetError is the error of a node that was set from outside in nearly all rows, so that too
// few are left to learn its mechanism.
type AlwaysSetError struct {
	Path, Node    string
	Rows, Counted int // all rows, and those that count for the node
}

// Error gives the number of rows that count.
func (e *AlwaysSetError) Error() string {
	return fmt.Sprintf("%s: node %q is set from outside in %d of %d rows, want at least %d in which it is not", e.Path, e.Node, e.Rows-e.Counted, e.Rows, leastRows)
}

// checkCounted fails for a node that few rows count for.
func (d *Data) checkCounted(t *table.Table) error {
	for j := range d.Names {
		if n := d.RowsOf(j); n < leastRows {
			return &AlwaysSetError{Path: t.Path, Node: d.Names[j], Rows: t.Rows(), Counted: n}
		}
	}
	return nil
}

// targets reads the nodes that were set from outside in a row: one, or several separated by
// semicolons, which a name may hold too.
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

// Node finds a node by name; the error gives the nearest names.
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

// RowsFor are the rows that count for a node.
func (d *Data) RowsFor(j int) (rows [][]float64) {
	for _, row := range d.CountedRows(j) {
		rows = append(rows, d.X.RawRowView(row))
	}
	return rows
}

// OwnColumn is the column of a node in the rows that count for it.
func (d *Data) OwnColumn(j int) (values []float64) {
	for _, row := range d.CountedRows(j) {
		values = append(values, d.X.At(row, j))
	}
	return values
}

// RowFor copies a row as the mechanism of a node sees it, centred, to a slice [N] and returns it.
func (d *Data) RowFor(j, row int, to []float64) []float64 {
	copy(to, d.X.RawRowView(row))
	if d.Centers != nil {
		floats.Sub(to, d.Centers[j])
	}
	return to
}

// Rows returns n.
func (d *Data) Rows() int {
	rows, _ := d.X.Dims()
	return rows
}

// LogSD is the log standard deviation of a node over the rows that count for it, the prior mean of
// its log σ.
func (d *Data) LogSD(j int) float64 { return math.Log(stat.StdDev(d.OwnColumn(j), nil)) }

// Targets lists the different sets of nodes that were set from outside together, the empty set left
// out.
func (d *Data) Targets() (sets []dgraph.Set) {
	for _, counted := range d.Counted {
		var set dgraph.Set
		for j, on := range counted {
			if !on {
				set = set.With(j)
			}
		}
		if !set.Empty() && !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// Nodes returns N.
func (d *Data) Nodes() int { return len(d.Names) }

// Counts reports whether a row counts for node j.
func (d *Data) Counts(row, j int) bool { return d.Counted == nil || d.Counted[row][j] }

// CountedRows are the rows that count for node j.
func (d *Data) CountedRows(j int) (rows []int) {
	for row := range d.Rows() {
		if d.Counts(row, j) {
			rows = append(rows, row)
		}
	}
	return rows
}

// RowsOf is the number of rows that count for node j.
func (d *Data) RowsOf(j int) int { return len(d.CountedRows(j)) }
