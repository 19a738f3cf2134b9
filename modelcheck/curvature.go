package modelcheck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// curvatureWork bounds the multiplications of the curvature family, a second or two of one core;
// beyond it only evenly spaced rows enter, but at least shapeRows of them (chosen by hand).
const (
	curvatureWork = 2e9
	shapeRows     = 100
)

// shape is a pattern of residuals along a column, orthogonal to a constant and to the column, with
// unit length: the correlation of residuals with it does not respond to the linear effect.
type shape struct {
	response int
	place    int // of the column
	column   string
	name     string
	rows     []int     // of the response
	values   []float64 // one for each of rows
}

// addCurvature appends a family with three shapes for each pair of response and column: the square,
// the middle against both ends in ranks, and one half against the other. Columns of two values have
// none. A response is not compared with itself.
func (c *checks) addCurvature(columns []Column, draws int) {
	work := 0.0
	for _, r := range c.responses {
		work += 6 * float64(draws) * float64(len(r.y)) * float64(len(columns))
	}
	stride := max(1, int(math.Ceil(work/curvatureWork)))
	var shapes []shape
	first := []int{0}
	for j, r := range c.responses {
		if len(r.y) >= fewestRows {
			for at, column := range columns {
				if column.Name != r.name && !column.Indicator {
					shapes = append(shapes, newShapes(j, r, at, column, max(1, min(stride, len(r.y)/shapeRows)))...)
				}
			}
		}
		first = append(first, len(shapes))
	}
	if len(shapes) == 0 {
		return
	}
	groups := make(map[[2]string]int)
	group := make([]int, len(shapes))
	for k, s := range shapes {
		key := [2]string{c.responses[s.response].name, s.column}
		if _, seen := groups[key]; !seen {
			groups[key] = len(groups)
		}
		group[k] = groups[key]
	}
	c.list = append(c.list, &check{
		family: newFamily(len(shapes), false), first: first,
		statistics: func(j int, s *sample, dst []float64) {
			for k := range dst {
				shape := &shapes[first[j]+k]
				if dst[k] = math.NaN(); c.ignored == nil || !c.ignored(s.draw, j, shape.place) {
					dst[k] = shape.statistic(s)
				}
			}
		},
		finding: func(member int, mean float64) Finding { return c.curvatureFinding(&shapes[member], mean) },
		bestOf:  func(member int) int { return group[member] },
	})
}

// statistic is the absolute correlation with clipped residuals, times √n.
func (s *shape) statistic(sample *sample) float64 {
	var sum, squares float64
	for k, i := range s.rows {
		r := sample.clipped[i]
		sum += s.values[k] * r
		squares += r * r
	}
	if squares == 0 {
		return 0
	}
	return math.Abs(sum) * math.Sqrt(float64(len(s.rows))/squares)
}

func (c *checks) curvatureFinding(s *shape, mean float64) Finding {
	r := c.responses[s.response]
	share := mean * mean / float64(len(s.rows))
	return Finding{
		What: fmt.Sprintf("curvature: %s along %s explains %.0f%% of the variance of the residuals of %s",
			s.name, s.column, 100*share, r.name),
		Where: "column " + s.column, Statistic: mean, Verdict: verdictIf(share > poorCurvature),
		Advice: cmp.Or(c.remedies.Curvature, "a transform of the column, or its square as another column"),
	}
}

// newShapes builds the shapes of a column, at some place, for a response, from every stride-th row.
func newShapes(response int, r *response, place int, column Column, stride int) []shape {
	var rows []int
	var x []float64
	for i := 0; i < len(r.y); i += stride {
		at := i
		if r.rows != nil {
			at = r.rows[i]
		}
		rows, x = append(rows, i), append(x, column.Values[at])
	}
	rank := centredRanks(x)
	if distinct(x) < 3 {
		return nil
	}
	line := standardised(x)
	square, ends, half := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		square[i] = line[i] * line[i]
		ends[i] = math.Abs(rank[i])
		half[i] = float64(cmp.Compare(rank[i], 0))
	}
	var shapes []shape
	for _, candidate := range []struct {
		name   string
		values []float64
	}{{"a square", square}, {"the middle against both ends", ends}, {"a step at the median", half}} {
		if orthogonalise(candidate.values, line) {
			shapes = append(shapes, shape{response, place, column.Name, candidate.name, rows, candidate.values})
		}
	}
	return shapes
}

// standardised returns values with mean 0 and mean square 1.
func standardised(values []float64) []float64 {
	low, high := slices.Min(values), slices.Max(values)
	out := make([]float64, len(values))
	mean := 0.0
	for i, v := range values {
		out[i] = v/2 - low/2 // without overflow
		out[i] /= high/2 - low/2
		mean += out[i] / float64(len(values))
	}
	for i := range out {
		out[i] -= mean
	}
	unit := math.Sqrt(meanSquare(out))
	for i := range out {
		out[i] /= unit
	}
	return out
}

// orthogonalise subtracts from values their regression on a constant and a standardised line, and
// gives them unit length. It reports whether enough was left to tell it from rounding.
func orthogonalise(values, line []float64) bool {
	n := float64(len(values))
	before := meanSquare(values) * n
	for range 2 { // once more for the digits lost
		var mean, slope float64
		for i, v := range values {
			mean += v / n
			slope += v * line[i] / n
		}
		for i := range values {
			values[i] -= mean + slope*line[i]
		}
	}
	after := meanSquare(values) * n
	const rounding = 1e-6 // relative, of squares
	if !(after > rounding*before) {
		return false
	}
	for i := range values {
		values[i] /= math.Sqrt(after)
	}
	return true
}

// centredRanks are mid-ranks from −1 to 1.
func centredRanks(values []float64) []float64 {
	n := len(values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, n)
	for from := 0; from < n; {
		to := from + 1
		for to < n && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = (float64(from+to) - float64(n)) / float64(n)
		}
		from = to
	}
	return ranks
}

// distinct counts different values.
func distinct(values []float64) int {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return len(slices.Compact(sorted))
}
