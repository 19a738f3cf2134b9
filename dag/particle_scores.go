package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"
	"strconv"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// Stages of the evidences of networks. A first look at a family is cheap and rough; islands that
// follow are finer.
const (
	lookParticles = 16
	lookSweeps    = 1
	fineParticles = 32
	fineSweeps    = 2
	// families times rows up to which all families get a look; else only small ones and those that
	// may matter
	lookedWork = 6_000_000
	// families with up to so many parents, beside those required, that get a look at any rate
	lookedSize = 2
	lookBatch  = 96   // families in a round
	lookRounds = 300  //
	roughRows  = 1000 // rows for which a look is off by some nats; the more rows the more
	// expected families of a graph that no look was taken at, when looking ends
	unseenShare  = 0.05
	firstIslands = 2     // fine islands of a family
	fineRounds   = 150   //
	wantedSpread = 0.004 // of the probability of a family, that an error of its evidence makes
	// the weight of the error of a family that is certain: it moves no probability, but the
	// evidence of all graphs
	certainShare = 0.01
	slack        = 2 // nats by which a prediction is raised, to look rather once too often
)

// particleScores are the evidences of families of networks as far as they are known.
type particleScores struct {
	problem *Problem
	seed    uint64
	status  func(string)
	place   map[dgraph.Family]int
	exact   []bool     // families without parents, which have a closed form [F]
	look    []float64  // log evidence of the first look; NaN without [F]
	islands [][]island // fine islands [F]
	looks   int        // taken
	fine    int        // fine islands so far
	most    int        // fine islands that may be spent
}

// newParticleScores prepares the estimation; spend is the most fine islands.
func newParticleScores(p *Problem, seed uint64, spend int, status func(string)) *particleScores {
	s := &particleScores{
		problem: p, seed: seed, status: status, place: map[dgraph.Family]int{}, most: spend,
		exact: make([]bool, len(p.Families)), look: make([]float64, len(p.Families)), islands: make([][]island, len(p.Families)),
	}
	for i, f := range p.Families {
		s.place[f] = i
		s.look[i] = math.NaN()
		if f.Parents.Empty() {
			s.exact[i] = true
			s.look[i] = newLinearStats(p.Data, f.Node).logEvidence(f.Parents, p.Model.Sigma, p.Model.PriorSD)
		}
	}
	return s
}

// estimate looks at all small families and at those larger ones that may matter, and then spends
// fine islands on those that do.
func (s *particleScores) estimate(ctx gocontext.Context) (*Posterior, error) {
	all := len(s.problem.Families)*s.problem.Data.Rows() <= lookedWork
	var small []int
	for i, f := range s.problem.Families {
		own := f.Parents.Len() - s.problem.Structure.Required[f.Node].Len()
		if (own <= lookedSize || all) && !s.exact[i] {
			small = append(small, i)
		}
	}
	if err := s.takeLooks(ctx, small); err != nil {
		return nil, err
	}
	for range lookRounds {
		graphs, err := s.flattened(ctx)
		if err != nil {
			return nil, err
		}
		batch := s.pick(graphs, lookBatch, unseenShare, func(f int) bool { return math.IsNaN(s.look[f]) })
		if batch == nil {
			break
		}
		if err := s.takeLooks(ctx, batch); err != nil {
			return nil, err
		}
	}
	graphs, err := NewPosterior(ctx, s.problem.Structure, s.scores(false), s.status)
	for range fineRounds {
		if err != nil {
			return nil, err
		}
		batch := s.worst(graphs)
		if len(batch) == 0 {
			break
		}
		if unseen := slices.DeleteFunc(slices.Compact(slices.Clone(batch)), func(f int) bool { return !math.IsNaN(s.look[f]) }); len(unseen) > 0 {
			err = s.takeLooks(ctx, unseen) // a look may do to put it aside
		} else {
			err = s.addIslands(ctx, batch)
		}
		if err != nil {
			return nil, err
		}
		graphs, err = NewPosterior(ctx, s.problem.Structure, s.scores(false), s.status)
	}
	return graphs, err
}

// flattened is the posterior over graphs as looks tell it, raised to a power for which what they
// are off by is some nats: else only the families of the best graph would be seen, and then those
// of the next.
func (s *particleScores) flattened(ctx gocontext.Context) (*Posterior, error) {
	power := math.Min(1, roughRows/float64(s.problem.Data.Rows()))
	structure, scores := s.problem.Structure, s.scores(true)
	structure.EdgePenalty *= power
	for i := range scores.LogEvidence {
		scores.LogEvidence[i] *= power
	}
	return NewPosterior(ctx, structure, scores, s.status)
}

