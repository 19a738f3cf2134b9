package score

import (
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
)

// jointNormal is the [Joint] distribution of the BGe score. The log evidence of a set S of columns
// is L(S) = log p(x_S) = c_|S| − (n + |S| + 2)/2 log D. D is the determinant of the rows and
// columns S of RᵀR (see [BGe]), n the number of rows of the data, and c_|S| a constant that depends
// on the number of columns |S|.
type jointNormal struct {
	form    *BGe
	columns [][]int // columns of each node; nil if each node has one column
}

// normalStack is a Cholesky factor of the pushed rows and columns of RᵀR, with the residual sums of
// squares of the other columns. An item is a node whose columns can be pushed.
type normalStack struct {
	*jointNormal
	all    []int       // columns of items followed by the columns of base, as columns of RᵀR [M]
	gram   [][]float64 // row of RᵀR of each of these columns, up to the column; nil until it is needed
	width  int         // number of columns M
	starts []int       // first column of each item and node of base, and M
	pushed []int       // columns that are in the factor
	along  [][]float64
	rest   [][]float64 // residual sum of squares of each column, by number of columns in the factor
	logDet []float64   // log D, by the number of columns in the factor
	places []int       // number of columns in the factor before each Push
	level  []float64   // constant c by the number of columns
}

// leastRest is the least residual sum of squares of a column, as a share of its sum of squares;
// smaller values are rounding errors.
const leastRest = 1e-12

func (j *jointNormal) Stack(base dgraph.Set, items []int) (JointStack, float64) {
	s := &normalStack{jointNormal: j}
	all := append(slices.Clone(items), base.List()...)
	var columns []int
	for _, i := range all {
		s.starts = append(s.starts, len(columns))
		if j.columns == nil {
			columns = append(columns, i)
		} else {
			columns = append(columns, j.columns[i]...)
		}
	}
	s.width = len(columns)
	s.starts = append(s.starts, s.width)
	s.all, s.gram = columns, make([][]float64, s.width)
	squares := apply.To(columns, func(i int) float64 { return j.form.gram[i*len(j.form.means)+i] })
	s.rest, s.logDet = [][]float64{squares}, []float64{0}
	s.level = make([]float64, s.width+1)
	n := float64(j.form.rows)
	for k := range s.width { // the constant terms of [BGe.evidenceOf]
		size := j.form.degrees(k)
		s.level[k+1] = s.level[k] + math.Log(bgeMeanWeight/(n+bgeMeanWeight))/2 + logsum.Gamma((n+size)/2) - logsum.Gamma(size/2) - n/2*math.Log(math.Pi) + (size+float64(k))/2*math.Log(bgeScale)
	}
	for place := len(all) - 1; place >= len(items); place-- {
		s.Push(place)
	}
	return s, s.evidence(len(s.pushed), s.logDet[len(s.pushed)])
}

// evidence returns the log evidence of a set with the given number of columns and log determinant.
func (s *normalStack) evidence(columns int, logDet float64) float64 {
	return s.level[columns] - (float64(s.form.rows)+bgeExcess+float64(columns))/2*logDet
}

func (s *normalStack) Push(place int) {
	s.places = append(s.places, len(s.pushed))
	for c := s.starts[place+1] - 1; c >= s.starts[place]; c-- {
		s.pushColumn(c)
	}
}

func (s *normalStack) Pop() {
	s.pushed = s.pushed[:s.places[len(s.places)-1]]
	s.places = s.places[:len(s.places)-1]
}

// pushColumn adds column c to the factor. After c, only columns with a lower index may be added.
func (s *normalStack) pushColumn(c int) {
	depth := len(s.pushed)
	if len(s.along) == depth {
		s.along, s.rest, s.logDet = append(s.along, make([]float64, s.width)), append(s.rest, make([]float64, s.width)), append(s.logDet, 0)
	}
	pivot := s.left(depth, c)
	s.logDet[depth+1] = s.logDet[depth] + math.Log(pivot)
	along := s.along[depth][:c]
	copy(along, s.gramRow(c))
	for k := range s.pushed {
		other := s.along[k][:c]
		share := s.along[k][c]
		for x, value := range other {
			along[x] -= share * value
		}
	}
	before, after, scale := s.rest[depth][:c], s.rest[depth+1][:c], 1/math.Sqrt(pivot)
	for x := range along {
		along[x] *= scale
		after[x] = before[x] - along[x]*along[x]
	}
	s.pushed = append(s.pushed, c)
}

// gramRow returns the entries of RᵀR of column c with the columns before it.
func (s *normalStack) gramRow(c int) []float64 {
	if s.gram[c] == nil {
		row := s.form.gram[s.all[c]*len(s.form.means):]
		s.gram[c] = apply.To(s.all[:c], func(k int) float64 { return row[k] })
	}
	return s.gram[c]
}

// left returns the residual sum of squares of column c given the first columns in the factor, whose
// number is depth.
func (s *normalStack) left(depth, c int) float64 {
	return math.Max(s.rest[depth][c], leastRest*math.Max(s.rest[0][c], math.SmallestNonzeroFloat64/leastRest))
}

func (s *normalStack) Evidences(out []float64) {
	depth := len(s.pushed)
	logDet := s.logDet[depth]
	for place := range out {
		c := s.starts[place]
		if s.starts[place+1] == c+1 {
			out[place] = s.evidence(depth+1, logDet+math.Log(s.left(depth, c)))
			continue
		}
		s.Push(place)
		out[place] = s.evidence(len(s.pushed), s.logDet[len(s.pushed)])
		s.Pop()
	}
}
