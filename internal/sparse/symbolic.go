package sparse

import (
	"fmt"
	"slices"
	"sync"
)

// Entry is a position in a symmetric matrix. An entry and its mirror image are the same entry.
type Entry struct{ Row, Column int }

// Symbolic is the part of a factorisation that depends only on the pattern of the matrix.
type Symbolic struct {
	n     int
	order []int // original index of each row of the new order
	// head is the number of sparse columns. The remaining columns are factorised as a dense matrix.
	head int
	// columns lists for each row, in the new order, the earlier columns in which the factor has an
	// entry, ascending. For rows of the dense part it lists only columns of the head.
	columns [][]int32
	first   []int   // for each column of the head, index in below of its first entry
	below   []int32 // rows of the entries below the diagonal, ascending in each column
	// rows lists for each row k, in the new order, the entries of the matrix in columns up to k.
	rows   [][]placed
	panels []densePanel // products of the dense part
	// workspaces holds memory that calls of Factorize leave for later calls.
	workspaces sync.Pool
}

// placed is an entry in a row: its column in the new order, and the index of its value.
type placed struct {
	column int32
	value  int32
}

// denseGain is the number of multiplications of the dense part that take the time of one
// multiplication of the sparse part. leastDense is the smallest size of the dense part that is
// worth its overhead. Both were chosen by timings on the 4,130 effects of the data InstEval with
// three groupings. With a gain of 10 to 30 the times differ by a tenth.
const (
	denseGain  = 20
	leastDense = 16
)

// Analyse prepares the factorisation of matrices of n rows with the given entries. Entries outside
// the list are zero; the list must contain every diagonal entry. An entry may be listed several
// times; its values are then added. Rows for which the argument last is true are eliminated after
// all others, so that their draws by Spread depend only on the random numbers for these rows. nil
// means that there are no such rows.
func Analyse(n int, entries []Entry, last []bool) *Symbolic {
	neighbours := make([][]int, n)
	diagonal := make([]bool, n)
	for _, e := range entries {
		if e.Row < 0 || e.Column < 0 || e.Row >= n || e.Column >= n {
			panic(fmt.Sprintf("sparse.Analyse: got entry (%d, %d), want rows and columns below %d", e.Row, e.Column, n))
		}
		if e.Row == e.Column {
			diagonal[e.Row] = true
			continue
		}
		neighbours[e.Row] = append(neighbours[e.Row], e.Column)
		neighbours[e.Column] = append(neighbours[e.Column], e.Row)
	}
	for i := range neighbours {
		if !diagonal[i] {
			panic(fmt.Sprintf("sparse.Analyse: got no entry for place %d of the diagonal, want one", i))
		}
		slices.Sort(neighbours[i])
		neighbours[i] = slices.Compact(neighbours[i])
	}
	s := &Symbolic{n: n, order: minimumDegree(neighbours, last), rows: make([][]placed, n)}
	place := make([]int, n) // index in the new order of each original row
	for k, old := range s.order {
		place[old] = k
	}
	for value, e := range entries {
		row, column := place[e.Row], place[e.Column]
		if row < column {
			row, column = column, row
		}
		s.rows[row] = append(s.rows[row], placed{int32(column), int32(value)})
	}
	s.fill()
	return s
}

// fill finds the pattern of the factor by the elimination tree: row k has entries in the columns on
// the paths from the entries of the matrix in row k up to k.
func (s *Symbolic) fill() {
	parent, mark := make([]int, s.n), make([]int, s.n)
	counts := make([]int, s.n)
	s.columns = make([][]int32, s.n)
	for k := range s.n {
		parent[k], mark[k] = -1, k
		for _, e := range s.rows[k] {
			for j := int(e.column); mark[j] != k; j = parent[j] {
				if parent[j] < 0 {
					parent[j] = k
				}
				mark[j] = k
				s.columns[k] = append(s.columns[k], int32(j))
				counts[j]++
			}
		}
		slices.Sort(s.columns[k])
	}
	s.head = cheapestHead(counts)
	s.first = make([]int, s.head+1)
	for j := range s.head {
		s.first[j+1] = s.first[j] + counts[j]
	}
	for k := s.head; k < s.n; k++ {
		cut, _ := slices.BinarySearch(s.columns[k], int32(s.head))
		s.columns[k] = s.columns[k][:cut]
	}
	s.below = make([]int32, s.first[s.head])
	next := slices.Clone(s.first[:s.head])
	for k, columns := range s.columns {
		for _, j := range columns {
			if int(j) < s.head {
				s.below[next[j]] = int32(k)
				next[j]++
			}
		}
	}
	s.panels = densePanels(s.n - s.head)
}

// Work returns the approximate number of multiplications for one factor.
func (s *Symbolic) Work() float64 {
	work := 0.0
	for j := range s.head {
		count := float64(s.first[j+1] - s.first[j])
		work += count * (count + 1) / 2
	}
	rest := float64(s.n - s.head)
	return work + rest*rest*rest/6
}

// cheapestHead returns the number of sparse columns for which a factor takes least time, given the
// number of entries below the diagonal in each column.
func cheapestHead(counts []int) int {
	n := len(counts)
	sparse := 0.0
	for _, count := range counts {
		sparse += denseGain * float64(count) * float64(count+1) / 2
	}
	head, least := n, sparse
	for j := n - 1; j >= 0; j-- {
		sparse -= denseGain * float64(counts[j]) * float64(counts[j]+1) / 2
		rest := float64(n - j)
		if cost := sparse + rest*rest*rest/6; n-j >= leastDense && cost < least {
			head, least = j, cost
		}
	}
	return head
}
