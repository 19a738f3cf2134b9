package regression

import (
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/distinct"
)

// newDistinct is r without the rows that repeat others in all that the density of a row depends on,
// its response, offset, columns and groups: those that are left count how many rows they stand for.
// Everything else, coordinates and frame too, is that of r. It is r itself where few rows repeat
// others, and for a gaussian response, whose sums do not go over rows.
func (r *Regression) newDistinct() *Regression {
	if r.Frame.Response.Conjugate() {
		return r
	}
	found := distinct.Of(len(r.y), r.appendRow)
	if found == nil {
		return r
	}
	own, first := *r, found.First
	own.times, own.rowOf = found.Times, found.Of
	own.y = distinct.At(r.y, first)
	if r.offset != nil {
		own.offset = distinct.At(r.offset, first)
	}
	if r.x != nil {
		own.x = rowsAt(r.x, first)
	}
	own.groups = make([]*varyingGroup, len(r.groups))
	for k, g := range r.groups {
		grouping, group := *g.Grouping, *g
		grouping.Index = nil
		for _, i := range first {
			grouping.Index = append(grouping.Index, g.Index[i])
		}
		group.Grouping, group.z = &grouping, rowsAt(g.z, first)
		own.groups[k] = &group
		if g == r.inner {
			own.inner = &group
		}
	}
	own.joint = sync.OnceValue(func() *jointEffects { return newJointEffects(&own) })
	own.distinct = func() *Regression { return &own }
	return &own
}

// appendRow appends what the density of a row depends on.
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

// rowsAt is a matrix of some rows of another.
func rowsAt(m *mat.Dense, rows []int) *mat.Dense {
	_, columns := m.Dims()
	some := mat.NewDense(len(rows), columns, nil)
	for k, i := range rows {
		some.SetRow(k, m.RawRowView(i))
	}
	return some
}

// timesOf are how many rows each of some rows stands for; nil for one.
func (r *Regression) timesOf(rows []int) []float64 {
	if r.times == nil {
		return nil
	}
	return distinct.At(r.times, rows)
}

// ofTable are predictors [M·n] of the distinct rows for each row of the table.
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
