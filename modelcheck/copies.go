package modelcheck

import (
	"fmt"
	"math"
	"slices"
)

// rowKeys numbers the distinct rows of columns, so that equal rows get equal numbers. It compares
// rows by a hash of 64 bits. Different rows get equal hashes once in 10⁷ tables of a million rows.
func rowKeys(columns []Column) (keys []int, count int) {
	n := len(columns[0].Values)
	hashes, keys := make([]uint64, n), make([]int, n)
	for from := 0; from < len(columns) && count < n; { // a few columns usually distinguish all rows
		to := min(2*from+8, len(columns))
		for _, c := range columns[from:to] {
			for i, v := range c.Values {
				hash := (hashes[i] ^ math.Float64bits(v+0)) * 0x9e3779b97f4a7c15 // −0 is 0
				hashes[i] = hash ^ hash>>32
			}
		}
		seen := make(map[uint64]int, n)
		for i, hash := range hashes {
			key, known := seen[hash]
			if !known {
				key = len(seen)
				seen[hash] = key
			}
			keys[i] = key
		}
		from, count = to, len(seen)
	}
	return keys, count
}

// surprise decides whether a table counts as copied. Let each of its c distinct rows occur a
// multiple of g times. The chance of this event is about g^−c. The table counts as copied if the
// chance is below 2^−surprise, one in a million.
const surprise = 20

// repeatedTable finds a table in which every distinct row of the columns occurs a multiple of the
// same number above 1, as after writing a table to a file several times.
func repeatedTable(columns []Column) []Finding {
	keys, count := rowKeys(columns)
	times := make([]int, count)
	for _, key := range keys {
		times[key]++
	}
	divisor := 0
	for _, t := range times {
		divisor = gcd(t, divisor)
	}
	if divisor < 2 || float64(count)*math.Log2(float64(divisor)) < surprise {
		return nil
	}
	return []Finding{{
		What:  fmt.Sprintf("duplicated rows: every row occurs %d times, or a multiple of it", divisor),
		Where: "all rows", Statistic: Number(divisor), P: Number(math.NaN()), Verdict: Poor,
		Advice: "each row once: copies count as independent data and make every probability too certain",
	}}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// addCopies appends the family of one statistic: the share of rows that equal another row in the
// response and in every column. Replicates are rounded to the observed values of the response,
// because these may be few for good reasons: a scale with few digits, the logarithm of such a
// scale, or a limit of detection. If categories have no order, the share is computed for each
// category.
func (c *checks) addCopies(columns []Column) {
	r := c.responses[0]
	if len(columns) == 0 {
		return
	}
	keys, count := rowKeys(checked(columns, r.rows))
	groups := make([][]int, count)
	for i, key := range keys {
		groups[key] = append(groups[key], i)
	}
	shared := slices.DeleteFunc(groups, func(rows []int) bool { return len(rows) < 2 })
	if len(shared) == 0 {
		return
	}
	values := slices.Clone(r.y)
	if r.order != nil {
		values = []float64{0, 1}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	copies := func(y []float64) float64 {
		total := 0
		for _, rows := range shared {
			times := make(map[float64]int, len(rows))
			for _, i := range rows {
				times[nearest(values, y[i])]++
			}
			for value, t := range times {
				if t > 1 && (r.order == nil || value == 1) {
					total += t
				}
			}
		}
		return float64(total) / float64(len(y))
	}
	c.add(func(*response) bool { return true }, false, func(s *sample) float64 { return copies(s.y) }, func(r *response, share float64) Finding {
		return Finding{
			What:  fmt.Sprintf("duplicated rows: %.0f%% of the rows equal another in every column", 100*share),
			Where: r.names(r.copied(checked(columns, r.rows))), Statistic: Number(share), Verdict: verdictIf(share > 0.5),
			Advice: "each row once: copies count as independent data",
		}
	})
}

// copied lists the rows that equal an earlier row in the response and the columns. If the response
// stands for one category, it lists only the rows of this category.
func (r *response) copied(columns []Column) []int {
	return slices.DeleteFunc(copiedRows(append([]Column{{Values: r.y}}, columns...)), func(i int) bool { return r.order != nil && r.y[i] == 0 })
}

// copiedRows lists the rows that equal an earlier row.
func copiedRows(columns []Column) (rows []int) {
	keys, count := rowKeys(columns)
	seen := make([]bool, count)
	for i, key := range keys {
		if seen[key] {
			rows = append(rows, i)
		}
		seen[key] = true
	}
	return rows
}

// nearest returns the value of an increasing list that is closest to v, the lower one in a tie.
func nearest(sorted []float64, v float64) float64 {
	at, _ := slices.BinarySearch(sorted, v)
	switch {
	case at == len(sorted):
		return sorted[at-1]
	case at > 0 && v-sorted[at-1] <= sorted[at]-v:
		return sorted[at-1]
	}
	return sorted[at]
}
