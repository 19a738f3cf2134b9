package modelcheck

import (
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
)

// codes are common codes for missing values.
var codes = []float64{-9, -99, -999, -9999, -99999, -999999, 9, 99, 999, 9999, 99999, 999999, -1, -88, -888, -8888, 88, 888, 8888, -77, -777, 77, 777, 1e30, -1e30, 1e20, -1e20}

// sentinel finds a smallest or largest value that probably stands for a missing value. Its distance
// to the nearest other value exceeds the range of all other values. It also is in the list codes,
// or occurs several times.
func sentinel(c Column, kind Kind, rows RowNames) []Finding {
	if c.Indicator || kind == Binary || kind == Category || !differ(c.Values, 3) {
		return nil
	}
	low, high := slices.Min(c.Values), slices.Max(c.Values)
	nextLow, nextHigh := high, low
	for _, v := range c.Values {
		if v > low {
			nextLow = min(nextLow, v)
		}
		if v < high {
			nextHigh = max(nextHigh, v)
		}
	}
	for _, end := range []struct{ value, neighbour, far float64 }{{low, nextLow, high}, {high, nextHigh, low}} {
		gap, others := math.Abs(end.neighbour-end.value), math.Abs(end.far-end.neighbour)
		if !(gap > others) {
			continue
		}
		equalRows := apply.Where(len(c.Values), func(i int) bool { return c.Values[i] == end.value })
		// Among counts, a code below 50 can be an ordinary value, far from other values by chance.
		code := slices.Contains(codes, end.value) && !(kind == Count && math.Abs(end.value) < 50)
		repeated := len(equalRows) > 1 && differ(c.Values, 11) && gap > 2*others
		if !code && !repeated {
			continue
		}
		times := "once"
		if len(equalRows) > 1 {
			times = fmt.Sprintf("%d times", len(equalRows))
		}
		return []Finding{{
			What:  fmt.Sprintf("suspicious value: %.10g occurs %s in %s, whose other values lie between %.4g and %.4g", end.value, times, c.Name, min(end.neighbour, end.far), max(end.neighbour, end.far)),
			Where: "column " + c.Name + ", " + rows.list(equalRows), Statistic: Number(end.value), P: Number(math.NaN()), Verdict: Poor,
			Advice: "check whether it stands for a missing value; if so, leave the cells empty",
		}}
	}
	return nil
}
