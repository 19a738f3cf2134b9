package score

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/apply"
)

// noiseless is the largest residual sum of squares of a column given other columns, as a share of
// its sum of squares, that is taken for rounding: the other columns then determine the column.
const noiseless = 1e-20

// checkNoise returns an error if other columns determine a column without noise, such as a copy, a
// column in another unit, or a sum. An unknown noise scale would then be the scale of rounding.
// With n rows, a column is compared with at most n − 2 other columns, since more columns can
// reproduce any column.
func checkNoise(d *tables.Data) error {
	root := RootOfGram(d, -1)
	columns := make([][]float64, d.Nodes())
	for j := range columns {
		columns[j] = mat.Col(nil, j, root)
		for i := range j {
			if rest := without(columns[j], columns[i]); floats.Dot(rest, rest) <= noiseless*floats.Dot(columns[j], columns[j]) {
				return dependence(d, j, []int{i})
			}
		}
	}
	for j, column := range columns { // the diagonal entry is the size of the residual of a column given the columns before it
		if j > d.Rows()-2 {
			return nil
		}
		if dgraph.Square(column[j]) <= noiseless*floats.Dot(column, column) {
			return dependence(d, j, involved(columns[:j], column))
		}
	}
	return nil
}

// checkNumbers calls checkNoise for the columns of numbers. If the table also has categories, it
// returns an error for a column of numbers that has only one value within each level of a category.
func checkNumbers(d *tables.Data) error {
	if d.Levels == nil {
		return checkNoise(d)
	}
	numbers := &tables.Data{Path: d.Path}
	var columns []int
	for j, name := range d.Names {
		if !d.Category(j) {
			numbers.Names, columns = append(numbers.Names, name), append(columns, j)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	numbers.X = mat.NewDense(d.Rows(), len(columns), nil)
	for k, j := range columns {
		values := mat.Col(nil, j, d.X)
		numbers.X.SetCol(k, values)
		all := stat.PopVariance(values, nil)
		for i := range d.Names {
			if d.Category(i) && withinLevels(d, values, i) <= noiseless*all {
				return dependence(d, j, []int{i})
			}
		}
	}
	return checkNoise(numbers)
}

// withinLevels returns the variance of values within the levels of a category, averaged over the
// rows.
func withinLevels(d *tables.Data, values []float64, category int) (variance float64) {
	byLevel := make([][]float64, len(d.Levels[category]))
	for row, x := range values {
		level := int(d.X.At(row, category))
		byLevel[level] = append(byLevel[level], x)
	}
	for _, levelValues := range byLevel {
		if len(levelValues) > 0 {
			variance += stat.PopVariance(levelValues, nil) * float64(len(levelValues)) / float64(len(values))
		}
	}
	return variance
}

// without returns x less its projection on a direction.
func without(x, direction []float64) []float64 {
	rest := slices.Clone(x)
	floats.AddScaled(rest, -floats.Dot(x, direction)/floats.Dot(direction, direction), direction)
	return rest
}

// involved returns the indices of the columns that have a weight in the linear combination that
// equals x.
func involved(columns [][]float64, x []float64) (list []int) {
	left := mat.NewDense(len(x), len(columns), nil)
	for k, column := range columns {
		left.SetCol(k, column)
	}
	var weights mat.VecDense
	// The error of an ill-conditioned system is ignored: at worst the list has too many columns.
	_ = weights.SolveVec(left, mat.NewVecDense(len(x), x))
	return apply.Where(len(columns), func(k int) bool {
		return math.Abs(weights.AtVec(k))*floats.Norm(columns[k], 2) > 1e-6*floats.Norm(x, 2)
	})
}

// dependence returns the error that names a column and the columns that determine it.
func dependence(d *tables.Data, response int, predictors []int) error {
	names := apply.To(predictors, func(i int) string { return d.Names[i] })
	return fmt.Errorf("%s: column %q is a linear function of %q without any noise, whose scale is unknown then: exclude one of them, or give the noise scale",
		d.Path, d.Names[response], names)
}
