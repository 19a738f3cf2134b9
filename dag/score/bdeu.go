package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
)

// BDeu computes the evidence of a node j with a set of parents (a family), for categories with
// conditional probability tables, in closed form. Given each combination of values of the parents,
// the node has a probability for each of its levels, with an independent Dirichlet prior. All
// parameters of the prior are α/(q r), with α the imaginary sample size, q the number of
// combinations and r the number of levels of the node. The sum over nodes is the BDeu score
// (Heckerman, Geiger and Chickering 1995, equation 35), which is the same for all graphs of an
// equivalence class. Rows in which an intervention set the node are left out (Cooper and Yoo 1999).
type BDeu struct {
	node   int
	Size   float64   // α, the imaginary sample size
	levels []int     // number of levels of every node [N]
	codes  [][]int32 // level of every node as an index, in the n rows in which no intervention set the node j [N][n]
	risen  sync.Map  // results of the method rising, by its argument
}

// NewBDeuForm returns the BDeu score of a node. size is the imaginary sample size α.
func NewBDeuForm(d *tables.Data, node int, size float64) *BDeu {
	b := &BDeu{node: node, Size: size, codes: make([][]int32, d.Nodes())}
	for j, levels := range d.Levels {
		b.levels = append(b.levels, len(levels))
		b.codes[j] = apply.To(d.CountedRows(node), func(row int) int32 { return int32(d.X.At(row, j)) })
	}
	return b
}

// combinations returns for each row the number of its combination of values of the parents.
// Combinations are numbered from 0 in the order of their first rows. combinations also returns the
// number of combinations that occur (seen) and the number of possible combinations.
func (b *BDeu) combinations(parents dgraph.Set) (combination []int32, seen int, possible float64) {
	combination, seen, possible = make([]int32, len(b.codes[b.node])), 1, 1
	for i := range parents.Nodes() {
		levels := b.levels[i]
		next := make([]int32, seen*levels) // number of each combination and level, from 1; 0 if not seen yet
		possible *= float64(levels)
		seen = 0
		for row, code := range b.codes[i] {
			place := &next[int(combination[row])*levels+int(code)]
			if *place == 0 {
				seen++
				*place = int32(seen)
			}
			combination[row] = *place - 1
		}
	}
	return combination, seen, possible
}

// count returns the number of rows with each combination of values of the parents that occurs and
// each level of the node [seen][r], and the number of possible combinations.
func (b *BDeu) count(parents dgraph.Set) (counts [][]int, possible float64) {
	combination, seen, possible := b.combinations(parents)
	counts = make([][]int, seen)
	cells := make([]int, seen*b.levels[b.node])
	for k := range counts {
		counts[k] = cells[k*b.levels[b.node] : (k+1)*b.levels[b.node]]
	}
	for row, code := range b.codes[b.node] {
		counts[combination[row]][code]++
	}
	return counts, possible
}

// ErrTooManyCells is the error for a table of probabilities that is too large to hold in memory.
var ErrTooManyCells = fmt.Errorf("with its parents it has more than %d combinations of values", MostCells)

// Table returns the number of rows with each possible combination of values of the parents and each
// level of the node [q·r], for q combinations and r levels. The level of the node changes fastest,
// then the value of the last parent.
func (b *BDeu) Table(parents dgraph.Set) ([]float64, error) {
	cells, parentColumns := b.levels[b.node], parents.List()
	for _, i := range parentColumns {
		if cells *= b.levels[i]; cells > MostCells {
			return nil, ErrTooManyCells
		}
	}
	counts := make([]float64, cells)
	for row, code := range b.codes[b.node] {
		at := 0
		for _, i := range parentColumns {
			at = at*b.levels[i] + int(b.codes[i][row])
		}
		counts[at*b.levels[b.node]+int(code)]++
	}
	return counts, nil
}

