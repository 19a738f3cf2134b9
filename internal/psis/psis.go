package psis

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// Reliable is the largest k̂ of a reliable estimate (Vehtari et al. 2024, section 3.2.4).
const Reliable = 0.7

// FiniteVariance is the largest k̂ at which weights have a finite variance (Vehtari et al. 2024).
// For a larger k̂ standard errors from the draws alone are too small, and averages of weights are
// below their expectations in most samples.
const FiniteVariance = 0.5

// ReliableFor is the largest k̂ at which an estimate from n draws deserves trust: with fewer than
// about 2,000, the error of k̂ is too large to accept [Reliable] (Vehtari et al. 2024, section
// 3.2.4). It is negative below ten draws.
func ReliableFor(draws int) float64 {
	return min(Reliable, 1-1/math.Log10(float64(max(draws, 2))))
}

// TailShare returns approximately the share of the mean of weights that lies beyond the largest of
// n draws, if the tail of the weights has the shape k: n^−(1−k). It follows from two facts about a
// Pareto tail of scale 1: the largest of n draws is about n^k, and the share w^(1−1/k) of the mean
// lies beyond w. Smoothing cannot restore this share. At the limit of [ReliableFor] it is a tenth.
// For k of at least 1, for which there is no mean, it is 1.
func TailShare(k float64, draws int) float64 {
	if !(k < 1) {
		return 1
	}
	return math.Pow(float64(max(draws, 1)), max(k, 0)-1)
}

// minTail is the smallest number of tail weights to which a shape is fitted.
const minTail = 5

// tieTolerance is the relative excess over the cutoff below which tail weights count as equal to
// the cutoff. Differences this small are rounding errors of the log densities.
const tieTolerance = 1e-10

// The cutoff, the largest weight that does not belong to the tail, lies in the bulk of the weights
// if a share of more than bulkShare of the weights in the tail exceed the cutoff by less than the
// fraction bulkWidth. In a Pareto tail of shape k, only a share of about bulkWidth/k exceeds the
// cutoff by so little. The excesses over a cutoff in the bulk span many orders of magnitude. A fit
// of the tail takes them for a heavy tail, although no weight is much larger than the mean. Smooth
// then raises the cutoff by the fraction bulkWidth.
const (
	bulkWidth = 0.01
	bulkShare = 0.25
)

// Result is the result of Smooth. Sums and means are over the N draws with a weight, which may be
// zero.
type Result struct {
	// LogWeights are the smoothed log weights in the order of the input, on its scale (not
	// normalised). −Inf for a zero weight, and for a draw counted in NonFinite.
	LogWeights []float64
	// K is the shape k̂ of the tail. It is +Inf if there are too few draws, or too few of positive
	// weight, and 0 if the largest weights are all equal.
	K float64
	// ESS is the effective number of draws, between 1 and N. It is 0 if every weight is zero.
	ESS float64
	// LogMean is the natural logarithm of the mean of the smoothed weights, zero weights included.
	// LogMeanSE is its standard error, which includes Unreached.
	LogMean, LogMeanSE float64
	// Unreached is the share of the mean that is missing from a sample in which no weight exceeds
	// the level that one weight in N is expected to exceed. Let e be the expected value, under the
	// fitted tail, of weights above this level, in units of the mean weight: Unreached is (e−1)/N.
	// If the variance of the weights is infinite, most samples have no such weight, and their mean
	// and its standard error are too small. Unreached is 0 for K ≤ 0 and if no tail was fitted. It
	// is at most 1.
	Unreached float64
	// UnreachedAtMost is an upper value of Unreached, since a sample that lacks the largest draws
	// also has too small a K. It is Unreached for K plus the standard error of K, which is (1 + K)
	// √n / (n + 10) for a tail of n weights. If this sum is at most FiniteVariance, UnreachedAtMost
	// equals Unreached.
	UnreachedAtMost float64
	// N is the number of draws with a weight, Zero the number of these whose weight is zero, and
	// NonFinite the number of draws whose log weight is NaN or +Inf.
	N, Zero, NonFinite int
}

