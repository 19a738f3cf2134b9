package networks

import (
	"math"

	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
)

// Scores returns the log evidences of all families (nodes with sets of parents). The estimate comes
// from fine islands (independent groups of particles) if the family has some, otherwise from its
// cheap pilot run, and otherwise from families with fewer parents (predict). Estimates by pilot
// runs are corrected by the mean difference between fine islands and second pilot runs for this
// number of parents. First pilot runs would bias the difference, because families with a large
// first run get islands. If optimistic is set, predictions are raised by the constant optimism.
// Estimates for families on a list that grows are combined by the function pool.
func (s *Scores) Scores(optimistic bool) score.Scores {
	families := s.problem.Families
	out := score.Scores{Families: families, LogEvidence: make([]float64, len(families)), SE: make([]float64, len(families))}
	spreads := s.spreads()
	var sizes, gaps []float64
	for f := range s.islands {
		if islands := s.settled(f); len(islands) > 0 {
			out.LogEvidence[f], out.SE[f] = combine(islands, spreads.variance(families[f]))
			sizes, gaps = append(sizes, float64(families[f].Parents.Len())), append(gaps, out.LogEvidence[f]-s.second[f])
		}
	}
	shift, scatter := fitGaps(sizes, gaps)
	for i, f := range families { // families of a node with fewer parents come first
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
	if s.Listed {
		pool(&out, s.problem.Data.Nodes())
	}
	return out
}

// pilotError returns the standard error s of the log evidence of a pilot run. The argument gap is
// the mean by which such log evidences are too small, and scatter the standard deviation of these
// differences. If logarithms of unbiased estimates are normal, their mean is s²/2 too small, which
// gives s. The result is at least scatter.
func pilotError(gap, scatter float64) float64 {
	return math.Max(scatter, math.Sqrt(2*math.Max(gap, 0)))
}

// liftOfTwo returns the mean difference between the logarithm of the mean of two evidences and the
// logarithm of one evidence, for normal logarithms with standard deviation s. The difference is
// s²/4 for small s and 0.56 s − log 2 for large s. The formula is within 0.2 nats for s up to 6
// (TestLiftOfTwo).
func liftOfTwo(sd float64) float64 { return sd * sd / (4 + 1.45*sd) }

// predict returns the expected log evidence of a family: the log evidence of the family without one
// of the parents, plus the gain from this parent. The gain is a mean over the sets of parents with
// one other parent left out, and the result is the mean over the parents. If optimistic is set,
// maxima replace both means.
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

// fitGaps fits a line to gaps (log evidences by precise runs less log evidences by pilot runs) as a
// function of the number of parents (sizes). It returns the line and the standard deviation around
// it. A pilot run with one parent finds nearly all of the evidence.
func fitGaps(sizes, gaps []float64) (shift func(parents int) float64, scatter float64) {
	center, _ := meanAndSpread(sizes, 0)
	mean, _ := meanAndSpread(gaps, 0)
	// as if there were one more value, with an average gap and one parent more than the mean
	products, squares := 0.0, 1.0
	for k, size := range sizes {
		products += (size - center) * (gaps[k] - mean)
		squares += dgraph.Square(size - center)
	}
	slope := products / squares
	rest := apply.UpTo(len(gaps), func(k int) float64 { return gaps[k] - mean - slope*(sizes[k]-center) })
	_, scatter = meanAndSpread(rest, 3)
	return func(parents int) float64 { return mean + slope*(float64(parents)-center) }, scatter
}

// meanAndSpread returns the mean and the standard deviation of values. For fewer than 8 values it
// returns the argument named otherwise in place of the standard deviation.
func meanAndSpread(values []float64, otherwise float64) (mean, spread float64) {
	if len(values) == 0 {
		return 0, otherwise
	}
	if mean, spread = stat.MeanStdDev(values, nil); len(values) < 8 {
		spread = otherwise
	}
	return mean, spread
}
