package wide

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/rank"
)

// fewColumns is the largest number of columns whose inner products are all computed in every sweep.
// The work is then less than the work of a separate product for each birth. Half and twice this
// number give the same answers (docs/benchmarks/constants.md).
const fewColumns = 48

// weightedRows is the memory of a sweep of an augmentedState: a model for births and deaths, with
// the moments of a table whose rows are weighted by latent precisions.
type weightedRows struct {
	*augmented
	given             *birthState
	precision, linear []float64         // of each row, from the likelihood [n]
	at                map[int][]float64 // inner products of some columns with all columns
	spares            [][]float64       // memory for them
	used              int               // number of spares in use

	plans                              map[int]*kernel.ProductPlan[float64] // by the number of members
	weighted, ofMembers, shared, local []float64                            // memory of products
}

func (a *augmented) weighted() *weightedRows {
	n := len(a.offset)
	w := &weightedRows{augmented: a, precision: make([]float64, n), linear: make([]float64, n), at: map[int][]float64{}, plans: map[int]*kernel.ProductPlan[float64]{}}
	w.given = a.empty(&moments{row: w.row, norms: make([]float64, a.columns)})
	return w
}

// set draws the precisions of all rows given the parameters of s, and sets the model to the model
// of s with all odds. It returns false if rounding errors are too large.
func (w *weightedRows) set(s *augmentedState, power float64, random *rand.Rand) (precise bool) {
	b, r := w.given, w.target.Responses
	m, scale := b.moments, math.Exp(s.logSigma)
	m.size, m.total = 0, 0
	for i, y := range r.Y {
		rowPower := power
		if r.Times != nil {
			rowPower *= r.Times[i]
		}
		w.precision[i], w.linear[i] = w.latent.AugmentAt(y, s.eta[i], scale, rowPower, random)
		w.linear[i] -= w.precision[i] * w.offset[i]
		if m.total += rowPower; w.precision[i] > 0 && w.target.Scale >= 0 { // if σ is known, the size changes nothing
			m.size += w.linear[i] * w.linear[i] / w.precision[i]
		}
	}
	w.used = 0
	clear(w.at)
	for _, c := range b.members {
		b.memberIndex[c] = -1
	}
	b.members, b.rowsOf, b.logSigma = b.members[:0], b.rowsOf[:0], s.logSigma
	w.products(s.members)
	for _, c := range s.members {
		b.join(c)
	}
	return b.refresh()
}

// products computes, in one product of matrices, the inner products of all columns with the
// responses and with each of members, and the squared length of each column. If there are few
// columns it computes the inner products of all of them.
func (w *weightedRows) products(members []int) {
	n, count, all := len(w.precision), w.columns, w.columns <= fewColumns
	if all {
		members = rank.UpTo(count)
	}
	k := len(members)
	if w.plans[k] == nil {
		w.plans[k] = kernel.NewProductPlan[float64](kernel.Detect(), k+1, n, count, nil, nil)
	}
	plan := w.plans[k]
	scratch := func(numbers *[]float64, n int) []float64 {
		*numbers = slices.Grow((*numbers)[:0], n)[:n]
		return *numbers
	}
	weighted, sums := scratch(&w.weighted, (k+1)*n), scratch(&w.ofMembers, (k+1)*count)
	copy(weighted[k*n:], w.linear)
	for a, c := range members {
		vectors.Mul(weighted[a*n:(a+1)*n], w.precision, w.target.Columns[c])
		w.at[c] = sums[a*count : (a+1)*count]
	}
	plan.Run(kernel.Dense(sums, k+1, count), kernel.Dense(weighted, k+1, n), kernel.Dense(w.table, n, count), false, nil,
		scratch(&w.shared, plan.SharedScratch()), scratch(&w.local, plan.LocalScratch()))
	m := w.given.moments
	m.along = sums[k*count:]
	if all {
		for c := range m.norms {
			m.norms[c] = w.at[c][c]
		}
		return
	}
	clear(m.norms)
	for b := range w.given.sums {
		first, last := w.given.block(b)
		norms, squares := m.norms[first:last], w.given.work[:last-first]
		for i, precision := range w.precision {
			row := w.table[i*count:][first:last]
			vectors.Mul(squares, row, row)
			vectors.AddScaled(norms, norms, squares, precision)
		}
	}
}

// row returns the inner products of column c with all columns, with each row of the table weighted
// by its precision.
func (w *weightedRows) row(c int) []float64 {
	row, known := w.at[c]
	if !known {
		if w.used == len(w.spares) {
			w.spares = append(w.spares, make([]float64, w.columns))
		}
		row = w.spares[w.used]
		w.used++
		clear(row)
		for i, x := range w.target.Columns[c] {
			vectors.AddScaled(row, row, w.table[i*w.columns:(i+1)*w.columns], w.precision[i]*x)
		}
		w.at[c] = row
	}
	return row
}
