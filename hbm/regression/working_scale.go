package regression

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm/formula"
)

// scale brings the data to the working scale.
func (r *Regression) scale() error {
	f := r.Frame
	intercept := f.Formula.HasIntercept() // or cut points in its place
	r.y, r.offset = slices.Clone(f.Y), f.Offset
	if f.Response.Logarithmic() {
		for i, y := range r.y {
			r.y[i] = math.Log(y)
			r.logJacobian -= r.y[i]
		}
	}
	if f.Response.Continuous() {
		if f.Offset != nil {
			for i := range r.y {
				r.y[i] -= f.Offset[i]
			}
			r.offset = nil
		}
		if r.yMean, r.ySD = f.spread(r.y, intercept); r.Options.ResponseSD > 0 {
			r.yMean, r.ySD = r.Options.ResponseMean, r.Options.ResponseSD
		}
		if !usableSpread(r.ySD) {
			return fmt.Errorf("%s: response %s: its spread is too large or too small to work with (values from %g to %g): rescale it", f.Path, f.Formula.Response, slices.Min(r.y), slices.Max(r.y))
		}
		f.centre(r.y, r.yMean)
		for i := range r.y {
			r.y[i] /= r.ySD
		}
		r.logJacobian -= float64(f.Rows()) * math.Log(r.ySD)
	}
	r.xMean, r.xSD = make([]float64, len(f.Columns)), slices.Repeat([]float64{1}, len(f.Columns))
	if f.X != nil {
		r.x = mat.DenseCopyOf(f.X)
		for j, c := range f.Columns {
			if c.Name != formula.InterceptName {
				values := mat.Col(nil, j, f.X)
				if r.xMean[j], r.xSD[j] = f.spread(values, intercept); f.laterStep(j) {
					r.xSD[j] = r.xSD[j-1]
				} else if c.Step != "" { // all steps have the scale of their number
					_, r.xSD[j] = f.spread(f.effectValues(j), intercept)
				}
				if !usableSpread(r.xSD[j]) {
					return fmt.Errorf("%s: %s: its spread is too large or too small to work with (values from %g to %g): rescale it", f.Path, c.Name, slices.Min(values), slices.Max(values))
				}
				f.centre(values, r.xMean[j])
				for i := range values {
					values[i] /= r.xSD[j]
				}
				r.x.SetCol(j, values)
			}
		}
	}
	for k, g := range f.Groupings {
		group := &varyingGroup{Grouping: g, z: mat.DenseCopyOf(g.Z), first: -1}
		for c := range g.Columns {
			sd := 1.0 // the basis of a smooth function has its scale as a whole
			if !g.Smooth {
				sd = f.varyingSpread(k, c)
			}
			if !usableSpread(sd) {
				return fmt.Errorf("%s: %s by %s: its spread is too large or too small to work with (%g): rescale it", f.Path, g.Columns[c].Name, g.Name, sd)
			}
			group.zSD = append(group.zSD, sd)
			scaleColumn(group.z, c, 0, sd)
		}
		r.groups = append(r.groups, group)
		if r.inner == nil || r.effects(group) > r.effects(r.inner) {
			r.inner = group
		}
	}
	r.logJacobian += f.LogWays
	for i, se := range f.SE { // rows of unit noise
		r.scaleRow(i, r.ySD/se)
	}
	for i, weight := range f.Weights {
		r.scaleRow(i, math.Sqrt(weight))
	}
	return nil
}

// scaleRow multiplies a row of response and designs.
func (r *Regression) scaleRow(i int, by float64) {
	r.logJacobian += math.Log(by)
	r.y[i] *= by
	if r.x != nil {
		scaleRow(r.x, i, by)
	}
	for _, g := range r.groups {
		scaleRow(g.z, i, by)
	}
}

func scaleRow(m *mat.Dense, i int, by float64) {
	row := m.RawRowView(i)
	for j := range row {
		row[j] *= by
	}
}

// scaleColumn takes the mean from a column and divides by the standard deviation.
func scaleColumn(m *mat.Dense, j int, mean, sd float64) {
	rows, _ := m.Dims()
	for i := range rows {
		m.Set(i, j, (m.At(i, j)-mean)/sd)
	}
}

// varyingSpread is what a varying column is divided by: its standard deviation, unless it is made
// of zeros and ones.
func varyingSpread(values []float64) float64 {
	return spreadUnless(zerosAndOnes(values), values, centreAndSpread)
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

// varyingSpread is that of a column of a grouping.
func (f *Frame) varyingSpread(grouping, column int) float64 {
	values := mat.Col(nil, column, f.Groupings[grouping].Z)
	if f.Reduced == nil {
		return varyingSpread(values)
	}
	return spreadUnless(f.Reduced.indicator[grouping][column], values, f.spread)
}

// centreAndSpread returns mean and standard deviation, or zero and root mean square.
func centreAndSpread(values []float64, centre bool) (mean, sd float64) {
	if centre {
		return stat.MeanStdDev(values, nil)
	}
	return 0, norm(values) / math.Sqrt(float64(len(values)-1))
}

// usableSpread reports whether dividing by it keeps full precision.
func usableSpread(sd float64) bool { return sd > 1e-150 && sd < 1e150 }

func zerosAndOnes(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != 0 && v != 1 })
}
