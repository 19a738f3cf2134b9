// Package distinct finds rows of a table that agree in everything that a density depends on, so
// that the density of each distinct row is computed once and counted.
package distinct

import (
	"encoding/binary"
	"math"
)

// Share is the largest share of distinct rows for which counting them saves time: sums over counted
// rows take somewhat longer for each. Half and twice give the same answers
// (docs/benchmarks/constants.md).
const Share = 0.75

// Rows are the distinct rows of a table.
type Rows struct {
	// First [k] is the place of the first of each, and Times [k] the number of its repeats.
	First []int
	Times []float64
	// Of [n] is the place of every row of the table among them.
	Of []int
}

// Of finds them among n rows by the key that appendKey appends for a row. It is nil where they are
// more than Share of all.
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

// Key appends numbers to a key.
func Key(key []byte, values ...float64) []byte {
	for _, v := range values {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	return key
}

// At are the values of some rows.
func At(values []float64, rows []int) []float64 {
	some := make([]float64, len(rows))
	for k, row := range rows {
		some[k] = values[row]
	}
	return some
}
