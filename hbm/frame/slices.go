package frame

import (
	gocontext "context"
	"fmt"
	"slices"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// slicedTable is a Parquet file that is read one row group (slice) at a time, for a formula.
type slicedTable struct {
	file    *table.ParquetFile
	path    string
	options Options
	formula *formula.Formula
	used    []string // the columns that the formula uses
	// head is a small table that is put above the rows of each slice. It has rows with every
	// combination of labels of the terms and, for each combination, two values of every number. The
	// design of a slice then has the same columns as the design of the whole table.
	head *table.Table
	// terms are the columns of the terms, factors the columns of numbers that are labels, and
	// design all columns that a design needs
	terms, factors, design []string
	// labels holds the labels of each grouping column, and groupings their combinations in the
	// table
	labels    map[string]*labelSet
	groupings []*slicedGrouping
	dropped   int
}

// BySlices builds the frame of a Parquet file that need not fit in memory, with a gaussian
// response. It reads the row groups twice, once for labels and groups and once for sums, and
// returns a frame that is Reduced. Memory grows with the number of groups, and with the size of a
// row group. The fingerprint is computed from the file. If ctx is cancelled, BySlices stops with an
// error that wraps ctx.Err().
func BySlices(ctx gocontext.Context, path string, opt Options) (*Frame, error) {
	file, err := table.OpenParquet(path)
	if err != nil {
		return nil, fmt.Errorf("a table is read by slices from a Parquet file only: %w", err)
	}
	defer file.Close()
	s := &slicedTable{file: file, path: path, options: opt, labels: map[string]*labelSet{}}
	if err := s.parse(); err != nil {
		return nil, err
	}
	if err := s.eachSlice(ctx, s.learn); err != nil {
		return nil, err
	}
	f := &Frame{Path: path, Formula: s.formula, Response: opt.Response, PlaceUnit: "row", DroppedRows: s.dropped, Reduced: &Reduced{}}
	if f.Fingerprint, err = file.Fingerprint(); err != nil {
		return nil, err
	}
	for _, g := range s.groupings {
		g.sort(s.labels)
	}
	s.dropped = 0
	sums := &sliceSums{slicedTable: s, frame: f, cells: map[cellKey]int{}}
	if err := s.eachSlice(ctx, sums.add); err != nil {
		return nil, err
	}
	return f, sums.finish()
}

// parse reads the formula and refuses terms that need the table as a whole.
func (s *slicedTable) parse() (err error) {
	names, err := s.file.Names()
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if s.formula, err = formula.Parse(s.options.Formula); err != nil {
		return err
	}
	if _, err := s.formula.Expand(s.options.Formula, names); err != nil {
		return err
	}
	f := s.formula
	switch {
	case s.options.Response != likelihood.GaussianKind:
		return fmt.Errorf("%s: got the %s likelihood, want gaussian to read a table by slices: only for it do sums over rows suffice", s.path, s.options.Response)
	case s.options.SE != "" || len(f.Weights.Columns()) > 0 || len(f.Smooths) > 0 || f.Counts():
		return fmt.Errorf("%s: a table read by slices cannot have standard errors, weights, trials or smooth functions", s.path)
	}
	first, err := s.file.Table(0, names)
	if err != nil {
		return err
	}
	if s.used, err = UsedColumns(first, s.options, f); err != nil {
		return err
	}
	if err := checkFixedGroups(first, s.options, f); err != nil {
		return err
	}
	terms := slices.Concat(f.Products()...)
	for _, v := range terms {
		if v.Transform == formula.TakeSteps {
			return fmt.Errorf("%s: %s: a table read by slices cannot have monotonic effects", s.path, v)
		}
		if v.Transform == formula.TakeScale || v.Transform == formula.TakePolynomials {
			return fmt.Errorf("%s: %s is fitted to all rows, which slices do not have at once: compute the column first", s.path, v)
		}
		if v.Transform == formula.AsFactor {
			s.factors = append(s.factors, v.Column)
		}
	}
	for _, v := range f.Varying {
		if slices.ContainsFunc(s.groupings, func(g *slicedGrouping) bool { return g.group.Same(v.Group) }) {
			continue
		}
		if len(v.Group) > len(cellKey{}) || len(s.groupings) == len(cellKey{}) {
			return fmt.Errorf("%s: a table read by slices can have at most %d groupings, each by at most as many columns", s.path, len(cellKey{}))
		}
		g := &slicedGrouping{group: v.Group, place: map[cellKey]int{}}
		for _, column := range v.Group {
			if s.labels[column.Column] == nil {
				s.labels[column.Column] = &labelSet{numbers: map[float64]int32{}, texts: map[string]int32{}}
			}
		}
		s.groupings = append(s.groupings, g)
	}
	s.terms = formula.ColumnsOf(terms...)
	s.design = formula.ColumnsOf(slices.Concat(terms, []formula.Variable{f.Response}, f.Offsets)...)
	return nil
}

func (s *slicedTable) eachSlice(ctx gocontext.Context, do func(t *table.Table) error) error {
	for group := range s.file.RowGroups() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading %s stopped after %d of %s: %w", s.path, group, english.Count(s.file.RowGroups(), "row group"), err)
		}
		if s.file.Rows(group) == 0 {
			continue
		}
		t, err := s.file.Table(group, s.used)
		if err != nil {
			return err
		}
		dropped := 0
		if s.options.DropMissing { // a slice may have no row left
			t, dropped, err = t.DropMissing(s.used)
		} else {
			t, _, err = t.Complete(s.used, false)
		}
		if err != nil {
			return fmt.Errorf("row group %d: %w", group+1, err)
		}
		s.dropped += dropped
		if err := do(t); err != nil {
			return err
		}
	}
	return nil
}

