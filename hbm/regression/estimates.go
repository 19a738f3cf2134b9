package regression

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Estimates by least squares are what encoders read beside the data of a table when they are to
// know many tables: networks would have to learn to invert matrices otherwise. Of each row they
// hold
//
//   - the effects of its group of the largest grouping, from its rows alone, but for a small ridge,
//   - what they leave of its response,
//   - and of the whole table the logarithms of the standard deviations of these.
//
// They change no density.
func (p *PlateModel) estimateSize() int {
	if p.regression.inner == nil {
		return 2
	}
	return 2*len(p.regression.inner.Columns) + 2
}

// estimateRidge is the weight of the ridge, in rows; leastEstimate bounds the standard deviations
// whose logarithms are taken.
const (
	estimateRidge = 0.1
	leastEstimate = 1e-3
)

// estimatesOf are the estimates of a table from the rows kept, [rows, estimateSize].
func (p *PlateModel) estimatesOf(t *simulatedTable, kept []int) []float64 {
	r := p.regression
	rest := r.linearised(t.y, t.offset)
	if t.x != nil {
		subtractFit(rest, mat.NewDense(len(r.y), p.x.EventSize(), t.x), kept)
	}
	size := p.estimateSize()
	out := make([]float64, len(r.y)*size)
	q := 0
	for i, g := range p.groups {
		if g.varyingGroup != r.inner {
			continue
		}
		q = len(g.Columns)
		members := make([][]int, len(g.Levels))
		for _, row := range kept {
			members[g.Index[row]] = append(members[g.Index[row]], row)
		}
		z := mat.NewDense(len(r.y), q, t.z[i])
		for _, rows := range members {
			effects := ridge(z, rest, rows)
			for _, row := range rows {
				copy(out[row*size:], effects)
				for c, effect := range effects {
					rest[row] -= z.At(row, c) * effect
				}
			}
		}
	}
	for row := range r.y {
		out[row*size+q] = rest[row]
	}
	for k := range q + 1 {
		values := make([]float64, len(kept))
		for i, row := range kept {
			values[i] = out[row*size+k]
		}
		logSD := math.Log(leastEstimate)
		if len(values) > 1 {
			logSD = math.Log(math.Max(stat.PopStdDev(values, nil), leastEstimate))
		}
		for row := range r.y {
			out[row*size+q+1+k] = logSD
		}
	}
	return out
}

// linearised is a response about on the scale of the linear predictor, less its offset.
func (r *Regression) linearised(y, offset []float64) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		out[i] = r.linearisedOf(y[i])
		if offset != nil {
			out[i] -= offset[i]
		}
	}
	return out
}

// linearisedOf is linearised for one response.
func (r *Regression) linearisedOf(y float64) float64 {
	if r.categories != nil { // as if categories were shares
		y /= float64(r.categories.Levels() - 1)
	}
	return r.Frame.Response.Link().Linear(y)
}

// subtractFit takes from y what least squares with a ridge over some rows explain by the columns
// of x.
func subtractFit(y []float64, x *mat.Dense, rows []int) {
	beta := ridge(x, y, rows)
	for i := range y {
		for j, b := range beta {
			y[i] -= x.At(i, j) * b
		}
	}
}

// ridge is least squares over some rows with a small ridge.
func ridge(x *mat.Dense, y []float64, rows []int) []float64 {
	_, columns := x.Dims()
	gram, right := mat.NewSymDense(columns, nil), mat.NewVecDense(columns, nil)
	for a := range columns {
		gram.SetSym(a, a, estimateRidge)
	}
	for _, row := range rows {
		for a := range columns {
			right.SetVec(a, right.AtVec(a)+x.At(row, a)*y[row])
			for b := range a + 1 {
				gram.SetSym(a, b, gram.At(a, b)+x.At(row, a)*x.At(row, b))
			}
		}
	}
	var cholesky mat.Cholesky
	var solved mat.VecDense
	if !cholesky.Factorize(gram) || cholesky.SolveVecTo(&solved, right) != nil {
		return make([]float64, columns)
	}
	return solved.RawVector().Data
}

// addEstimates gives the estimates of the table at hand.
func (p *PlateModel) addEstimates() {
	all := make([]int, len(p.regression.y))
	for i := range all {
		all[i] = i
	}
	t := &simulatedTable{x: p.Data[p.x], offset: p.Data[p.offset], y: p.regression.y}
	for _, g := range p.groups {
		t.z = append(t.z, p.Data[g.z])
	}
	p.Data[p.estimates] = p.estimatesOf(t, all)
}