// Smooth applies Pareto smoothing to log importance ratios, to which any constant may be added. The
// input is not changed. If no weight is positive, LogMean is −Inf and ESS is 0.
func Smooth(logWeights []float64) Result { return smooth(logWeights, 0, true) }

// SmoothWithZeros is Smooth for a sample with further weights, which are zero.
func SmoothWithZeros(logWeights []float64, zeros int) Result { return smooth(logWeights, zeros, true) }

// SmoothAsPublished is Smooth with the cutoff of Vehtari et al. (2024), even if the cutoff is in
// the bulk of the weights. Its results agree with the packages loo and ArviZ.
func SmoothAsPublished(logWeights []float64) Result { return smooth(logWeights, 0, false) }

func smooth(logWeights []float64, zeros int, raise bool) Result {
	r := Result{LogWeights: slices.Clone(logWeights), K: math.Inf(1), Zero: zeros}
	var order []int // draws of positive weight
	for i, l := range r.LogWeights {
		switch {
		case math.IsNaN(l) || math.IsInf(l, 1):
			r.NonFinite++
			r.LogWeights[i] = math.Inf(-1)
		case math.IsInf(l, -1):
			r.Zero++
		default:
			order = append(order, i)
		}
	}
	r.N = len(logWeights) + zeros - r.NonFinite
	r.summarise(r.smoothTail(order, raise))
	return r
}

// largest returns the draws with the largest weights, by ascending weight. The argument most bounds
// their number, and the argument draws lists the draws of positive weight. Draws of equal weight
// keep their order.
func (r *Result) largest(draws []int, most int) []int {
	list := draws
	if len(draws) > most {
		weights := apply.To(draws, func(i int) float64 { return r.LogWeights[i] })
		rank.Place(weights, len(weights)-most)
		least := weights[len(weights)-most]
		list = make([]int, 0, most)
		equal := most
		for _, i := range draws {
			if r.LogWeights[i] > least {
				equal--
			}
		}
		for _, i := range slices.Backward(draws) {
			if l := r.LogWeights[i]; l > least {
				list = append(list, i)
			} else if l == least && equal > 0 {
				list = append(list, i)
				equal--
			}
		}
	}
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.LogWeights[a], r.LogWeights[b]), cmp.Compare(a, b))
	})
	return list
}

// excesses returns the differences between the weights of draws and a cutoff, relative to the
// largest weight. Differences of 0 are left out.
func (r *Result) excesses(draws []int, largest, cutoff float64) (list []float64) {
	for _, i := range draws {
		if e := math.Exp(r.LogWeights[i]-largest) - cutoff; e > tieTolerance*cutoff {
			list = append(list, e)
		}
	}
	return list
}

