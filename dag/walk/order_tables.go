package walk

import (
	"cmp"
	gocontext "context"
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
)

// orderTables holds sums of weights over the sets of candidates, the likely parents of a node, that
// come before the node in an order, for each node and one inverse temperature β of the likelihood.
// A mask is a set of candidates with a bit for each.
type orderTables struct {
	*candidates
	beta   float64
	within [][]float64 // log of the sum over the subsets of each mask [N][2^K], for K candidates
	// masks of each node by descending weight, without forbidden masks
	sorted [][]weightedMask
	first  [][]int32 // index in sorted of the first subset of each mask, or the length of sorted if there is none [N][2^K]
	top    []float64 // log of the largest weight of each node [N]
	// bit of each parent of a node in a mask of the node's candidates, or 0 if the parent is not a
	// candidate [N][N]
	bits [][]int32
}

// weightedMask is a set of candidates with its weight divided by the largest weight of the node's
// sets.
type weightedMask struct {
	share float64
	mask  int32
}

// newTables returns the sums of the weights p(pa_j) exp(β ℓ_j(pa_j)), where p(pa_j) is the prior
// weight of a set of parents pa_j of node j, and ℓ_j(pa_j) the log evidence.
func (c *candidates) newTables(ctx gocontext.Context, beta float64) (*orderTables, error) {
	nodes := len(c.parents)
	t := &orderTables{candidates: c, beta: beta, within: make([][]float64, nodes), sorted: make([][]weightedMask, nodes), first: make([][]int32, nodes), top: make([]float64, nodes), bits: make([][]int32, nodes)}
	err := parallel.For(ctx, nodes, func(j int) error {
		sums := apply.UpTo(len(c.scores[j]), func(mask int) float64 { return t.weight(j, mask) })
		t.top[j] = slices.Max(sums)
		sorted := make([]weightedMask, 0, len(sums))
		for mask, weight := range sums {
			if !math.IsInf(weight, -1) {
				sorted = append(sorted, weightedMask{math.Exp(weight - t.top[j]), int32(mask)})
			}
		}
		slices.SortFunc(sorted, func(a, b weightedMask) int {
			return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.mask, b.mask))
		})
		first := slices.Repeat([]int32{int32(len(sorted))}, len(sums))
		for place, set := range sorted {
			first[set.mask] = int32(place)
		}
		for k := range c.parents[j] {
			for mask := range sums {
				if mask>>k&1 != 0 {
					sums[mask] = logsum.Add(sums[mask], sums[mask&^(1<<k)])
					first[mask] = min(first[mask], first[mask&^(1<<k)])
				}
			}
		}
		t.sorted[j], t.first[j], t.within[j], t.bits[j] = sorted, first, sums, make([]int32, nodes)
		for k, i := range c.parents[j] {
			t.bits[j][i] = 1 << k
		}
		return nil
	})
	return t, err
}

// localMask returns the parents of a node as a mask of candidates, or outside.
func (t *orderTables) localMask(j int, parents dgraph.Set) (mask int) {
	for i := range parents.Nodes() {
		bit := t.bits[j][i]
		if bit == 0 && !t.problem.Structure.Required[j].Has(i) {
			return outside
		}
		mask |= int(bit)
	}
	return mask
}

// weight returns the log weight of the set of candidates in mask.
func (t *orderTables) weight(j, mask int) float64 {
	return t.beta*t.scores[j][mask] + t.priors[j][mask]
}

// farBelow is the distance below the largest log weight, in nats, from which on a weight divided by
// the largest weight loses precision.
const farBelow = 600

// pick returns the set of candidates of node j at which the cumulative probability reaches u, among
// the sets within mask that have all bits of must. logTotal is the log of the sum of the weights of
// these sets.
func (t *orderTables) pick(j, mask, must int, logTotal, u float64) (chosen int) {
	far, unit := t.top[j]-logTotal > farBelow, math.Exp(t.top[j]-logTotal)
	chosen = -1
	for _, set := range t.sorted[j][t.first[j][mask]:] { // earlier sets are not subsets
		if m := int(set.mask); m&^mask == 0 && m&must == must {
			chosen = m
			if far {
				u -= math.Exp(t.weight(j, m) - logTotal)
			} else {
				u -= set.share * unit
			}
			if u <= 0 {
				break
			}
		}
	}
	return chosen
}

// These limits keep the relative error of the result of containing, a sum over the sets that
// contain one candidate, below 1e-9. No practicable number of steps of a chain shows such an error.
const (
	// leastDifference is the smallest share of the sets with the candidate in the sum over all sets
	// at which their sum is computed as the difference of two sums. Below this share, the sets are
	// added up one by one.
	leastDifference = 1e-4
	// leastAddition is a bound of the sum of all remaining sets, divided by the sum so far; the
	// addition ends below it.
	leastAddition = 1e-10
)

// containing returns the log of the sum of the weights of the sets of candidates that are within
// mask and contain the candidate with the given bit.
func (t *orderTables) containing(j, mask, bit int) float64 {
	all, without := t.within[j][mask], t.within[j][mask&^bit]
	if share := -math.Expm1(without - all); share > leastDifference {
		return all + math.Log(share)
	}
	sum, sorted := 0.0, t.sorted[j][t.first[j][mask]:]
	for k, set := range sorted {
		if m := int(set.mask); m&^mask == 0 && m&bit != 0 {
			sum += set.share
		} else if set.share*float64(len(sorted)-k) < leastAddition*sum {
			break
		}
	}
	if logSum := t.top[j] + math.Log(sum); t.top[j]-logSum < farBelow {
		return logSum
	}
	logSum := math.Inf(-1)
	for _, set := range sorted {
		if m := int(set.mask); m&^mask == 0 && m&bit != 0 {
			logSum = logsum.Add(logSum, t.weight(j, m))
		}
	}
	return logSum
}
