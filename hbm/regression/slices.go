package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/table"
)

// Reduced says that the rows of a frame are not those of the table: those of each combination of
// groups, as the columns 1, X, Z and y, were multiplied by an orthogonal matrix, which leaves as
// many rows as columns and changes no sum of squares or products. The density of a gaussian
// response depends on nothing else.
type Reduced struct {
	// Rows is the number of rows of the table.
	Rows int
	// Ones are what stands for 1 in each row.
	Ones []float64
	// columns are those of the population over the table, and indicator tells of each column of
	// each grouping that it holds zeros and ones alone.
	columns   []ColumnSummary
	indicator [][]bool
}

// slicedTable is a Parquet file that is read by row groups, as a formula uses it.
type slicedTable struct {
	file    *table.ParquetFile
	path    string
	options FrameOptions
	formula *formula.Formula
	used    []string // columns
	// head are rows with every combination of labels of the terms, and two values of every number
	// of each, so that a slice below them has the columns of the table.
	head *table.Table
	// columns of the terms, those of them whose numbers are labels, and all that a design needs
	terms, factors, design []string
	// labels are those of each column of groups, groupings the combinations that there are
	labels    map[string]*labelSet
	groupings []*slicedGrouping
	dropped   int
}

// NewFrameBySlices is NewFrame for a Parquet file that need not fit in memory, and a gaussian
// response: its row groups are read twice, once for labels and groups and once for sums, and the
// frame is Reduced. Memory grows with the number of groups, and with the size of a row group. The
// fingerprint is that of the file. Cancelling ctx stops it with an error that wraps ctx.Err().
func NewFrameBySlices(ctx gocontext.Context, path string, opt FrameOptions) (*Frame, error) {
	file, err := table.OpenParquet(path)
	if err != nil {
		return nil, fmt.Errorf("by slices, which takes a Parquet file: %w", err)
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

// parse reads the formula and refuses what needs the table as a whole.
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
	case s.options.Response != GaussianResponse:
		return fmt.Errorf("%s: only the gaussian likelihood reads a table by slices, got %s: sums over rows say all there is to know", s.path, s.options.Response)
	case s.options.SE != "" || len(f.Weights.Columns()) > 0 || len(f.Smooths) > 0 || f.Counts():
		return fmt.Errorf("%s: a table by slices has no standard errors, weights, trials and smooth functions", s.path)
	}
	first, err := s.file.Table(0, names)
	if err != nil {
		return err
	}
	if s.used, err = usedColumns(first, s.options, f); err != nil {
		return err
	}
	if err := checkFixedGroups(first, s.options, f); err != nil {
		return err
	}
	add := func(terms []formula.Term) error {
		for _, term := range terms {
			for _, v := range term {
				if v.Transform == formula.TakeScale || v.Transform == formula.TakePolynomials {
					return fmt.Errorf("%s: %s is fitted to all rows, which slices do not have at once: compute the column first", s.path, v)
				}
				for _, name := range v.Columns() {
					if v.Transform == formula.AsFactor {
						s.factors = append(s.factors, name)
					}
					if !slices.Contains(s.terms, name) {
						s.terms = append(s.terms, name)
					}
				}
			}
		}
		return nil
	}
	if err := add(f.Terms); err != nil {
		return err
	}
	for _, v := range f.Varying {
		if err := add(v.Terms); err != nil {
			return err
		}
		if slices.ContainsFunc(s.groupings, func(g *slicedGrouping) bool { return g.group.Same(v.Group) }) {
			continue
		}
		if len(v.Group) > len(cellKey{}) || len(s.groupings) == len(cellKey{}) {
			return fmt.Errorf("%s: a table by slices has at most %d groupings, each by at most as many columns", s.path, len(cellKey{}))
		}
		g := &slicedGrouping{group: v.Group, place: map[cellKey]int{}}
		for _, column := range v.Group {
			if s.labels[column.Column] == nil {
				s.labels[column.Column] = &labelSet{numbers: map[float64]int32{}, texts: map[string]int32{}}
			}
		}
		s.groupings = append(s.groupings, g)
	}
	s.design = slices.Clone(s.terms)
	for _, v := range append([]formula.Variable{f.Response}, f.Offsets...) {
		for _, name := range v.Columns() {
			if !slices.Contains(s.design, name) {
				s.design = append(s.design, name)
			}
		}
	}
	return nil
}

