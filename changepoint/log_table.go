package changepoint

import (
	"math"

	"github.com/transdim/vti/internal/kernel"
)

var vectors = kernel.VectorsOf[float64](kernel.Detect())

// leastSum is the smallest sum of scaled terms that is used. Terms that underflow are below 1e-307,
// so that they change no digit of a larger sum.
const leastSum = 1e-250

// logTable is a table of logarithms whose columns are completed one after the other. It keeps the
// exponentials of each complete column, divided by the largest one, so that sums over columns take
// one exponential a column and not one a term.
type logTable struct {
	logs    [][]float64 // [rows][columns]
	scaled  []float64   // exp(logs − largest) [rows·columns]; 0 where a column is not complete
	largest []float64   // largest logarithm of each complete column, otherwise −Inf [columns]
	terms   []float64
}

func newLogTable(logs [][]float64) *logTable {
	columns := len(logs[0])
	return &logTable{logs, make([]float64, len(logs)*columns), matrix(1, columns)[0], make([]float64, columns)}
}

// complete marks column i as complete.
func (t *logTable) complete(i int) {
	for _, row := range t.logs {
		t.largest[i] = math.Max(t.largest[i], row[i])
	}
	if math.IsInf(t.largest[i], -1) {
		return
	}
	for k, row := range t.logs {
		t.scaled[k*len(row)+i] = math.Exp(row[i] - t.largest[i])
	}
}

// dots sets dst[k] to log Σ exp(logs[k][i] + other[i]) over the columns from ≤ i < to, or to −Inf
// if there are none. Sums that lie too far below the largest one are computed by [logDot].
func (t *logTable) dots(dst, other []float64, from, to int) {
	terms := t.terms[from:to]
	vectors.Add(terms, t.largest[from:to], other[from:to])
	top := vectors.MaxOf(terms)
	if top > math.Inf(-1) {
		vectors.AddScalar(terms, terms, -top)
		vectors.Exp(terms, terms)
		vectors.DotRows(dst, t.scaled[from:], len(t.largest), terms)
	} else {
		clear(dst)
	}
	for k, sum := range dst {
		if sum > leastSum {
			dst[k] = top + math.Log(sum)
		} else {
			dst[k] = logDot(t.logs[k][from:to], other[from:to])
		}
	}
}