// mostDense is the largest number of cells for which LogEvidence counts the rows in all cells of a
// table, including empty ones. In a larger table it counts only the combinations that occur.
const mostDense = 1 << 12

// LogEvidence returns the BDeu score, log p(x_j | x_pa). Combinations of values of the parents that
// occur in no row contribute 0.
func (b *BDeu) LogEvidence(parents dgraph.Set) (sum float64) {
	levels, possible := b.levels[b.node], 1
	for i := range parents.Nodes() {
		if possible *= b.levels[i]; possible*levels > mostDense {
			return b.sparseEvidence(parents)
		}
	}
	combination := make([]int32, len(b.codes[b.node]))
	for i := range parents.Nodes() {
		levels := int32(b.levels[i])
		for row, code := range b.codes[i] {
			combination[row] = combination[row]*levels + code
		}
	}
	counts := make([]int32, possible*levels)
	for row, code := range b.codes[b.node] {
		counts[int(combination[row])*levels+int(code)]++
	}
	whole := b.Size / float64(possible)
	ofCell, ofWhole := b.rising(whole/float64(levels)), b.rising(whole)
	for ; len(counts) > 0; counts = counts[levels:] {
		total := int32(0)
		for _, n := range counts[:levels] {
			total += n
			sum += ofCell[n]
		}
		sum -= ofWhole[total]
	}
	return sum
}

// rising returns LogRising(a, n) for n from 0 to the number of rows. It keeps the result for each
// a.
func (b *BDeu) rising(a float64) []float64 {
	if known, ok := b.risen.Load(a); ok {
		return known.([]float64)
	}
	list := apply.UpTo(len(b.codes[b.node])+1, func(n int) float64 { return LogRising(a, n) })
	b.risen.Store(a, list)
	return list
}

// sparseEvidence returns the BDeu score of a table with too many cells to count the rows in each.
func (b *BDeu) sparseEvidence(parents dgraph.Set) (sum float64) {
	counts, possible := b.count(parents)
	whole := b.Size / possible
	cell := whole / float64(b.levels[b.node])
	for _, levels := range counts {
		total := 0
		for _, n := range levels {
			total += n
			sum += LogRising(cell, n)
		}
		sum -= LogRising(whole, total)
	}
	return sum
}

// LogRising returns log Γ(a + n) − log Γ(a), without loss of precision for small a.
func LogRising(a float64, n int) (sum float64) {
	const direct = 16 // largest number of factors for which a product is as exact and as fast as Lgamma
	if n <= direct {
		product := 1.0
		for k := range n {
			product *= a + float64(k)
		}
		return math.Log(product)
	}
	return logsum.Gamma(a+float64(n)) - logsum.Gamma(a)
}

// bic returns the maximum of the multinomial log likelihood less ½ log n for each free probability,
// with n the number of rows.
func (b *BDeu) bic(parents dgraph.Set) (sum float64) {
	counts, possible := b.count(parents)
	for _, levels := range counts {
		total := 0
		for _, n := range levels {
			total += n
		}
		for _, n := range levels {
			if n > 0 {
				sum += float64(n) * math.Log(float64(n)/float64(total))
			}
		}
	}
	return sum - possible*float64(b.levels[b.node]-1)*math.Log(float64(len(b.codes[b.node])))/2
}

// Posterior returns a function that returns nil: tables of probabilities are integrated out.
func (b *BDeu) Posterior(dgraph.Set) func(*rand.Rand) []float64 {
	return func(*rand.Rand) []float64 { return nil }
}

// Moments returns nil, because tables have no weights.
func (b *BDeu) Moments(dgraph.Set) (means, variances []float64) { return nil, nil }

// LogJoint returns the log evidence, because the tables are integrated out.
func (b *BDeu) LogJoint(parents dgraph.Set, _ []float64) float64 { return b.LogEvidence(parents) }

// MostCells is the largest number of cells of a table of probabilities in an answer (32 MB).
const MostCells = 1 << 22