// learn takes labels, groups, and rows for the table head from a slice.
func (s *slicedTable) learn(t *table.Table) error {
	for _, g := range s.groupings {
		keys, err := s.keys(t, g)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if _, ok := g.place[key]; !ok {
				g.place[key] = len(g.keys)
				g.keys = append(g.keys, key)
			}
		}
	}
	return s.extendHead(t)
}

// extendHead adds rows of a slice to the table head: rows with a new combination of labels, or with
// a second value of a number for their combination.
func (s *slicedTable) extendHead(t *table.Table) error {
	if s.head == nil {
		s.head = t.Repeat(make([]int, t.Rows()))
	}
	first := s.head.Rows()
	both, err := table.Stack(s.head, t, s.design)
	if err != nil {
		return err
	}
	var factors, numbers []*table.Column
	for _, name := range s.terms {
		column, err := both.Lookup(name)
		if err != nil {
			return err
		}
		if column.Kind == table.Factor || slices.Contains(s.factors, name) {
			factors = append(factors, column.AsFactor())
		} else {
			numbers = append(numbers, column)
		}
	}
	type seen struct {
		row    int // the first row of the combination
		varies []bool
		left   int // number of columns of numbers with one value so far
	}
	found := map[string]*seen{}
	chosen, count := make([]int, both.Rows()), 0
	key := make([]byte, 0, 4*len(factors))
	for row := range both.Rows() {
		key = key[:0]
		for _, c := range factors {
			code := c.Codes[row]
			key = append(key, byte(code), byte(code>>8), byte(code>>16))
		}
		k := found[string(key)]
		keep := k == nil
		if keep {
			k = &seen{row: row, varies: make([]bool, len(numbers)), left: len(numbers)}
			found[string(key)] = k
		}
		for j := 0; k.left > 0 && j < len(numbers); j++ {
			if !k.varies[j] && numbers[j].Values[row] != numbers[j].Values[k.row] {
				k.varies[j], keep = true, true
				k.left--
			}
		}
		if keep || row < first {
			chosen[row] = 1
			count++
		}
	}
	if count > mostHeadRows {
		return fmt.Errorf("%s: the terms have more than %d combinations of labels, too many to read by slices", t.Path, mostHeadRows)
	}
	if count > first {
		s.head = both.Repeat(chosen)
	}
	return nil
}

// mostHeadRows bounds the rows of the table head, because every slice reads them again.
const mostHeadRows = 10_000
