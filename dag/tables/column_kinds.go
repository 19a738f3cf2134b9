package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// EveryNode stands for all nodes in options that name nodes, if no column has this name.
const EveryNode = "all"

// MostCodes is the largest number of different whole numbers that may be codes of the categories of
// a column. Rating scales have up to 10 steps.
const MostCodes = 10

// mostLevels is the largest number of levels of a category. It keeps columns of measurements from
// being taken for categories by accident.
const mostLevels = 256

// mostMixedLevels is the largest number of levels of a category in a table that also has numbers,
// because a logistic regression has a coefficient for each pair of a level of the node and a level
// of a parent.
const mostMixedLevels = 20

// fillColumns reads the columns of nodes: values of numbers, and indices of levels of categories.
func (d *Data) fillColumns(t *table.Table, options DataOptions) error {
	discrete, err := d.named(options.Discrete)
	if err != nil {
		return err
	}
	columns := make([]*table.Column, len(d.Names))
	for j, name := range d.Names {
		var err error
		if columns[j], err = t.Lookup(name); err != nil {
			return err
		}
		if options.ImputeMissing {
			if discrete[j] {
				columns[j] = columns[j].AsFactor()
			}
			if columns[j], err = d.completed(columns[j], j, t.Rows()); err != nil {
				return err
			}
		}
	}
	continuous, err := d.named(options.Continuous)
	if err != nil {
		return err
	}
	var categories, numbers, unclear []string
	for j, c := range columns {
		switch {
		case discrete[j] && continuous[j]:
			return fmt.Errorf("column %q is named as discrete and as continuous: it can be one", c.Name)
		case discrete[j] || c.Kind == table.Factor:
			categories = append(categories, c.Name)
			continue
		case !continuous[j] && !options.Log && d.maybeCodes(j, c):
			unclear = append(unclear, c.Name)
		}
		numbers = append(numbers, c.Name)
	}
	if options.Discretize.Classes > 0 && len(numbers) > 0 {
		if options.Log {
			return fmt.Errorf("%s: numbers and their logarithms are cut into the same classes: take no logarithms", t.Path)
		}
		options.Discretize.apply(columns, discrete)
		return d.fill(columns, d.Names, t, false)
	}
	d.Unclear = unclear
	if len(numbers) == 0 && options.Log {
		return fmt.Errorf("%s: column %q is discrete: there is no logarithm of it", t.Path, categories[0])
	}
	return d.fill(columns, categories, t, options.Log)
}

// withLabels returns the table with text columns in place of columns that options name as
// categories and that mix numbers with text, for instance 1, 2 and unknown. Notes quote the texts,
// since they may be mistakes.
func (d *Data) withLabels(t *table.Table, names, discrete []string) *table.Table {
	for _, name := range names {
		every := slices.Contains(discrete, EveryNode) && !slices.Contains(names, EveryNode)
		if texts := t.TextAmongNumbers(name); texts != "" && (every || slices.Contains(discrete, name)) {
			d.mixed = append(d.mixed, fmt.Sprintf("column %q mixes numbers with text (%s): each is a level of the category; write NA where a value is missing", name, texts))
			t = t.WithLabels(name)
		}
	}
	return t
}

// named returns for each of the N nodes whether the list names contains it.
func (d *Data) named(names []string) ([]bool, error) {
	marks := make([]bool, len(d.Names))
	for _, name := range names {
		j := slices.Index(d.Names, name)
		if j < 0 && name == EveryNode {
			return slices.Repeat([]bool{true}, len(d.Names)), nil
		}
		if _, constant := d.constant(name); constant {
			continue
		}
		if j < 0 {
			_, err := d.Node(name)
			return nil, err
		}
		marks[j] = true
	}
	return marks, nil
}

// maybeCodes reports whether the column of node j, which holds numbers, may hold codes of
// categories: at most MostCodes different whole numbers, some of them repeated.
func (d *Data) maybeCodes(j int, c *table.Column) bool {
	different := map[float64]bool{}
	for row, x := range c.Values {
		if d.Missing != nil && slices.Contains(d.Missing[row], j) {
			continue
		}
		if different[x] = true; x != math.Trunc(x) || len(different) > MostCodes {
			return false
		}
	}
	return len(different) < len(c.Values)
}

func (d *Data) fill(columns []*table.Column, categories []string, t *table.Table, log bool) error {
	d.X = mat.NewDense(t.Rows(), len(columns), nil)
	most := mostMixedLevels
	if len(categories) == len(columns) {
		most = mostLevels
		d.Scaling, d.Shift, d.Scale = Unscaled, make([]float64, len(columns)), slices.Repeat([]float64{1}, len(columns))
	}
	if len(categories) > 0 {
		d.Levels = make([][]string, len(columns))
	}
	for j, c := range columns {
		if slices.Contains(categories, c.Name) {
			if err := d.fillCategory(j, c, t, most); err != nil {
				return err
			}
			continue
		}
		values, err := numbers(t, c, log)
		if err != nil {
			return err
		}
		d.X.SetCol(j, values)
	}
	return nil
}

// fillCategory reads the levels of a column, and for each row the index of its level.
func (d *Data) fillCategory(j int, c *table.Column, t *table.Table, most int) error {
	if c.Kind == table.Numeric {
		c = c.AsFactor()
	}
	used := make([]int, len(c.Levels)) // new index of each level, from 1; 0 for a level that occurs only in rows that were left out
	var levels []string
	for _, code := range slices.Sorted(slices.Values(c.Codes)) {
		if used[code] == 0 {
			levels = append(levels, c.Levels[code])
			used[code] = len(levels)
		}
	}
	switch {
	case len(levels) < 2: // only a column of numbers that was cut into classes; other constant columns are no nodes
		return fmt.Errorf("%s: column %q is cut into one class (%s), as most of its values are equal: exclude it, or take more classes", t.Path, c.Name, levels[0])
	case len(levels) > most:
		hint := map[bool]string{true: " beside numbers; join rare ones, or exclude it"}[most == mostMixedLevels]
		hint = cmp.Or(hint, "; exclude it")
		return fmt.Errorf("%s: column %q has %d different values, want at most %d of a category%s", t.Path, c.Name, len(levels), most, hint)
	}
	d.Levels[j] = levels
	for row, code := range c.Codes {
		d.X.Set(row, j, float64(used[code]-1))
	}
	return nil
}

// Category reports whether a node is a category.
func (d *Data) Category(j int) bool { return d.Levels != nil && d.Levels[j] != nil }

// Categories returns the number of nodes that are categories.
func (d *Data) Categories() int { return len(apply.Where(len(d.Levels), d.Category)) }

// Discrete reports whether all nodes are categories.
func (d *Data) Discrete() bool { return d.Levels != nil && d.Categories() == len(d.Levels) }

// Mixed reports whether some nodes are categories and the other nodes numbers.
func (d *Data) Mixed() bool { return d.Levels != nil && !d.Discrete() }
