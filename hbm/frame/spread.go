package frame

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Spread returns the mean and the standard deviation of a column over the rows of the table. If
// centre is false, it returns zero and the root mean square.
func (f *Frame) Spread(values []float64, centre bool) (mean, sd float64) {
	if f.Reduced == nil {
		return CentreAndSpread(values, centre)
	}
	if centre {
		mean = floats.Dot(f.Reduced.Ones, values) / float64(f.Rows())
	}
	rest := slices.Clone(values)
	f.Centre(rest, mean)
	return mean, floats.Norm(rest, 2) / math.Sqrt(float64(f.Rows()-1))
}

// Centre subtracts a number from a column over the rows of the table.
func (f *Frame) Centre(values []float64, mean float64) {
	for i := range values {
		if f.Reduced == nil {
			values[i] -= mean
		} else {
			values[i] -= mean * f.Reduced.Ones[i]
		}
	}
}

// VaryingSpread returns the number by which a varying column is divided: its standard deviation, or
// 1 for a column of zeros and ones.
func VaryingSpread(values []float64) float64 {
	other := slices.ContainsFunc(values, func(v float64) bool { return v != 0 && v != 1 })
	return spreadUnless(!other, values, CentreAndSpread)
}

// VaryingSpread returns the divisor of a varying column, by the indices of grouping and column.
func (f *Frame) VaryingSpread(grouping, column int) float64 {
	values := mat.Col(nil, column, f.Groupings[grouping].Z)
	if f.Reduced == nil {
		return VaryingSpread(values)
	}
	return spreadUnless(f.Reduced.indicator[grouping][column], values, f.Spread)
}

func spreadUnless(indicator bool, values []float64, spread func(values []float64, centre bool) (mean, sd float64)) float64 {
	if indicator {
		return 1
	}
	_, sd := spread(values, true)
	if !(sd > 0) {
		_, sd = spread(values, false)
	}
	return sd
}

// CentreAndSpread returns the mean and the standard deviation of values. If centre is false, it
// returns zero, and the root of the sum of squares divided by n − 1 for n values.
func CentreAndSpread(values []float64, centre bool) (mean, sd float64) {
	if centre {
		return stat.MeanStdDev(values, nil)
	}
	return 0, floats.Norm(values, 2) / math.Sqrt(float64(len(values)-1))
}

// UsableSpread reports whether a division by sd keeps full precision.
func UsableSpread(sd float64) bool { return sd > 1e-150 && sd < 1e150 }
