package frame

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/table"
)

// Reduced describes a frame whose rows replace the rows of the table. The rows of each combination
// of groups form a matrix with the columns 1, X (population), Z (varying) and y (response). An
// orthogonal transformation leaves at most one nonzero row for each column, and the sums of squares
// and products of the columns as they are. The density of a gaussian response depends only on these
// sums.
type Reduced struct {
	// Rows is the number of rows of the table.
	Rows int
	// Ones are the values, in each row of the frame, of the column that is 1 in each row of the
	// table.
	Ones []float64
	// Columns summarises the population columns over the rows of the table. indicator says, for
	// each column of each grouping, whether the column holds only zeros and ones.
	Columns   []ColumnSummary
	indicator [][]bool
}

// sliceSums reduces the rows of all slices.
type sliceSums struct {
	*slicedTable
	frame *Frame
	// names are the columns of the rows: 1, the distinct columns of the population and of the
	// groupings, and the response y
	names  []string
	shift  []float64 // subtracted from each column but the first
	place  [][]int   // index in names of each column of the population, and then of each grouping
	least  []float64
	most   []float64
	binary []bool    // whether the column has no other value than 0 and 1
	total  []float64 // sums of the columns after subtraction of shift
	cells  map[cellKey]int
	groups []cellKey // the groups in each combination of groups
	upper  []float64 // triangular matrix R of each combination, row by row
	rows   int
}

// below returns the frame of the table head followed by the rows of a slice, without its groups.
func (s *sliceSums) below(t *table.Table) (part *Frame, err error) {
	both, err := table.Stack(s.head, t, s.slicedTable.design)
	if err != nil {
		return nil, err
	}
	part = &Frame{Path: s.path, Formula: s.formula, Response: s.options.Response}
	if err := part.response(both, nil); err != nil {
		return nil, err
	}
	for _, v := range s.formula.Offsets {
		values, err := v.Numbers(both)
		if err != nil {
			return nil, err
		}
		floats.Sub(part.Y, values)
	}
	if part.Columns, part.X, err = part.expand(both, s.formula.Terms, ""); err != nil {
		return nil, err
	}
	part.Groupings = apply.To(s.groupings, func(g *slicedGrouping) *Grouping { return &Grouping{Name: groupingName(g.group), Group: g.group} })
	for place, v := range s.formula.Varying {
		at := slices.IndexFunc(s.groupings, func(g *slicedGrouping) bool { return g.group.Same(v.Group) })
		if err := part.addVarying(both, place, part.Groupings[at]); err != nil {
			return nil, err
		}
	}
	return part, nil
}

// layOut chooses the columns of the reduced rows, from the frame of the first slice. The slice
// begins at row first of this frame.
func (s *sliceSums) layOut(part *Frame, first int) {
	f := s.frame
	f.Columns, f.Warnings = part.Columns, part.Warnings
	s.names = []string{formula.InterceptName}
	find := func(columns []Column) (places []int) {
		for _, c := range columns {
			at := slices.Index(s.names, c.Name)
			if at < 0 {
				at = len(s.names)
				s.names = append(s.names, c.Name)
			}
			places = append(places, at)
		}
		return places
	}
	s.place = append(s.place, find(part.Columns))
	for k, g := range part.Groupings {
		f.Groupings = append(f.Groupings, &Grouping{Name: g.Name, Group: g.Group, Columns: g.Columns, Levels: s.groupings[k].levels, Counts: make([]int, len(s.groupings[k].levels))})
		s.place = append(s.place, find(g.Columns))
	}
	width := len(s.names) + 1
	s.shift, s.total, s.binary = make([]float64, width), make([]float64, width), slices.Repeat([]bool{true}, width)
	s.least, s.most = slices.Repeat([]float64{math.Inf(1)}, width), slices.Repeat([]float64{math.Inf(-1)}, width)
	row := make([]float64, width)
	for i := first; i < len(part.Y); i++ {
		s.read(part, i, row)
		for j, v := range row[1:] {
			s.shift[j+1] += v / float64(len(part.Y)-first)
		}
	}
}

func (s *sliceSums) read(part *Frame, i int, row []float64) {
	row[0] = 1
	for j, at := range s.place[0] {
		row[at] = part.X.At(i, j)
	}
	for k, g := range part.Groupings {
		for j, at := range s.place[k+1] {
			row[at] = g.Z.At(i, j)
		}
	}
	row[len(row)-1] = part.Y[i]
}