// known tells whether a family has fine islands or a closed form.
func (s *particleScores) known(f int) bool { return s.exact[f] || len(s.islands[f]) > 0 }

// pick lists the most probable families of a kind, at most so many; nil when together they have
// less than a share left.
func (s *particleScores) pick(graphs *Posterior, limit int, left float64, kind func(f int) bool) (batch []int) {
	total := 0.0
	for f, share := range graphs.Marginals {
		if kind(f) {
			batch = append(batch, f)
			total += share
		}
	}
	if total < left {
		return nil
	}
	sortBy(batch, func(f int) float64 { return -graphs.Marginals[f] })
	for k, f := range batch[:min(limit, len(batch))] {
		if total -= graphs.Marginals[f]; total < left/2 {
			return batch[:k+1]
		}
	}
	return batch[:min(limit, len(batch))]
}

// worst lists families whose errors move their own probabilities most, each as often as it is to
// get a further island; nil when no error is large.
func (s *particleScores) worst(graphs *Posterior) (batch []int) {
	spread := make([]float64, len(graphs.Marginals))
	var families []int
	for f, share := range graphs.Marginals {
		spread[f] = (share*(1-share) + certainShare*share) * graphs.Scores.SE[f]
		if spread[f] > wantedSpread && !s.exact[f] {
			families = append(families, f)
		}
	}
	sortBy(families, func(f int) float64 { return -spread[f] })
	for _, f := range families[:min(len(families), lookBatch)] {
		batch = append(batch, slices.Repeat([]int{f}, max(len(s.islands[f])/2, firstIslands))...)
	}
	return batch[:min(len(batch), max(s.most-s.fine, 0))]
}

// takeLooks takes a first look at families.
func (s *particleScores) takeLooks(ctx gocontext.Context, batch []int) error {
	p, l := s.problem, s.problem.layout()
	err := eachNode(ctx, len(batch), func(k int) {
		f := p.Families[batch[k]]
		random := stream.Rand(s.seed, "look/"+strconv.Itoa(batch[k]))
		s.look[batch[k]] = newNetworkFamily(p, f).temper(random, l, f, lookParticles, lookSweeps).logEvidence
	})
	s.looks += len(batch)
	s.status(fmt.Sprintf("first looks at %d of %d families", s.looks, len(p.Families)))
	return err
}

// addIslands adds a fine island for each entry of batch.
func (s *particleScores) addIslands(ctx gocontext.Context, batch []int) error {
	p, l := s.problem, s.problem.layout()
	first := make([]int, len(batch)) // the number of the island among those of its family
	count := map[int]int{}
	for k, f := range batch {
		first[k] = len(s.islands[f]) + count[f]
		count[f]++
	}
	found := make([]island, len(batch))
	err := eachNode(ctx, len(batch), func(k int) {
		f := p.Families[batch[k]]
		random := stream.Rand(s.seed, fmt.Sprintf("island/%d/%d", batch[k], first[k]))
		// every other one moves twice as long: what that changes tells whether particles had
		// settled
		sweeps := fineSweeps << (first[k] % 2)
		found[k] = newNetworkFamily(p, f).temper(random, l, f, fineParticles, sweeps)
	})
	for k, f := range batch {
		s.islands[f] = append(s.islands[f], found[k])
	}
	s.fine += len(batch)
	s.status(fmt.Sprintf("%d fine islands of particles", s.fine))
	return err
}

// scores are what is known of all families: from fine islands where there are any, else from the
// first look, else predicted from smaller families. Looks are corrected by how far fine islands
// have been from looks at sets of their size. optimistic: with predictions raised.
func (s *particleScores) scores(optimistic bool) Scores {
	families := s.problem.Families
	out := Scores{Families: families, LogEvidence: make([]float64, len(families)), SE: make([]float64, len(families))}
	spread := s.islandSpread()
	var sizes, gaps []float64
	for f, islands := range s.islands {
		if len(islands) > 0 {
			out.LogEvidence[f], out.SE[f] = s.combine(islands, spread)
			if !math.IsNaN(s.look[f]) {
				sizes, gaps = append(sizes, float64(families[f].Parents.Len())), append(gaps, out.LogEvidence[f]-s.look[f])
			}
		}
	}
	shift, scatter := fitGaps(sizes, gaps)
	for i, f := range families { // smaller sets first, within a node
		switch {
		case s.known(i):
			if s.exact[i] {
				out.LogEvidence[i] = s.look[i]
			}
			continue
		case !math.IsNaN(s.look[i]):
			out.LogEvidence[i], out.SE[i] = s.look[i]+shift(f.Parents.Len()), scatter
		default:
			out.LogEvidence[i], out.SE[i] = s.predict(f, out.LogEvidence, optimistic), 2*scatter
			if optimistic {
				out.LogEvidence[i] += slack
			}
		}
	}
	return out
}

