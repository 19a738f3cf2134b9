// Package distinct finds rows of a table that agree in every value on which a density depends. The
// density of each distinct row is then computed once and counted with its multiplicity.
package distinct

import (
	"encoding/binary"
	"math"

	"github.com/transdim/vti/internal/apply"
)

// Share is the largest share of distinct rows for which counting them saves time: a sum over
// distinct rows also multiplies each term by its count. Half and twice this value give the same
// answers (docs/benchmarks/constants.md).
const Share = 0.75

// Rows holds the distinct rows of a table.
type Rows struct {
	// First [k] is the index of the first occurrence of each distinct row, and Times [k] the number
	// of its occurrences.
	First []int
	Times []float64
	// Of [n] holds for every row of the table the index of its distinct row.
	Of []int
}

// Of finds the distinct rows among n rows. Two rows are equal if appendKey appends the same key for
// both. Of returns nil if the distinct rows are more than the fraction Share of all rows.
func Of(n int, appendKey func(key []byte, row int) []byte) *Rows {
	places, d := map[string]int{}, &Rows{Of: make([]int, n)}
	var key []byte
	for row := range n {
		key = appendKey(key[:0], row)
		at, seen := places[string(key)]
		if !seen {
			at = len(d.First)
			if float64(at+1) > Share*float64(n) {
				return nil
			}
			places[string(key)] = at
			d.First, d.Times = append(d.First, row), append(d.Times, 0)
		}
		d.Times[at]++
		d.Of[row] = at
	}
	return d
}

// Key appends the bytes of values to a key.
func Key(key []byte, values ...float64) []byte {
	for _, v := range values {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	return key
}

// At returns the elements of values at the given indices, or nil if values is nil.
func At[T any](values []T, rows []int) []T {
	if values == nil {
		return nil
	}
	return apply.To(rows, func(row int) T { return values[row] })
}