func (s *sliceSums) add(t *table.Table) error {
	part, err := s.below(t)
	if err != nil {
		return err
	}
	first := s.head.Rows()
	if s.names == nil {
		s.layOut(part, first)
	}
	if err := s.sameColumns(part); err != nil {
		return err
	}
	groups := make([][]cellKey, len(s.groupings))
	for k, g := range s.groupings {
		if groups[k], err = s.keys(t, g); err != nil {
			return err
		}
	}
	width := len(s.shift)
	size := width * (width + 1) / 2
	row := make([]float64, width)
	for i := first; i < len(part.Y); i++ {
		s.read(part, i, row)
		for j, v := range row {
			s.least[j], s.most[j] = math.Min(s.least[j], v), math.Max(s.most[j], v)
			s.binary[j] = s.binary[j] && (v == 0 || v == 1)
			row[j] -= s.shift[j]
			s.total[j] += row[j]
		}
		key := cellKey{-1, -1, -1, -1}
		for k, g := range s.groupings {
			key[k] = int32(g.place[groups[k][i-first]])
			s.frame.Groupings[k].Counts[key[k]]++
		}
		cell, ok := s.cells[key]
		if !ok {
			cell = len(s.groups)
			s.cells[key] = cell
			s.groups = append(s.groups, key)
			s.upper = append(s.upper, make([]float64, size)...)
		}
		rotate(s.upper[cell*size:(cell+1)*size], row)
	}
	s.rows += len(part.Y) - first
	return nil
}

func (s *sliceSums) sameColumns(part *Frame) error {
	same := slices.Equal(Names(part.Columns), Names(s.frame.Columns))
	for k, g := range part.Groupings {
		same = same && slices.Equal(Names(g.Columns), Names(s.frame.Groupings[k].Columns))
	}
	if !same {
		return fmt.Errorf("%s: got the columns %q in a row group, want %q as in the first: a column that is constant in a row group cannot be read by slices", s.path, Names(part.Columns), Names(s.frame.Columns))
	}
	return nil
}

// rotate adds a row to an upper triangular matrix R, stored row by row, by Givens rotations. RᵀR
// increases by the products of the entries of row, and row is overwritten.
func rotate(upper, row []float64) {
	at := 0
	for i := range row {
		pivotRow := upper[at : at+len(row)-i]
		at += len(pivotRow)
		v := row[i:]
		if v[0] == 0 {
			continue
		}
		if pivotRow[0] == 0 {
			copy(pivotRow, v)
			return
		}
		r := math.Hypot(pivotRow[0], v[0])
		c, s := pivotRow[0]/r, v[0]/r
		pivotRow[0] = r
		for j := 1; j < len(v); j++ {
			pivotRow[j], v[j] = c*pivotRow[j]+s*v[j], c*v[j]-s*pivotRow[j]
		}
	}
}

// finish makes the rows of the frame from the triangular matrices.
func (s *sliceSums) finish() error {
	f, width := s.frame, len(s.shift)
	if s.rows < 2 {
		return fmt.Errorf("%s: got %s, want at least two", s.path, english.Count(s.rows, "row"))
	}
	f.DroppedRows = s.dropped
	f.Reduced.Rows = s.rows
	var rows [][]float64
	var cells []int
	at := 0 // index in upper
	for cell := range s.groups {
		for i := range width {
			row := make([]float64, width)
			copy(row[i:], s.upper[at:at+width-i])
			at += width - i
			if row[i] == 0 {
				continue // the rest of the row is zero too
			}
			for j := range row[1:] {
				row[j+1] += s.shift[j+1] * row[0]
			}
			rows, cells = append(rows, row), append(cells, cell)
		}
	}
	take := func(places []int) *mat.Dense {
		if len(places) == 0 {
			return nil
		}
		m := mat.NewDense(len(rows), len(places), nil)
		for i, row := range rows {
			for j, at := range places {
				m.Set(i, j, row[at])
			}
		}
		return m
	}
	for _, row := range rows {
		f.Y, f.Reduced.Ones = append(f.Y, row[width-1]), append(f.Reduced.Ones, row[0])
	}
	f.X = take(s.place[0])
	for j, at := range s.place[0] {
		f.Reduced.Columns = append(f.Reduced.Columns, ColumnSummary{
			f.Columns[j].Name, report.Number(s.shift[at] + s.total[at]/float64(s.rows)), report.Number(s.least[at]), report.Number(s.most[at])})
	}
	f.checkRank()
	for k, g := range f.Groupings {
		g.Z = take(s.place[k+1])
		indicator := apply.To(s.place[k+1], func(at int) bool { return s.binary[at] })
		f.Reduced.indicator = append(f.Reduced.indicator, indicator)
		g.Index = apply.To(cells, func(cell int) int { return int(s.groups[cell][k]) })
		if err := f.checkGrouping(g); err != nil {
			return err
		}
	}
	return nil
}
