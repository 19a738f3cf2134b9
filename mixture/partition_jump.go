package mixture

import (
	"math"

	"github.com/transdim/vti/internal/logsum"
)

// splitOrMerge splits a cluster or merges two clusters with neighbouring means, each with
// probability one half. Moves of single rows would take long to reach the same state. Parameters of
// clusters are split and merged by the methods of the interface family. These methods need the
// share of the left cluster in the weight of both. Since clusters have no weights, a split draws
// this share from Beta(2, 2), and a merge of clusters of n₁ and n₂ rows draws it from Beta(1+n₁,
// 1+n₂).
func (s *partition) splitOrMerge() {
	t := len(s.counts)
	if s.random.IntN(2) == 0 {
		if t < s.p.Options.MaxComponents {
			s.trySplit(s.random.IntN(t))
		}
	} else if t > 1 && s.p.neighbours() {
		c := s.random.IntN(t)
		if other := s.next(c); other >= 0 {
			s.tryMerge(c, other)
		}
	} else if t > 1 {
		s.tryMerge(pair(t, func(c int) float64 { return s.clusters[c].mean }, s.random))
	}
}

// next returns the cluster with the next larger mean, or −1 if there is none.
func (s *partition) next(c int) int {
	at := -1
	for k, one := range s.clusters {
		if one.mean > s.clusters[c].mean && (at < 0 || one.mean < s.clusters[at].mean) {
			at = k
		}
	}
	return at
}

// fillSplit computes the densities of all rows in a cluster and in the two clusters of its split.
func (s *partition) fillSplit(one, left, right component) {
	for k, cluster := range [...]component{left, right, one} {
		s.p.family.fill(s.splitDensity[k], cluster)
	}
}

// resolved reports whether a density is well within the range of float64. Other densities are
// computed as logarithms: a ratio of two of them could underflow or overflow.
func resolved(density float64) bool { return density > 1e-140 && density < 1e140 }

// logShares returns the log densities of a row in both clusters of a split, with their weights.
func (s *partition) logShares(row int, left, right component) (a, b float64) {
	return math.Log(left.weight) + s.p.family.logDensity(row, left), math.Log(right.weight) + s.p.family.logDensity(row, right)
}

// share returns the probability that a row goes to the left cluster in a split.
func (s *partition) share(row int, left, right component) float64 {
	a, b := s.splitDensity[0][row], s.splitDensity[1][row]
	if resolved(a + b) {
		return a / (a + b)
	}
	a, b = s.logShares(row, left, right)
	return 1 / (1 + math.Exp(b-a))
}

// logRatio returns the log acceptance ratio of a split of one of t clusters into clusters of n1 and
// n2 rows. member reports whether a row belongs to the cluster, and splitDensity holds the
// densities of the rows. A row's density in its new cluster, divided by the probability of this
// cluster in the split, is the sum of its densities in both clusters over the weight of its own, u1
// or 1 − u1. The probability of these rows in a merge, u1^n1 (1−u1)^n2, cancels the weights.
func (s *partition) logRatio(one, left, right component, u []float64, t int, n1, n2 float64, member func(i int) bool) float64 {
	o, f, log, product := s.p.Options, s.p.family, 0.0, 1.0
	for i, whole := range s.splitDensity[2] {
		if !member(i) {
			continue
		}
		both := s.splitDensity[0][i] + s.splitDensity[1][i]
		if !resolved(both) || !resolved(whole) {
			a, b := s.logShares(i, left, right)
			log += logsum.Add(a, b) - f.logDensity(i, one)
			continue
		}
		next := product * (both / whole)
		if next < 1e-200 || next > 1e200 {
			log += math.Log(product) + math.Log(both/whole)
			next = 1
		}
		product = next
	}
	log += math.Log(product)
	if n1 == 0 || n2 == 0 {
		return math.Inf(-1) // both clusters must have rows
	}
	d := o.Concentration
	// The probability of a partition into t clusters is a factor V(t) times a factor Γ(n+δ)/Γ(δ)
	// for each cluster of n rows. novelty[t] is δ V(t+1)/V(t).
	log += math.Log(s.novelty[t]/d) + logsum.Gamma(n1+d) + logsum.Gamma(n2+d) - logsum.Gamma(n1+n2+d) - logsum.Gamma(d)
	log += f.logPrior(left, s.beta) + f.logPrior(right, s.beta) - f.logPrior(one, s.beta)
	logMerge := logsum.Gamma(n1+n2+2) - logsum.Gamma(n1+1) - logsum.Gamma(n2+1)
	// A split chooses one of t clusters with probability 1/t. A merge chooses one of t+1 clusters,
	// with probability 1/(t+1), and merges it with the next larger one.
	choice := math.Log(float64(t) / float64(t+1))
	if !s.p.neighbours() { // a merge chooses any two of t+1 clusters
		choice = math.Log(2 / float64(t+1))
	}
	return log + choice + logMerge - f.proposal().log(u) + f.logJacobian(one, left, right, u)
}

func (s *partition) trySplit(c int) {
	u := s.p.family.proposal().draw(s.random)
	one := s.clusters[c]
	one.weight = 1
	left, right := s.p.family.split(one, u)
	if !(left.mean < right.mean) || math.IsInf(s.p.family.proposal().log(u), -1) {
		return // possible by rounding errors only
	}
	for k, other := range s.clusters {
		if k != c && s.p.neighbours() && other.mean >= left.mean && other.mean <= right.mean {
			return // a merge could not reverse this split, since another mean lies between
		}
	}
	s.fillSplit(one, left, right)
	toLeft, n1 := make([]bool, len(s.cluster)), 0
	for i, at := range s.cluster {
		if at == c && s.random.Float64() < s.share(i, left, right) {
			toLeft[i] = true
			n1++
		}
	}
	log := s.logRatio(one, left, right, u, len(s.counts), float64(n1), float64(s.counts[c]-n1), func(i int) bool { return s.cluster[i] == c })
	if !accept(log, s.random) {
		return
	}
	t := len(s.counts)
	s.counts, s.clusters = append(s.counts, 0), append(s.clusters, right)
	s.clusters[c] = left
	for i, at := range s.cluster {
		if at == c && !toLeft[i] {
			s.cluster[i] = t
			s.counts[c]--
			s.counts[t]++
		}
	}
}

func (s *partition) tryMerge(c, other int) {
	left, right := s.clusters[c], s.clusters[other]
	left.weight = beta(1+float64(s.counts[c]), 1+float64(s.counts[other]), s.random)
	right.weight = 1 - left.weight
	one, u := s.p.family.merge(left, right)
	s.fillSplit(one, left, right)
	log := s.logRatio(one, left, right, u, len(s.counts)-1, float64(s.counts[c]), float64(s.counts[other]), func(i int) bool { return s.cluster[i] == c || s.cluster[i] == other })
	if !accept(-log, s.random) {
		return
	}
	s.clusters[c] = one
	for i, at := range s.cluster {
		if at == other {
			s.cluster[i] = c
			s.counts[c]++
		}
	}
	s.spare, s.density = append(s.spare, s.density...), s.density[:0] // densities of clusters with old parameters, which the next sweep computes again
	s.remove(other)
}