// eachSlice calls a function with each row group in turn.
func (s *slicedTable) eachSlice(ctx gocontext.Context, do func(t *table.Table) error) error {
	for group := range s.file.RowGroups() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading %s stopped after %d of %d row groups: %w", s.path, group, s.file.RowGroups(), err)
		}
		if s.file.Rows(group) == 0 {
			continue
		}
		t, err := s.file.Table(group, s.used)
		if err != nil {
			return err
		}
		part := &Frame{}
		if t, err = part.withoutMissing(t, s.used, s.options.DropMissing); err != nil {
			return err
		}
		s.dropped += part.DroppedRows
		if err := do(t); err != nil {
			return err
		}
	}
	return nil
}

// learn takes labels, groups and rows of the head from a slice.
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

// extendHead adds rows of a slice to the head: those with a combination of labels that it lacks, or
// with a second value of a number among the rows of theirs.
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
		row    int // the first
		varies []bool
		left   int // numbers that do not vary
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

// mostHeadRows bounds the rows of the head, which every slice is read below.
const mostHeadRows = 10_000

// cellKey are indices of a combination: of labels of a grouping, or of groups of a row; −1 beyond.
type cellKey [4]int32

// labelSet numbers the labels of a column in the order in which they come.
type labelSet struct {
	numbers map[float64]int32
	texts   map[string]int32
}

// codes are the numbers of the labels of each row.
func (l *labelSet) codes(c *table.Column) []int32 {
	codes := make([]int32, len(c.Codes))
	if c.Kind == table.Factor {
		of := make([]int32, len(c.Levels))
		for k, text := range c.Levels {
			of[k] = number(l.texts, text)
		}
		for row, code := range c.Codes {
			codes[row] = of[code]
		}
		return codes
	}
	codes = make([]int32, len(c.Values))
	for row, value := range c.Values {
		codes[row] = number(l.numbers, value)
	}
	return codes
}

func number[K comparable](of map[K]int32, key K) int32 {
	code, ok := of[key]
	if !ok {
		code = int32(len(of))
		of[key] = code
	}
	return code
}

// ordered are the labels as a table in memory has them, numbers by value, and the rank of each.
func (l *labelSet) ordered() (labels []string, rank []int32) {
	rank = make([]int32, len(l.numbers)+len(l.texts))
	if len(l.texts) > 0 {
		for text := range l.texts {
			labels = append(labels, text)
		}
		slices.Sort(labels)
		for k, text := range labels {
			rank[l.texts[text]] = int32(k)
		}
		return labels, rank
	}
	var values []float64
	for value := range l.numbers {
		values = append(values, value)
	}
	slices.Sort(values)
	column := table.Numbers("", values).AsFactor()
	for k, value := range values {
		rank[l.numbers[value]] = int32(k)
	}
	return column.Levels, rank
}

// slicedGrouping is a grouping of a table by slices: its groups in the order in which they come,
// and once all are known, the place of each key in the order of their labels.
type slicedGrouping struct {
	group  formula.Term
	keys   []cellKey
	place  map[cellKey]int
	levels []string
}

// keys are the labels of each row of a slice.
func (s *slicedTable) keys(t *table.Table, g *slicedGrouping) ([]cellKey, error) {
	keys := make([]cellKey, t.Rows())
	for i := range keys {
		keys[i] = cellKey{-1, -1, -1, -1}
	}
	for k, v := range g.group {
		column, err := t.Lookup(v.Column)
		if err != nil {
			return nil, err
		}
		for row, code := range s.labels[v.Column].codes(column) {
			keys[row][k] = code
		}
	}
	return keys, nil
}

// sort puts the groups in order, that of the first column slowest.
func (g *slicedGrouping) sort(labels map[string]*labelSet) {
	var names [][]string
	var ranks [][]int32
	for _, v := range g.group {
		of, rank := labels[v.Column].ordered()
		names, ranks = append(names, of), append(ranks, rank)
	}
	slices.SortFunc(g.keys, func(a, b cellKey) int {
		for k, rank := range ranks {
			if d := rank[a[k]] - rank[b[k]]; d != 0 {
				return int(d)
			}
		}
		return 0
	})
	for at, key := range g.keys {
		g.place[key] = at
		label := ""
		for k, rank := range ranks {
			if k > 0 {
				label += ":"
			}
			label += names[k][rank[key[k]]]
		}
		g.levels = append(g.levels, oneLine(label))
	}
}

// sliceSums reduces the rows of all slices.
type sliceSums struct {
	*slicedTable
	frame *Frame
	// columns of the rows: 1, those of the population and of the groupings that differ, y
	names  []string
	shift  []float64 // taken from each column but the first
	place  [][]int   // of the columns of the population, and then of each grouping
	least  []float64
	most   []float64
	binary []bool    // no other value than 0 and 1
	total  []float64 // sums of the columns without their shift
	cells  map[cellKey]int
	groups []cellKey // of each cell
	upper  []float64 // the triangle of each cell, row by row
	rows   int
}

