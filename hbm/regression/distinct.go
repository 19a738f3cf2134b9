package regression

import (
	"encoding/binary"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// distinctShare is the largest share of distinct rows for which these are worth counting: sums over
// counted rows take somewhat longer for each. Chosen by hand.
const distinctShare = 0.75

// newDistinct is r without the rows that repeat others in all that the density of a row depends on,
// its response, offset, columns and groups: those that are left count how many rows they stand for.
// Everything else, coordinates and frame too, is that of r. It is r itself where hardly any row
// repeats another, and for a gaussian response, whose sums do not go over rows.
func (r *Regression) newDistinct() *Regression {
	if r.Frame.Response.Conjugate() {
		return r
	}
	places, rowOf := map[string]int{}, make([]int, len(r.y))
	var first []int
	var times []float64
	var key []byte
	for i := range r.y {
		key = r.appendRow(key[:0], i)
		at, seen := places[string(key)]
		if !seen {
			at = len(first)
			places[string(key)] = at
			first, times = append(first, i), append(times, 0)
		}
		times[at]++
		rowOf[i] = at
	}
	if float64(len(first)) > distinctShare*float64(len(r.y)) {
		return r
	}
	own := *r
	own.times, own.rowOf = times, rowOf
	own.y = entries(r.y, first)
	if r.offset != nil {
		own.offset = entries(r.offset, first)
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
	add := func(values ...float64) {
		for _, v := range values {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
		}
	}
	add(r.y[i])
	if r.offset != nil {
		add(r.offset[i])
	}
	if r.x != nil {
		add(r.x.RawRowView(i)...)
	}
	for _, g := range r.groups {
		key = binary.LittleEndian.AppendUint64(key, uint64(g.Index[i]))
		add(g.z.RawRowView(i)...)
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
	return entries(r.times, rows)
}

// ofTable are values of the distinct rows for each row of the table.
func (r *Regression) ofTable(values []float64) []float64 {
	if r.rowOf == nil {
		return values
	}
	return entries(values, r.rowOf)
}
