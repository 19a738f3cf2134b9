package table

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Series holds rows in the order of their times.
type Series struct {
	// Times are the times in ascending order, and Values the values at these times.
	Times, Values []float64
	// Places are the numbers of the rows in the file.
	Places []int
}

// Series sorts values by the times in a column. It fails if times repeat and, unless even is "", if
// they are not evenly spaced. The argument wants is the end of the error about repeated times, and
// the argument even the end of the error about uneven times.
func (t *Table) Series(column string, times, values []float64, wants, even string) (*Series, error) {
	places, unit := t.Places()
	s, order := &Series{Times: slices.Clone(times)}, make([]int, len(times))
	floats.ArgsortStable(s.Times, order)
	for _, i := range order {
		s.Values, s.Places = append(s.Values, values[i]), append(s.Places, places[i])
	}
	gaps := make([]float64, len(times)-1)
	for i := range gaps {
		if gaps[i] = s.Times[i+1] - s.Times[i]; gaps[i] == 0 {
			return nil, fmt.Errorf("%s: %ss %d and %d have the same %s, %g: %s", t.Path, unit, s.Places[i], s.Places[i+1], column, s.Times[i], wants)
		}
	}
	if even == "" {
		return s, nil
	}
	usual := stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(gaps)), nil)
	for i, gap := range gaps {
		// Gaps within a factor of 1.5 count as even: months and years differ in their number of
		// days.
		if gap > 1.5*usual || gap < usual/1.5 {
			return nil, fmt.Errorf("%s: %s goes from %g (%s %d) to %g (%s %d), where rows are usually %.6g apart: %s",
				t.Path, column, s.Times[i], unit, s.Places[i], s.Times[i+1], unit, s.Places[i+1], usual, even)
		}
	}
	return s, nil
}
