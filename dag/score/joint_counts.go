package score

import (
	"math/bits"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
)

// jointCounts is the [Joint] distribution of BDeu. A set S of columns has a table with a cell for
// each combination of their levels. The probabilities of the cells have a Dirichlet prior with all
// parameters a = α/(number of cells), where α is the imaginary sample size. L(S), the log evidence
// of the set, is the sum over cells of log Γ(a + n) − log Γ(a), for n rows in the cell.
type jointCounts struct{ form *BDeu }

// countStack counts the rows in the cells of a contingency table. For the base columns (see
// [Joint.Stack]) and the first two pushed columns it counts row by row. The rows are then sorted by
// these cells into 64-bit words, one bit for each row, and each word holds rows of one cell only.
// The rows are not sorted if this needs more than one word for four rows. Each level of every
// column that can still be pushed becomes a bit mask over the sorted rows (a plane). Cells of more
// columns are counted 64 rows at a time if this takes fewer steps than there are rows.
type countStack struct {
	*BDeu
	items  []int
	frames []countFrame
	depth  int

	starts []int    // first word of each cell of base and two columns, then the number of words W
	rowBit []int32  // index of the bit of each row, counted over all words
	planes []uint64 // bit masks, W words each, of the levels of the columns that can still be pushed
	first  []int    // index of the first plane of the column at each place

	counts []int32
	known  map[int][]float64 // results of rising, by the number of cells of the table
}

// countFrame holds the combinations of values of the base columns (see [Joint.Stack]) and the
// columns pushed so far.
type countFrame struct {
	place       int
	cells       int     // number of possible combinations, at most moreCells
	rows        bool    // whether combination and seen are known
	combination []int32 // number of the combination in each row; combinations are numbered from 0 by their first rows
	seen        int     // number of combinations that occur in some row
	sorted      bool    // whether masks and totals are known
	masks       []uint64
	totals      []int32
}

// moreCells replaces every larger number of cells, which could overflow. In a table of this size
// hardly any cell has more than a few rows.
const moreCells = 1 << 40

func (j jointCounts) Stack(base dgraph.Set, items []int) (JointStack, float64) {
	s := &countStack{BDeu: j.form, items: items, known: map[int][]float64{}}
	combination, seen, possible := s.combinations(base)
	s.frames = append(s.frames, countFrame{cells: int(min(possible, moreCells)), rows: true, combination: combination, seen: seen})
	counts := make([]int32, seen)
	for _, c := range combination {
		counts[c]++
	}
	return s, s.sum(counts, s.frames[0].cells)
}

// sum returns the log evidence of counts in a contingency table with the given number of cells.
func (s *countStack) sum(counts []int32, cells int) (sum float64) {
	table := s.table(cells)
	for _, n := range counts {
		switch {
		case n == 0:
		case table == nil:
			sum += LogRising(s.Size/float64(cells), int(n))
		default:
			sum += table[n]
		}
	}
	return sum
}

// table returns a slice with log Γ(a + n) − log Γ(a) for each n (the result of rising), with a the
// imaginary sample size divided by the number of cells, or nil for more than mostDense cells.
func (s *countStack) table(cells int) []float64 {
	if cells > mostDense {
		return nil
	}
	table := s.known[cells]
	if table == nil {
		table = s.rising(s.Size / float64(cells))
		s.known[cells] = table
	}
	return table
}

func (s *countStack) Push(place int) {
	before := s.frames[s.depth].cells
	s.depth++
	if len(s.frames) == s.depth {
		s.frames = append(s.frames, countFrame{})
	}
	f := &s.frames[s.depth]
	f.place, f.rows, f.sorted = place, false, false
	f.cells = min(before*s.levels[s.items[place]], moreCells)
	switch {
	case s.depth == 2:
		s.sort()
	case s.depth > 2 && s.frames[s.depth-1].sorted:
		s.split()
	}
}

func (s *countStack) Pop() { s.depth-- }

func (s *countStack) combinationsOf(depth int) *countFrame {
	f := &s.frames[depth]
	if f.rows {
		return f
	}
	before := s.combinationsOf(depth - 1)
	item := s.items[f.place]
	levels := int32(s.levels[item])
	next := s.cleared(before.seen * int(levels))
	f.combination, f.seen, f.rows = slices.Grow(f.combination[:0], len(before.combination))[:len(before.combination)], 0, true
	for row, code := range s.codes[item] {
		number := &next[before.combination[row]*levels+code]
		if *number == 0 {
			f.seen++
			*number = int32(f.seen)
		}
		f.combination[row] = *number - 1
	}
	return f
}

func (s *countStack) cleared(size int) []int32 {
	if len(s.counts) < size {
		s.counts = make([]int32, size)
	}
	clear(s.counts[:size])
	return s.counts[:size]
}

