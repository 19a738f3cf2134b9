package tables

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
)

// Scaling is the transformation of the columns of numbers before inference.
type Scaling int

const (
	// Standardize centres every column and divides it by its standard deviation.
	Standardize Scaling = iota
	// GlobalScale centres every column and divides all columns by one number, the root mean square
	// of their standard deviations, as in the VTI paper (Davies et al. 2025). This keeps ratios of
	// variances, which can show the directions of edges if all nodes have equal noise.
	GlobalScale
	// Center only centres the columns.
	Center
	// Unscaled leaves the columns as they are. Linear mechanisms have no intercept, so the columns
	// should have mean zero.
	Unscaled
)

var scalings = enum.New[Scaling]("scaling", "standardize", "global", "center", "none")

// String returns the name of the scaling.
func (s Scaling) String() string { return scalings.String(s) }

// MarshalText writes the name.
func (s Scaling) MarshalText() ([]byte, error) { return scalings.Marshal(s) }

// UnmarshalText reads standardize, global, center or none.
func (s *Scaling) UnmarshalText(text []byte) error { return scalings.Unmarshal(text, s) }

// Rescale centres and scales X. It returns an error if a column is constant to 12 digits.
func (d *Data) Rescale(scaling Scaling) error {
	rows, nodes := d.X.Dims()
	d.Shift, d.Scale = make([]float64, nodes), slices.Repeat([]float64{1}, nodes)
	var squares float64
	for j := range nodes {
		if d.Category(j) {
			continue
		}
		column := d.observed(j)
		mean, sd := stat.MeanStdDev(column, nil)
		if math.IsNaN(sd) || math.IsInf(sd, 0) || sd == 0 && floats.Max(column) > floats.Min(column) {
			return fmt.Errorf("%s: column %q: its spread is too large or too small to work with (values from %g to %g): rescale it", d.Path, d.Names[j], floats.Min(column), floats.Max(column))
		}
		if !(sd > 1e-12*math.Abs(mean)) {
			return fmt.Errorf("%s: column %q is constant to 12 digits (%g): no other node can depend on it; exclude it", d.Path, d.Names[j], mean)
		}
		squares += sd * sd
		if scaling != Unscaled {
			d.Shift[j] = mean
		}
		if scaling == Standardize {
			d.Scale[j] = sd
		}
	}
	if scaling == GlobalScale {
		numbers := nodes - d.Categories()
		for j := range d.Scale {
			if !d.Category(j) {
				d.Scale[j] = math.Sqrt(squares / float64(numbers))
			}
		}
	}
	for i := range rows {
		row := d.X.RawRowView(i)
		for j := range row {
			row[j] = (row[j] - d.Shift[j]) / d.Scale[j]
		}
	}
	return nil
}

// center computes Centers. It returns an error for a node that is constant in the rows in which it
// was not set from outside.
func (d *Data) center() error {
	if d.Counted == nil {
		return nil
	}
	for j := range d.Nodes() {
		column := d.OwnColumn(j)
		if spread := floats.Max(column) - floats.Min(column); !(spread > 1e-12*floats.Norm(column, math.Inf(1))) {
			return fmt.Errorf("%s: column %q is constant in the %s where it is not set from outside, which show nothing of its parents; exclude it", d.Path, d.Names[j], english.Count(len(column), "row"))
		}
	}
	if d.Scaling != Unscaled {
		d.Centers = d.Means()
	}
	return nil
}

// Means returns, for each node, the means of all columns over the rows in which the node was not
// set from outside [N][N].
func (d *Data) Means() [][]float64 {
	means := make([][]float64, d.Nodes())
	for j := range means {
		means[j] = make([]float64, d.Nodes())
		rows := d.RowsFor(j)
		for _, row := range rows {
			floats.AddScaled(means[j], 1/float64(len(rows)), row)
		}
	}
	return means
}
