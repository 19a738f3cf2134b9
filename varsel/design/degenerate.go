package design

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// Two columns are duplicates if their absolute correlation exceeds 1 − collinearTol. A column is
// constant if its range is below constantTol times its largest absolute value. Both limits are a
// thousand times the rounding errors of columns that are exactly constant or duplicates.
const (
	collinearTol = 1e-12
	constantTol  = 1e-13
)

// mostRefused is the largest number of columns that an error names.
const mostRefused = 6

// removeDegenerate finds the columns that are constant, or a duplicate of an earlier column up to
// shift and scale. Columns that are in every model (always-in) count as earlier than selectable
// columns. If drop is set it drops and lists the columns found, and drops predictors that lose all
// their columns; otherwise it returns an error.
//
// If there is no intercept, one always-in constant column takes its place. If there is no such
// column either, columns are compared without centring.
func removeDegenerate(predictors []rawPredictor, intercept, drop bool) ([]rawPredictor, []Dropped, error) {
	type place struct{ predictor, column int }
	var places []place
	for _, always := range []bool{true, false} {
		for i, p := range predictors {
			for j := range p.columns {
				if p.always == always {
					places = append(places, place{i, j})
				}
			}
		}
	}
	columnAt := func(p place) rawColumn { return predictors[p.predictor].columns[p.column] }
	reasons, originals := make(map[place]string), make(map[place]string)
	level := intercept
	var varying []place
	for _, p := range places {
		values := columnAt(p).values
		switch {
		case !isConstant(values):
			varying = append(varying, p)
		case predictors[p.predictor].always && !level && values[0] != 0:
			level = true // an always-in constant column takes the place of the intercept
		case predictors[p.predictor].always && level:
			reasons[p] = "is constant, like the intercept"
		default:
			reasons[p] = "is constant"
		}
	}
	columns := apply.To(varying, func(p place) []float64 { return direction(columnAt(p).values, level) })
	for k, original := range duplicates(columns) {
		if original >= 0 {
			originals[varying[k]] = columnAt(varying[original]).name
			reasons[varying[k]] = fmt.Sprintf("is %q up to shift and scale", columnAt(varying[original]).name)
			if !level {
				reasons[varying[k]] = fmt.Sprintf("is %q up to scale", columnAt(varying[original]).name)
			}
		}
	}
	if len(reasons) == 0 {
		return predictors, nil, nil
	}
	var dropped []Dropped
	var kept []rawPredictor
	for i, p := range predictors {
		var columns []rawColumn
		for j, c := range p.columns {
			if reason, bad := reasons[place{i, j}]; bad {
				dropped = append(dropped, Dropped{c.name, reason, originals[place{i, j}]})
			} else {
				columns = append(columns, c)
			}
		}
		if len(columns) > 0 {
			kept = append(kept, rawPredictor{p.name, p.always, columns, p.parents})
		}
	}
	if drop {
		return kept, dropped, nil
	}
	parts := apply.To(dropped, func(d Dropped) string { return fmt.Sprintf("%q %s", d.Name, d.Reason) })
	if more := len(parts) - mostRefused; more > 0 {
		parts = append(parts[:mostRefused], fmt.Sprintf("and %d more", more))
	}
	return nil, nil, fmt.Errorf("%w: %s; exclude them or drop degenerate columns%s",
		ErrDegenerate, strings.Join(parts, "; "), onesHint(dropped, intercept))
}

// onesHint returns a hint for an error: how to use a column of ones in the table as the intercept.
func onesHint(dropped []Dropped, intercept bool) string {
	for _, d := range dropped {
		if d.Reason == "is constant, like the intercept" {
			return " (or leave out the intercept)"
		}
		if d.Reason == "is constant" && !intercept {
			return " (a column of ones in place of the intercept must be always in)"
		}
	}
	return ""
}

// isConstant reports whether all values are equal up to rounding.
func isConstant(values []float64) bool {
	low, high := slices.Min(values), slices.Max(values)
	return high-low <= constantTol*max(math.Abs(low), math.Abs(high))
}

// direction returns the column divided by its norm, after centring if centre is set.
func direction(values []float64, centre bool) []float64 {
	out, scale := slices.Clone(values), floats.Norm(values, math.Inf(1))
	for i := range out { // to unit size first, so that squares cannot overflow
		out[i] /= scale
	}
	if centre {
		floats.AddConst(-stat.Mean(out, nil), out)
	}
	floats.Scale(1/floats.Norm(out, 2), out)
	return out
}

// duplicates returns, for each unit vector, the first earlier vector equal to it up to sign, or -1.
//
// Equal vectors have equal projections on any direction, so only neighbours among the sorted
// absolute projections are compared: O(D n + D log D) instead of O(D² n), for D vectors of length
// n.
func duplicates(columns [][]float64) []int {
	original, projection := slices.Repeat([]int{-1}, len(columns)), make([]float64, len(columns))
	for k, column := range columns {
		var norm float64
		for i, v := range column {
			w := math.Sin(float64(i+1)*1.7) + 0.3 // an arbitrary direction
			projection[k] += v * w
			norm += w * w
		}
		projection[k] = math.Abs(projection[k]) / math.Sqrt(norm)
	}
	order := rank.Order(len(columns), func(a, b int) int { return cmp.Compare(projection[a], projection[b]) })
	// the distance of vectors with correlation r, √(2 (1 − |r|)), bounds the distance of their
	// projections
	reach := 1.1 * math.Sqrt(2*collinearTol)
	for a, k := range order {
		for _, m := range order[a+1:] {
			if projection[m]-projection[k] > reach {
				break
			}
			if 1-math.Abs(floats.Dot(columns[k], columns[m])) > collinearTol {
				continue
			}
			first, later := min(k, m), max(k, m)
			if original[later] < 0 || first < original[later] {
				original[later] = first
			}
		}
	}
	return original
}