// predict is what a family can be expected to have: that of the family without a parent and the
// gain which this parent brings, its mean over the sets with one more node left out. optimistic:
// the most that it brings there, and the best parent to leave out.
func (s *particleScores) predict(f dgraph.Family, known []float64, optimistic bool) float64 {
	best, sum, ways := math.Inf(-1), 0.0, 0.0
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
		ways++
	}
	if optimistic || ways == 0 {
		return best
	}
	return sum / ways
}

// islandSpread is the standard deviation of the log evidence of one fine island, over all families.
func (s *particleScores) islandSpread() float64 {
	var squares, degrees float64
	for _, islands := range s.islands {
		mean := 0.0
		for _, own := range islands {
			mean += own.logEvidence / float64(len(islands))
		}
		for _, own := range islands {
			squares += square(own.logEvidence - mean)
		}
		degrees += math.Max(0, float64(len(islands)-1))
	}
	if degrees == 0 {
		return 1
	}
	return math.Sqrt(squares / degrees)
}

// combine is the log mean evidence of islands and its standard error, from the spread of their
// logarithms: their own, which few islands do not tell, as if there were four more with the spread
// of all.
func (s *particleScores) combine(islands []island, spread float64) (logMean, se float64) {
	logs := make([]float64, len(islands))
	for k, own := range islands {
		logs[k] = own.logEvidence
	}
	count := float64(len(logs))
	const prior = 4
	squares, mean := prior*square(spread), 0.0
	for _, x := range logs {
		mean += x / count
	}
	for _, x := range logs {
		squares += square(x - mean)
	}
	// As if evidences were log-normal: exp(variance) − 1 is the relative variance of one, and the
	// mean of a few is likely too small.
	relative := math.Expm1(math.Min(squares/(prior+count-1), 4)) / count
	return logsum.Of(logs) - math.Log(count) + math.Log1p(relative)/2, math.Sqrt(math.Log1p(relative))
}

// settling is the mean over families of the difference between the log evidences of islands that
// move twice as long and of the others, with its standard error: particles that cannot keep up with
// β give too little, all alike, which their spread does not show.
func (s *particleScores) settling() (mean, se float64) {
	_, differences := s.differences()
	mean, spread := meanAndSpread(differences, math.Inf(1))
	return mean, spread / math.Sqrt(float64(len(differences)))
}

// differences are those of families with islands of both kinds, beside the numbers of their
// parents.
func (s *particleScores) differences() (sizes, differences []float64) {
	for f, islands := range s.islands {
		if len(islands) < 2 {
			continue
		}
		var sums, counts [2]float64
		for k, own := range islands {
			sums[k%2] += own.logEvidence
			counts[k%2]++
		}
		sizes, differences = append(sizes, float64(s.problem.Families[f].Parents.Len())), append(differences, sums[1]/counts[1]-sums[0]/counts[0])
	}
	return sizes, differences
}

// fitGaps fits a line to how far fine islands are from looks, by the number of parents, and returns
// it with the standard deviation around it. A look at one parent finds nearly all of the evidence,
// and one at many misses the more the more rows there are: one shift for all would favour families
// that were only looked at.
func fitGaps(sizes, gaps []float64) (shift func(parents int) float64, scatter float64) {
	center, _ := meanAndSpread(sizes, 0)
	mean, _ := meanAndSpread(gaps, 0)
	// as if there were one more family, off by one parent and by no gap
	products, squares := 0.0, 1.0
	for k, size := range sizes {
		products += (size - center) * (gaps[k] - mean)
		squares += square(size - center)
	}
	slope := products / squares
	rest := make([]float64, len(gaps))
	for k, size := range sizes {
		rest[k] = gaps[k] - mean - slope*(size-center)
	}
	_, scatter = meanAndSpread(rest, 3)
	return func(parents int) float64 { return mean + slope*(float64(parents)-center) }, scatter
}

// meanAndSpread are the mean and the standard deviation of values; fewer than 8 do not tell the
// latter, and otherwise stands for it.
func meanAndSpread(values []float64, otherwise float64) (mean, spread float64) {
	if len(values) == 0 {
		return 0, otherwise
	}
	for _, x := range values {
		mean += x / float64(len(values))
	}
	if len(values) < 8 {
		return mean, otherwise
	}
	for _, x := range values {
		spread += square(x-mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(spread)
}
