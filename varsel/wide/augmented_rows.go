package wide

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/kernel"
)

// weightedRows is the memory of a sweep of an augmentedState: births and deaths, with the moments
// of a table whose rows are weighted by latent precisions.
type weightedRows struct {
	*augmented
	given             *birthProcess
	precision, linear []float64 // of each row, from the likelihood [n]
	columns, rows     []float64 // the table of the columns of the sweep, by columns [S·n] and by rows [n·S]

	weighted, ofMembers, shared, local []float64 // memory of products
}

func (a *augmented) weighted() *weightedRows {
	n := len(a.offset)
	w := &weightedRows{augmented: a, precision: make([]float64, n), linear: make([]float64, n), given: &birthProcess{births: a.births}}
	w.given.row = w.row
	return w
}

// set draws the precisions of all rows given the parameters of s. It begins the sweep at the model
// of s, with the odds of adding each column. It returns false if rounding errors are too large.
func (w *weightedRows) set(s *augmentedState, power float64, random *rand.Rand) (precise bool) {
	b, r := w.given, w.target.Responses
	m, scale := &b.moments, math.Exp(s.logSigma)
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
	b.begin(&s.birthModel, random)
	w.products(len(s.members))
	return b.enter(len(s.members))
}

// products copies the columns of the sweep. In one product of matrices it computes the inner
// products of all of them with the responses and with each of the members, which are the first
// columns. It also computes the squared length of each column.
func (w *weightedRows) products(members int) {
	b, n := w.given, len(w.precision)
	count := len(b.columns)
	w.columns, w.rows = resized(w.columns, count*n), resized(w.rows, count*n)
	for k, c := range b.columns {
		copy(w.columns[k*n:], w.target.Columns[c])
	}
	vectors.Transpose(w.rows, count, w.columns, n, count, n)
	w.weighted, w.ofMembers = resized(w.weighted, (members+1)*n), resized(w.ofMembers, (members+1)*count)
	copy(w.weighted[members*n:], w.linear)
	for k := range members {
		vectors.Mul(w.weighted[k*n:(k+1)*n], w.precision, w.columns[k*n:(k+1)*n])
	}
	plan := kernel.NewProductPlan[float64](kernel.Detect(), members+1, n, count, nil, nil)
	w.shared, w.local = resized(w.shared, plan.SharedScratch()), resized(w.local, plan.LocalScratch())
	plan.Run(kernel.Dense(w.ofMembers, members+1, count), kernel.Dense(w.weighted, members+1, n), kernel.Dense(w.rows, n, count), false, w.shared, w.local)
	for k := range members {
		b.rows[k] = append(b.newRow(), w.ofMembers[k*count:(k+1)*count]...)
	}
	copy(b.along, w.ofMembers[members*count:])
	clear(b.norms)
	for i, precision := range w.precision {
		row := w.rows[i*count : (i+1)*count]
		vectors.Mul(b.work, row, row)
		vectors.AddScaled(b.norms, b.norms, b.work, precision)
	}
}

// row sets row to the inner products of column c with all columns of the sweep, with each row of
// the table weighted by its precision.
func (w *weightedRows) row(c int, row []float64) {
	n, count := len(w.precision), len(row)
	clear(row)
	for i, x := range w.columns[c*n : (c+1)*n] {
		vectors.AddScaled(row, row, w.rows[i*count:(i+1)*count], w.precision[i]*x)
	}
}