// below is the frame of a slice below the head, without its groups.
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
		for i, value := range values {
			part.Y[i] -= value
		}
	}
	if part.Columns, part.X, err = part.expand(both, s.formula.Terms, ""); err != nil {
		return nil, err
	}
	for _, g := range s.groupings {
		part.Groupings = append(part.Groupings, &Grouping{Name: groupingName(g.group), Group: g.group})
	}
	for place, v := range s.formula.Varying {
		at := slices.IndexFunc(s.groupings, func(g *slicedGrouping) bool { return g.group.Same(v.Group) })
		g := part.Groupings[at]
		columns, z, err := part.expand(both, v.Terms, "varying by "+g.Name+": ")
		if err != nil {
			return nil, err
		}
		if err := g.varies(s.path, place, columns, z); err != nil {
			return nil, err
		}
	}
	return part, nil
}

// layOut chooses the columns by those of the first slice.
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
	s.shift, s.least, s.most, s.total = make([]float64, width), make([]float64, width), make([]float64, width), make([]float64, width)
	row := make([]float64, width)
	for i := first; i < len(part.Y); i++ {
		s.read(part, i, row)
		for j, v := range row[1:] {
			s.shift[j+1] += v / float64(len(part.Y)-first)
		}
	}
	for j := range width {
		s.least[j], s.most[j] = math.Inf(1), math.Inf(-1)
		s.binary = append(s.binary, true)
	}
}

// read writes the columns of a row of a slice.
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

// add adds the rows of a slice.
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

// sameColumns refuses a slice with other columns than the first.
func (s *sliceSums) sameColumns(part *Frame) error {
	names := func(columns []Column) (list []string) {
		for _, c := range columns {
			list = append(list, c.Name)
		}
		return list
	}
	same := slices.Equal(names(part.Columns), names(s.frame.Columns))
	for k, g := range part.Groupings {
		same = same && slices.Equal(names(g.Columns), names(s.frame.Groupings[k].Columns))
	}
	if !same {
		return fmt.Errorf("%s: the columns of a row group, %q, are not those of the first, %q: a column that is constant there cannot be read by slices", s.path, names(part.Columns), names(s.frame.Columns))
	}
	return nil
}

// rotate adds a row to an upper triangular matrix R, row by row, by Givens rotations: RᵀR grows by
// the products of the row, which is overwritten.
func rotate(upper, row []float64) {
	at := 0
	for i := range row {
		own := upper[at : at+len(row)-i]
		at += len(own)
		v := row[i:]
		if v[0] == 0 {
			continue
		}
		if own[0] == 0 {
			copy(own, v)
			return
		}
		r := math.Hypot(own[0], v[0])
		c, s := own[0]/r, v[0]/r
		own[0] = r
		for j := 1; j < len(v); j++ {
			own[j], v[j] = c*own[j]+s*v[j], c*v[j]-s*own[j]
		}
	}
}

// finish makes the rows of the frame from the triangles.
func (s *sliceSums) finish() error {
	f, width := s.frame, len(s.shift)
	if s.rows < 2 {
		return fmt.Errorf("%s: got %d rows, want at least two", s.path, s.rows)
	}
	f.DroppedRows = s.dropped
	f.Reduced.Rows = s.rows
	var rows [][]float64
	var cells []int
	at := 0 // in the triangles
	for cell := range s.groups {
		for i := range width {
			row := make([]float64, width)
			copy(row[i:], s.upper[at:at+width-i])
			at += width - i
			if row[i] == 0 {
				continue // what is behind it is zero too
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
		f.Reduced.columns = append(f.Reduced.columns, ColumnSummary{
			f.Columns[j].Name, Figure(s.shift[at] + s.total[at]/float64(s.rows)), Figure(s.least[at]), Figure(s.most[at])})
	}
	f.checkRank()
	for k, g := range f.Groupings {
		g.Z = take(s.place[k+1])
		var indicator []bool
		for _, at := range s.place[k+1] {
			indicator = append(indicator, s.binary[at])
		}
		f.Reduced.indicator = append(f.Reduced.indicator, indicator)
		for _, cell := range cells {
			g.Index = append(g.Index, int(s.groups[cell][k]))
		}
		if err := f.checkGrouping(g); err != nil {
			return err
		}
	}
	return nil
}
