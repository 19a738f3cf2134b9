package modelcheck

import (
	"cmp"
	"math"

	"github.com/transdim/vti/internal/rank"
)

// Level is the largest adjusted p-value of a finding. By Meng (1994), 2 Level bounds the share of
// tables with a finding among the tables drawn from the model.
const Level = 0.02

// family accumulates the p-values of statistics of one kind. A member of the family is a response,
// or a pair of a response and a column, and has one statistic. The observed statistic of each
// member is compared with the most extreme statistic over all members in the replicate. This
// adjusts for the number of members (Westfall and Young 1993).
type family struct {
	twoSided     bool
	draws        []int     // number of draws that compared the member
	upper, lower []int     // number of draws in which the most extreme replicate is at least, or at most, the observed statistic
	sum          []float64 // sum of the observed statistic over draws
}

func newFamily(members int, twoSided bool) *family {
	return &family{
		twoSided: twoSided, draws: make([]int, members), upper: make([]int, members), lower: make([]int, members),
		sum: make([]float64, members),
	}
}

// add counts one posterior draw. observed and replicated hold the statistic of each member. A
// statistic is NaN for members that are not compared in this draw.
func (f *family) add(observed, replicated []float64) {
	high, low := math.Inf(-1), math.Inf(1)
	for k, value := range replicated {
		if !math.IsNaN(observed[k]) {
			high, low = max(high, value), min(low, value)
		}
	}
	for k, value := range observed {
		if math.IsNaN(value) {
			continue
		}
		f.draws[k]++
		f.sum[k] += value
		if !(high < value) {
			f.upper[k]++
		}
		if !(low > value) {
			f.lower[k]++
		}
	}
}

// mean returns the posterior mean of the observed statistic of a member, NaN if it was never
// compared.
func (f *family) mean(member int) float64 { return f.sum[member] / float64(f.draws[member]) }

// p returns the p-value of a member. If n draws compared the member, it is at least 1/(1+n), or
// 2/(1+n) if it is two-sided. If n is 0, it is 1.
func (f *family) p(member int) float64 {
	return min(1, float64(f.extreme(member))/float64(1+f.draws[member]))
}

// extreme returns one plus the number of draws with an extreme replicate, twice the smaller such
// number of both sides if the family is two-sided.
func (f *family) extreme(member int) int {
	if f.twoSided {
		return 2 * (1 + min(f.upper[member], f.lower[member]))
	}
	return 1 + f.upper[member]
}

// settled reports whether the p-value of every member will be above Level after MinDraws draws,
// whatever the remaining draws are. Counts of extreme replicates never fall, so that a p-value is
// at least its present count divided by 1+MinDraws (Besag and Clifford 1991). A settled family has
// no finding, and no effect on the findings of other families.
func (f *family) settled() bool {
	for k := range f.upper {
		if float64(f.extreme(k)) <= Level*(1+MinDraws) {
			return false
		}
	}
	return true
}

func (f *family) smallest() float64 {
	p := 1.0
	for k := range f.upper {
		p = min(p, f.p(k))
	}
	return p
}

// holm returns the factor by which the p-values of each family are multiplied. The probability of
// any false finding then has the same bound as for a single family (Holm 1979).
func holm(families []*family) []float64 {
	order := rank.Order(len(families), func(a, b int) int { return cmp.Compare(families[a].smallest(), families[b].smallest()) })
	factors := make([]float64, len(families))
	before := 0.0 // adjusted p-values must not decrease in the order of the families
	for rank, i := range order {
		factor := float64(len(families) - rank)
		p := families[i].smallest()
		before = max(before, factor*p)
		factors[i] = before / p
	}
	return factors
}
