package networks

import (
	"math"

	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
)

// Scores are what is known of all families: from fine islands where there are any, else from the
// pilot run, else predicted from smaller families. Pilot runs are corrected by how far fine
// islands are from second pilot runs of sets of their size: first ones are those of lucky
// families, which is why these got islands. optimistic: with predictions raised.
func (s *Scores) Scores(optimistic bool) score.Scores {
	families := s.problem.Families
	out := score.Scores{Families: families, LogEvidence: make([]float64, len(families)), SE: make([]float64, len(families))}
	spread := s.islandSpread()
	var sizes, gaps []float64
	for f := range s.islands {
		if islands := s.settled(f); len(islands) > 0 {
			out.LogEvidence[f], out.SE[f] = s.combine(islands, spread(families[f].Parents.Len()))
			sizes, gaps = append(sizes, float64(families[f].Parents.Len())), append(gaps, out.LogEvidence[f]-s.second[f])
		}
	}
	shift, scatter := fitGaps(sizes, gaps)
	for i, f := range families { // smaller sets first, within a node
		switch {
		case s.known(i):
			if s.exact[i] {
				out.LogEvidence[i] = s.pilot[i]
			}
			continue
		case !math.IsNaN(s.pilot[i]):
			gap := shift(f.Parents.Len())
			out.SE[i] = pilotError(gap, scatter)
			out.LogEvidence[i] = s.pilot[i] + gap
			if s.repeated[i] {
				out.LogEvidence[i] -= liftOfTwo(out.SE[i])
			}
		default:
			out.LogEvidence[i], out.SE[i] = s.predict(f, out.LogEvidence, optimistic), 2*pilotError(shift(f.Parents.Len()), scatter)
			if optimistic {
				out.LogEvidence[i] += optimism
			}
		}
	}
	return out
}

// pilotError is the standard error of pilot runs whose logarithms are too small by a gap: estimates
// whose mean is right and whose logarithms are normal with a standard deviation s have a mean
// logarithm that is s²/2 too small. It is at least the scatter of the gaps.
func pilotError(gap, scatter float64) float64 {
	return math.Max(scatter, math.Sqrt(2*math.Max(gap, 0)))
}

// liftOfTwo is by how much the logarithm of the mean of two evidences is larger on average than
// that of one, where logarithms are normal with a standard deviation: s²/4 where it is small,
// 0.56 s − log 2 where it is large, and within 0.2 nats in between, up to 6 (TestLiftOfTwo).
func liftOfTwo(sd float64) float64 { return sd * sd / (4 + 1.45*sd) }

// predict is what a family can be expected to have: that of the family without a parent and the
// gain which this parent brings, its mean over the sets with one more node left out. optimistic:
// the most that it brings there, and the best parent to leave out.
func (s *Scores) predict(f dgraph.Family, known []float64, optimistic bool) float64 {
	best, sum, counted := math.Inf(-1), 0.0, 0.0
	value := func(parents dgraph.Set) (float64, bool) {
		at, ok := s.place[dgraph.Family{Node: f.Node, Parents: parents}]
		if !ok {
			return 0, false
		}
		return known[at], true
	}
	for i := range f.Parents.Nodes() {
		base, ok := value(f.Parents.Without(i))
		if !ok {
			continue
		}
		most, total, count := math.Inf(-1), 0.0, 0.0
		for l := range f.Parents.Without(i).Nodes() {
			with, okWith := value(f.Parents.Without(l))
			without, okWithout := value(f.Parents.Without(l).Without(i))
			if okWith && okWithout {
				most = math.Max(most, with-without)
				total += with - without
				count++
			}
		}
		if count == 0 {
			continue
		}
		best = math.Max(best, base+most)
		sum += base + total/count
		counted++
	}
	if optimistic || counted == 0 {
		return best
	}
	return sum / counted
}

// fitGaps fits a line to how far fine islands are from pilot runs, by the number of parents, and
// returns it with the standard deviation around it. A pilot run with one parent finds nearly all of
// the evidence, and with many parents misses the more the more rows there are: one shift for all
// would favour families that had a pilot run only.
func fitGaps(sizes, gaps []float64) (shift func(parents int) float64, scatter float64) {
	center, _ := meanAndSpread(sizes, 0)
	mean, _ := meanAndSpread(gaps, 0)
	// as if there were one more family, off by one parent and by no gap
	products, squares := 0.0, 1.0
	for k, size := range sizes {
		products += (size - center) * (gaps[k] - mean)
		squares += dgraph.Square(size - center)
	}
	slope := products / squares
	rest := make([]float64, len(gaps))
	for k, size := range sizes {
		rest[k] = gaps[k] - mean - slope*(size-center)
	}
	_, scatter = meanAndSpread(rest, 3)
	return func(parents int) float64 { return mean + slope*(float64(parents)-center) }, scatter
}

// meanAndSpread are the mean and the standard deviation of values; of fewer than 8, otherwise
// stands for the latter.
func meanAndSpread(values []float64, otherwise float64) (mean, spread float64) {
	if len(values) == 0 {
		return 0, otherwise
	}
	if mean, spread = stat.MeanStdDev(values, nil); len(values) < 8 {
		spread = otherwise
	}
	return mean, spread
}
