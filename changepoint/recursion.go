package changepoint

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
)

// segments holds the data between candidate places of changes. Boundaries are numbered: 0 is the
// start, 1 to N are the candidate places in order, and N+1 is the end.
type segments interface {
	// places returns N.
	places() int
	// logWeight returns the log weight of a place i, 1 ≤ i ≤ N. It is 0 where places are rows, and
	// the log quadrature weight where places are times.
	logWeight(i int) float64
	// logSegment returns the log density of the data between the boundaries from < to, plus the log
	// factor of this segment in the prior of the places. It is −Inf where no segment is allowed.
	logSegment(from, to int) float64
	// logConstant returns the term of the log prior of k places that does not depend on segments.
	logConstant(k int) float64
	// draw draws the level of a segment from its posterior.
	draw(from, to int, random *rand.Rand) level
}

// recursion holds sums over all sets of at most K places (Fearnhead 2006, section 2). The number of
// changes is a second index of the sums, so that it may have any prior.
type recursion struct {
	data segments
	// forward[k][i] is the log of the density of the data up to boundary i ≥ 1, summed over all
	// sets of k places before i. It includes the weight of i.
	forward [][]float64
	// backward[k][i] is the log of the density of the data after boundary i ≤ N, summed over all
	// sets of k places after i. It is nil until the method both is called.
	backward [][]float64
	// logEvidence[k] is log p(data | k).
	logEvidence []float64
	// before holds distributions of the j-th place given the boundary after it, by j and this
	// boundary, from which sample has drawn. held is the number of their probabilities.
	before map[[2]int]pick.Table
	held   int
}

// mostHeld is the largest number of probabilities of places that a recursion keeps for later draws.
// They take 8 MiB.
const mostHeld = 1 << 20

// newRecursion computes the forward sums for each number of changes up to most. It takes O(N² most)
// operations for N candidate places.
func newRecursion(ctx gocontext.Context, data segments, most int) (*recursion, error) {
	n := data.places()
	r := &recursion{data: data, forward: matrix(most+1, n+2), logEvidence: make([]float64, most+1)}
	row, sums, table := make([]float64, n+1), make([]float64, most), newLogTable(r.forward)
	for i := 1; i <= n+1; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for j := range i {
			row[j] = data.logSegment(j, i)
		}
		weight := 0.0
		if i <= n {
			weight = data.logWeight(i)
		}
		r.forward[0][i] = row[0] + weight
		table.dots(sums, row, 1, i)
		for k, sum := range sums {
			r.forward[k+1][i] = sum + weight
		}
		table.complete(i)
	}
	for k := range r.logEvidence {
		r.logEvidence[k] = r.forward[k][n+1] + data.logConstant(k)
	}
	return r, nil
}

func (r *recursion) both(ctx gocontext.Context) error {
	n, most := r.data.places(), len(r.forward)-1
	r.backward = matrix(most+1, n+2)
	row, sums, table := make([]float64, n+2), make([]float64, most), newLogTable(r.backward)
	for i := n; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		for j := i + 1; j <= n; j++ {
			row[j] = r.data.logSegment(i, j) + r.data.logWeight(j)
		}
		r.backward[0][i] = r.data.logSegment(i, n+1)
		table.dots(sums, row, i+1, n+1)
		for k, sum := range sums {
			r.backward[k+1][i] = sum
		}
		table.complete(i)
	}
	return nil
}

// place returns log p(the j-th of k places is boundary i, data | k), 1 ≤ j ≤ k.
func (r *recursion) place(k, j, i int) float64 {
	return r.forward[j-1][i] + r.backward[k-j][i] + r.data.logConstant(k)
}

// sample draws k places from their posterior given k. It returns boundaries in increasing order.
func (r *recursion) sample(k int, random *rand.Rand) []int {
	places := make([]int, k)
	to := r.data.places() + 1
	for j := k; j >= 1; j-- {
		to = 1 + r.placeBefore(j, to).Index(random.Float64())
		places[j-1] = to
	}
	return places
}

// placeBefore returns the distribution of the j-th place less 1, given the boundary to after it.
func (r *recursion) placeBefore(j, to int) pick.Table {
	key := [2]int{j, to}
	if table, ok := r.before[key]; ok {
		return table
	}
	if r.held += to; r.before == nil || r.held > mostHeld {
		r.before, r.held = map[[2]int]pick.Table{}, to
	}
	weights := apply.UpTo(to-1, func(i int) float64 { return r.forward[j-1][i+1] + r.data.logSegment(i+1, to) })
	vectors.AddScalar(weights, weights, -floats.Max(weights))
	vectors.Exp(weights, weights)
	r.before[key] = pick.NewTable(weights)
	return r.before[key]
}

// best returns the k places with the largest joint probability given k. Where places are times, it
// returns the places with the largest joint density. It takes O(N² k) operations.
func (r *recursion) best(k int) []int {
	last := r.data.places() + 1
	value, from := matrix(k+1, last+1), apply.UpTo(k+1, func(int) []int { return make([]int, last+1) })
	for i := 1; i <= last; i++ {
		value[0][i] = r.data.logSegment(0, i)
	}
	for i := 2; i <= last; i++ {
		for h := 1; h < i; h++ {
			segment := r.data.logSegment(h, i)
			for j := 1; j <= k; j++ {
				if v := value[j-1][h] + segment; v > value[j][i] {
					value[j][i], from[j][i] = v, h
				}
			}
		}
	}
	places := make([]int, k)
	for j, to := k, last; j >= 1; j-- {
		to = from[j][to]
		places[j-1] = to
	}
	return places
}

// logDot returns log Σ exp(a_i + b_i), or −Inf for no terms.
func logDot(a, b []float64) float64 {
	largest := math.Inf(-1)
	for i, x := range a {
		if v := x + b[i]; v > largest {
			largest = v
		}
	}
	if math.IsInf(largest, -1) {
		return largest
	}
	sum := 0.0
	for i, x := range a {
		if d := x + b[i] - largest; d > -logsum.Negligible {
			sum += math.Exp(d)
		}
	}
	return largest + math.Log(sum)
}

// matrix returns a table filled with −Inf.
func matrix(rows, columns int) [][]float64 {
	return apply.UpTo(rows, func(int) []float64 { return slices.Repeat([]float64{math.Inf(-1)}, columns) })
}

// logChoose returns the log of the binomial coefficient C(n, k), −Inf where it is 0.
func logChoose(n, k int) float64 {
	if n < k {
		return math.Inf(-1)
	}
	return combin.LogGeneralizedBinomial(float64(n), float64(k))
}

func logFactorial(n int) float64 { return logsum.Gamma(float64(n) + 1) }
