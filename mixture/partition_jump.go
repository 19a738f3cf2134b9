package mixture

import "math"

// splitOrMerge divides a cluster or joins two that are neighbours by their means, with probability
// one half each. Single rows alone take long to do so. Parameters move as in the jumps of chains,
// with a weight that is drawn for the move: from Beta(2, 2) for a split, and for a merge from
// Beta(1+n₁, 1+n₂).
func (s *partition) splitOrMerge() {
	t := len(s.counts)
	if s.random.IntN(2) == 0 {
		if t < s.p.Options.MaxComponents {
			s.trySplit(s.random.IntN(t))
		}
	} else if t > 1 {
		s.tryMerge(s.random.IntN(t))
	}
}

func (s *partition) cluster(c int) component {
	return component{1, s.mean[c], s.deviation[c] * s.deviation[c]}
}

// next is the cluster with the next larger mean, −1 for the largest.
func (s *partition) next(c int) int {
	at := -1
	for k, mean := range s.mean {
		if mean > s.mean[c] && (at < 0 || mean < s.mean[at]) {
			at = k
		}
	}
	return at
}

// share is the probability that a row of one goes to left when it splits.
func share(u1, y float64, left, right component) float64 {
	a := math.Log(u1) - 0.5*math.Log(left.variance) - 0.5*(y-left.mean)*(y-left.mean)/left.variance
	b := math.Log(1-u1) - 0.5*math.Log(right.variance) - 0.5*(y-right.mean)*(y-right.mean)/right.variance
	return 1 / (1 + math.Exp(b-a))
}

// logRatio is the log acceptance ratio of a split of one of t clusters. inLeft reports, for rows of
// the cluster, on which side they are.
func (s *partition) logRatio(one, left, right component, u1, u2, u3 float64, t int, member func(i int) bool, inLeft func(i int) bool) float64 {
	o, log := s.p.Options, 0.0
	n1, n2 := 0.0, 0.0
	for i, y := range s.p.y {
		if !member(i) {
			continue
		}
		before := -0.5*math.Log(one.variance) - 0.5*(y-one.mean)*(y-one.mean)/one.variance
		toLeft := share(u1, y, left, right)
		if inLeft(i) {
			n1++
			log += -0.5*math.Log(left.variance) - 0.5*(y-left.mean)*(y-left.mean)/left.variance - before - math.Log(toLeft)
		} else {
			n2++
			log += -0.5*math.Log(right.variance) - 0.5*(y-right.mean)*(y-right.mean)/right.variance - before - math.Log(1-toLeft)
		}
	}
	if n1 == 0 || n2 == 0 {
		return math.Inf(-1) // a cluster has rows
	}
	d := o.Concentration
	// novelty is δ V(t+1)/V(t); a cluster of n rows has the factor Γ(n+δ)/Γ(δ)
	log += math.Log(s.novelty[t]/d) + logGamma(n1+d) + logGamma(n2+d) - logGamma(n1+n2+d) - logGamma(d)
	log += s.p.logMean(left.mean) + s.p.logMean(right.mean) - s.p.logMean(one.mean) +
		s.p.logVariance(left.variance, s.beta) + s.p.logVariance(right.variance, s.beta) - s.p.logVariance(one.variance, s.beta)
	logMerge := logGamma(n1+n2+2) - logGamma(n1+1) - logGamma(n2+1) + n1*math.Log(u1) + n2*math.Log(1-u1)
	// A split chooses one of t clusters and a merge one of t+1, of which the last has no neighbour;
	// clusters have no order, so that t of t+1 choices are pairs.
	choice := math.Log(float64(t) / float64(t+1))
	return log + choice + logMerge - logBeta2(u1) - logBeta2(u2) + logSplitJacobian(one, left, right, u2, u3)
}

func (s *partition) accept(log float64) bool { return math.Log(1-s.random.Float64()) < log }

func (s *partition) trySplit(c int) {
	u1, u2, u3 := beta(2, 2, s.random), beta(2, 2, s.random), s.random.Float64()
	one := s.cluster(c)
	left, right := one.split(u1, u2, u3)
	for k, mean := range s.mean {
		if k != c && mean >= left.mean && mean <= right.mean {
			return // no merge leads back
		}
	}
	if !(left.variance > 0 && right.variance > 0) {
		return
	}
	toLeft := make([]bool, len(s.of))
	for i, at := range s.of {
		if at == c {
			toLeft[i] = s.random.Float64() < share(u1, s.p.y[i], left, right)
		}
	}
	log := s.logRatio(one, left, right, u1, u2, u3, len(s.counts), func(i int) bool { return s.of[i] == c }, func(i int) bool { return toLeft[i] })
	if !s.accept(log) {
		return
	}
	t := len(s.counts)
	s.counts, s.mean, s.deviation = append(s.counts, 0), append(s.mean, right.mean), append(s.deviation, math.Sqrt(right.variance))
	s.mean[c], s.deviation[c] = left.mean, math.Sqrt(left.variance)
	for i, at := range s.of {
		if at == c && !toLeft[i] {
			s.of[i] = t
			s.counts[c]--
			s.counts[t]++
		}
	}
}

func (s *partition) tryMerge(c int) {
	other := s.next(c)
	if other < 0 {
		return
	}
	u1 := beta(1+float64(s.counts[c]), 1+float64(s.counts[other]), s.random)
	left, right := s.cluster(c), s.cluster(other)
	left.weight, right.weight = u1, 1-u1
	one, _, u2, u3 := merged(left, right)
	if !(u1 > 0 && u1 < 1 && u2 > 0 && u2 < 1 && u3 > 0 && u3 < 1) {
		return
	}
	log := s.logRatio(one, left, right, u1, u2, u3, len(s.counts)-1, func(i int) bool { return s.of[i] == c || s.of[i] == other }, func(i int) bool { return s.of[i] == c })
	if !s.accept(-log) {
		return
	}
	s.mean[c], s.deviation[c] = one.mean, math.Sqrt(one.variance)
	for i, at := range s.of {
		if at == other {
			s.of[i] = c
			s.counts[c]++
		}
	}
	s.remove(other)
}