// sort arranges the rows such that each combination of values of the base columns and the two
// pushed columns has its own words, unless this takes more than one word for four rows.
func (s *countStack) sort() {
	f := s.combinationsOf(s.depth)
	f.totals = append(f.totals[:0], make([]int32, f.seen)...)
	for _, c := range f.combination {
		f.totals[c]++
	}
	s.starts = s.starts[:0]
	words := 0
	for _, n := range f.totals {
		s.starts = append(s.starts, words)
		words += (int(n) + 63) / 64
	}
	s.starts = append(s.starts, words)
	if 4*words > len(f.combination) {
		return
	}
	f.sorted = true
	next := s.cleared(f.seen)
	s.rowBit = s.rowBit[:0]
	f.masks = append(f.masks[:0], make([]uint64, words)...)
	for _, c := range f.combination {
		bit := int32(64*s.starts[c]) + next[c]
		next[c]++
		s.rowBit = append(s.rowBit, bit)
		f.masks[bit>>6] |= 1 << (bit & 63)
	}
	s.first = s.first[:0]
	planes := 0
	for place := range f.place {
		s.first = append(s.first, planes)
		planes += s.levels[s.items[place]]
	}
	s.planes = append(s.planes[:0], make([]uint64, planes*words)...)
	for place, first := range s.first {
		for row, code := range s.codes[s.items[place]] {
			bit := s.rowBit[row]
			s.planes[(first+int(code))*words+int(bit>>6)] |= 1 << (bit & 63)
		}
	}
}

// split divides the masks of the previous frame by the levels of the column pushed last, if this
// takes fewer steps than there are rows.
func (s *countStack) split() {
	before, f := &s.frames[s.depth-1], &s.frames[s.depth]
	levels := s.levels[s.items[f.place]]
	words, cells := s.starts[len(s.starts)-1], len(s.starts)-1
	if len(before.masks)*levels > len(s.rowBit) {
		return
	}
	f.sorted = true
	f.masks, f.totals = f.masks[:0], f.totals[:0]
	for from := 0; from < len(before.masks); from += words {
		mask := before.masks[from : from+words]
		for level := range levels {
			plane := s.plane(f.place, level, words)
			for w, bits := range mask {
				f.masks = append(f.masks, bits&plane[w])
			}
			pattern := f.masks[len(f.masks)-words:]
			for c := range cells {
				f.totals = append(f.totals, int32(ones(pattern[s.starts[c]:s.starts[c+1]])))
			}
		}
	}
}

// plane returns the bit mask of the rows in which the column at a place has the given level.
func (s *countStack) plane(place, level, words int) []uint64 {
	return s.planes[(s.first[place]+level)*words:][:words]
}

func ones(words []uint64) (count int) {
	for _, word := range words {
		count += bits.OnesCount64(word)
	}
	return count
}

func (s *countStack) Evidences(out []float64) {
	f := &s.frames[s.depth]
	for place := range out {
		levels := s.levels[s.items[place]]
		cells := f.cells * levels
		if f.sorted && cells <= mostDense && len(f.masks)*(levels-1) <= len(s.rowBit) {
			out[place] = s.sumWords(f, place, levels, s.table(cells))
		} else {
			out[place] = s.sumRows(place, levels, cells)
		}
	}
}

func (s *countStack) sumRows(place, levels, cells int) float64 {
	f := s.combinationsOf(s.depth)
	counts := s.cleared(f.seen * levels)
	for row, code := range s.codes[s.items[place]] {
		counts[int(f.combination[row])*levels+int(code)]++
	}
	return s.sum(counts, cells)
}

// sumWords returns the log evidence of the pushed columns and the column at place, counting 64 rows
// at a time. It counts all levels but the first; the remaining rows of a cell have the first level.
func (s *countStack) sumWords(f *countFrame, place, levels int, table []float64) (sum float64) {
	words, cells := s.starts[len(s.starts)-1], len(s.starts)-1
	ends := s.starts[1:]
	for m := 0; m*words < len(f.masks); m++ {
		mask, totals := f.masks[m*words:][:words], f.totals[m*cells:][:cells]
		if levels == 2 {
			sum += sumPairs(mask, s.plane(place, 1, words), totals, ends, table)
			continue
		}
		for c, left := range totals {
			from, to := s.starts[c], s.starts[c+1]
			for level := 1; level < levels && left > 0; level++ {
				plane := s.plane(place, level, words)[from:to]
				n := 0
				for w, rows := range mask[from:to] {
					n += bits.OnesCount64(rows & plane[w])
				}
				sum += table[n]
				left -= int32(n)
			}
			sum += table[left]
		}
	}
	return sum
}

// sumPairs is the part of sumWords for columns of two levels, written for speed.
func sumPairs(mask, plane []uint64, totals []int32, ends []int, table []float64) (sum float64) {
	w := 0
	plane, ends = plane[:len(mask)], ends[:len(totals)]
	for c, total := range totals {
		n := 0
		for ; w < ends[c] && w < len(mask); w++ {
			n += bits.OnesCount64(mask[w] & plane[w])
		}
		sum += table[n] + table[int(total)-n]
	}
	return sum
}