// smoothTail sets r.K, and replaces the largest weights by quantiles of the fitted tail; order
// lists the draws of positive weight. The result beyond is the log of the mean weight above the
// level that one draw in N exceeds, for a tail of shape r.K. The result atMost is its value for the
// larger shape of UnreachedAtMost. Both are −Inf if the shape is at most 0 or no tail was fitted,
// and +Inf if the tail has no mean (shape 1 or more). If raise is true, a cutoff in the bulk of the
// weights is raised (see bulkShare).
func (r *Result) smoothTail(order []int, raise bool) (beyond, atMost float64) {
	none := math.Inf(-1)
	n := float64(r.N)
	size := int(math.Ceil(min(0.2*n, 3*math.Sqrt(n))))
	if size < minTail || len(order) == 0 {
		return none, none
	}
	order = r.largest(order, size+1)
	largest := r.LogWeights[order[len(order)-1]]
	// The cutoff is a weight relative to the largest weight. It is 0 if no positive weight lies
	// outside the tail.
	cutoff := 0.0
	if len(order) > size {
		cutoff = math.Exp(r.LogWeights[order[len(order)-size-1]] - largest)
	}
	tail := order[max(0, len(order)-size):]
	excess := r.excesses(tail, largest, cutoff)
	// If many weights exceed the cutoff by little, the cutoff lies in the bulk of the weights.
	if beyond := r.excesses(tail, largest, (1+bulkWidth)*cutoff); float64(len(beyond)) < (1-bulkShare)*float64(len(excess)) && len(beyond) >= minTail && raise {
		cutoff, excess = (1+bulkWidth)*cutoff, beyond
	}
	if len(excess) == 0 {
		r.K = 0
		return none, none
	}
	if len(excess) < minTail {
		return none, none
	}
	tail = tail[len(tail)-len(excess):]
	k, sigma := fitGPD(excess)
	// A weak prior draws the shape towards 1/2 with the weight of ten observations (Vehtari et al.
	// 2024, appendix C).
	m := float64(len(excess))
	r.K = (k*m + 5) / (m + 10)
	if math.IsNaN(r.K) {
		r.K = math.Inf(1)
		return math.Inf(1), math.Inf(1)
	}
	for rank, i := range tail {
		q := cutoff + quantileGPD((float64(rank)+0.5)/m, r.K, sigma)
		r.LogWeights[i] = min(largest+math.Log(q), largest) // at most the largest raw weight
	}
	past := func(k float64) float64 {
		switch {
		case k <= 0: // the variance of the draws includes such a tail
			return none
		case k >= 1:
			return math.Inf(1)
		}
		q := quantileGPD(1-1/m, k, sigma)
		return largest + math.Log(cutoff+q+(sigma+k*q)/(1-k))
	}
	beyond, atMost = past(r.K), past(r.K)
	if k := r.K + (1+r.K)*math.Sqrt(m)/(m+10); k > FiniteVariance {
		atMost = past(k)
	}
	return beyond, atMost
}

func (r *Result) summarise(beyond, atMost float64) {
	var weights []float64
	r.LogMean, r.LogMeanSE, weights = logMeanExp(r.LogWeights, r.N)
	if weights == nil {
		return
	}
	var sum, squares float64
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	r.ESS = sum * sum / squares
	share := func(beyond float64) float64 { return min(1, max(0, math.Exp(beyond-r.LogMean)-1)/float64(r.N)) }
	r.Unreached, r.UnreachedAtMost = share(beyond), share(atMost)
	r.LogMeanSE = math.Hypot(r.LogMeanSE, r.Unreached)
}

// LogMeanExp returns the natural logarithm of the mean of weights w, given their logarithms, and
// its standard error by the delta method, sd(w) / (√n mean(w)). A log weight of −Inf is a zero
// weight and counts in the mean. If a log weight is NaN or +Inf, both results are NaN. The standard
// error is NaN for fewer than two draws and if all weights are zero.
func LogMeanExp(logWeights []float64) (mean, se float64) {
	for _, l := range logWeights {
		if math.IsNaN(l) || math.IsInf(l, 1) {
			return math.NaN(), math.NaN()
		}
	}
	mean, se, _ = logMeanExp(logWeights, len(logWeights))
	return mean, se
}

// logMeanExp computes LogMeanExp for a number n of weights that can differ from the length of the
// slice: draws that are left out are −Inf in the slice, and further weights are zero. It also
// returns the weights divided by the largest weight, or nil if all weights are zero.
func logMeanExp(logWeights []float64, n int) (mean, se float64, weights []float64) {
	largest := math.Inf(-1)
	for _, l := range logWeights {
		largest = max(largest, l)
	}
	if math.IsInf(largest, -1) {
		return largest, math.NaN(), nil
	}
	weights = make([]float64, len(logWeights))
	var sum float64
	for i, l := range logWeights {
		weights[i] = math.Exp(l - largest)
		sum += weights[i]
	}
	average := sum / float64(n)
	var deviations float64 // Σ (w − mean)²; the terms of left-out draws are subtracted below, and of zeros added
	for _, w := range weights {
		deviations += (w - average) * (w - average)
	}
	deviations -= float64(len(logWeights)-n) * average * average
	se = math.NaN()
	if n > 1 {
		se = math.Sqrt(max(0, deviations)/(float64(n)*float64(n-1))) / average
	}
	return largest + math.Log(average), se, weights
}
