package regression

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
)

func (r *Regression) scale() error {
	f := r.Frame
	intercept := f.Formula.HasIntercept() // or cut points, which take its place
	r.y, r.offset = slices.Clone(f.Y), f.Offset
	if f.Response.Logarithmic() {
		for i, y := range r.y {
			r.y[i] = math.Log(y)
			r.logJacobian -= r.y[i]
		}
	}
	names := apply.To(f.Formula.Offsets, formula.Variable.String)
	if err := f.Response.CheckOffset(strings.Join(names, " + "), f.Offset); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if f.Response.Continuous() {
		if f.Offset != nil {
			floats.Sub(r.y, f.Offset)
			r.offset = nil
		}
		if r.yMean, r.ySD = f.Spread(r.y, intercept); r.Options.ResponseSD > 0 {
			r.yMean, r.ySD = r.Options.ResponseMean, r.Options.ResponseSD
		}
		if !frame.UsableSpread(r.ySD) {
			return fmt.Errorf("%s: response %s: its spread is too large or too small to work with (values from %g to %g): rescale it", f.Path, f.Formula.Response, slices.Min(r.y), slices.Max(r.y))
		}
		f.Centre(r.y, r.yMean)
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
				if r.xMean[j], r.xSD[j] = f.Spread(values, intercept); f.LaterStep(j) {
					r.xSD[j] = r.xSD[j-1]
				} else if c.Step != "" { // the scale of EffectValues for all steps
					_, r.xSD[j] = f.Spread(f.EffectValues(j), intercept)
				}
				if !frame.UsableSpread(r.xSD[j]) {
					return fmt.Errorf("%s: %s: its spread is too large or too small to work with (values from %g to %g): rescale it", f.Path, c.Name, slices.Min(values), slices.Max(values))
				}
				f.Centre(values, r.xMean[j])
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
			sd := 1.0 // the basis of a smooth function is scaled as a whole
			if !g.Smooth {
				sd = f.VaryingSpread(k, c)
			}
			if !frame.UsableSpread(sd) {
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
	for i, se := range f.SE { // rows with known standard errors are scaled to unit noise
		r.scaleRow(i, r.ySD/se)
	}
	for i, weight := range f.Weights {
		r.scaleRow(i, math.Sqrt(weight))
	}
	return nil
}

func (r *Regression) scaleRow(i int, by float64) {
	r.logJacobian += math.Log(by)
	r.y[i] *= by
	if r.x != nil {
		floats.Scale(by, r.x.RawRowView(i))
	}
	for _, g := range r.groups {
		floats.Scale(by, g.z.RawRowView(i))
	}
}

// scaleColumn subtracts mean from column j of m and divides the column by sd.
func scaleColumn(m *mat.Dense, j int, mean, sd float64) {
	rows, _ := m.Dims()
	for i := range rows {
		m.Set(i, j, (m.At(i, j)-mean)/sd)
	}
}

// newDistinct returns r without repeated rows, which have equal response, offset, columns and
// groups. The remaining rows count the rows that they stand for. Everything else, including
// coordinates and frame, is the same. It returns r itself if few rows are repeated, or if the
// response is gaussian: its density needs no sum over rows.
func (r *Regression) newDistinct() *Regression {
	if r.Frame.Response.Conjugate() {
		return r
	}
	found := distinct.Of(len(r.y), r.appendRow)
	if found == nil {
		return r
	}
	reduced, first := *r, found.First
	reduced.times, reduced.rowOf = found.Times, found.Of
	reduced.y, reduced.offset = distinct.At(r.y, first), distinct.At(r.offset, first)
	if r.x != nil {
		reduced.x = rowsAt(r.x, first)
	}
	reduced.groups = make([]*varyingGroup, len(r.groups))
	for k, g := range r.groups {
		grouping, group := *g.Grouping, *g
		grouping.Index = distinct.At(g.Index, first)
		group.Grouping, group.z = &grouping, rowsAt(g.z, first)
		reduced.groups[k] = &group
		if g == r.inner {
			reduced.inner = &group
		}
	}
	reduced.joint = sync.OnceValue(func() *jointEffects { return newJointEffects(&reduced) })
	reduced.distinct = func() *Regression { return &reduced }
	return &reduced
}

// appendRow appends the values on which the density of a row depends.
func (r *Regression) appendRow(key []byte, i int) []byte {
	key = distinct.Key(key, r.y[i])
	if r.offset != nil {
		key = distinct.Key(key, r.offset[i])
	}
	if r.x != nil {
		key = distinct.Key(key, r.x.RawRowView(i)...)
	}
	for _, g := range r.groups {
		key = distinct.Key(distinct.Key(key, float64(g.Index[i])), g.z.RawRowView(i)...)
	}
	return key
}

func rowsAt(m *mat.Dense, rows []int) *mat.Dense {
	_, columns := m.Dims()
	some := mat.NewDense(len(rows), columns, nil)
	for k, i := range rows {
		some.SetRow(k, m.RawRowView(i))
	}
	return some
}

// ofTable returns, for each row of the table, the predictors of its distinct row, from eta [M·n].
func (r *Regression) ofTable(eta []float64) (all []float64) {
	if r.rowOf == nil {
		return eta
	}
	n := len(r.y)
	for m := range r.planes {
		all = append(all, distinct.At(eta[m*n:][:n], r.rowOf)...)
	}
	return all
}
