package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/stream"
)

// Stages of the evidences of networks. A first look at a family is cheap and rough; islands that follow are finer.
const (
	lookParticles = 16
	lookSweeps    = 1
	fineParticles = 32
	fineSweeps    = 2
	lookedWork    = 6_000_000 // families times rows up to which all families get a look; else only small ones and those that may matter
	lookedSize    = 2         // families with up to so many parents, beside those required, that get a look at any rate
	lookBatch     = 96        // families in a round
	lookRounds    = 40        //
	unseenShare   = 0.05      // expected families of a graph that no look was taken at, when looking ends
	firstIslands  = 2         // fine islands of a family
	fineRounds    = 60        //
	wantedSpread  = 0.004     // of the probability of a family, that an error of its evidence makes
	certainShare  = 0.01      // the weight of the error of a family that is certain: it moves no probability, but the evidence of all graphs
	slack         = 2         // nats by which a prediction is raised, to look rather once too often
)

// particleScores are the evidences of families of networks as far as they are known.
type particleScores struct {
	problem *Problem
	seed    uint64
	status  func(string)
	place   map[Family]int
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
		problem: p, seed: seed, status: status, place: map[Family]int{}, most: spend,
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

// estimate looks at all small families and at those larger ones that may matter, and then spends fine islands on those that do.
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
		graphs, err := NewPosterior(s.problem.Structure, s.scores(true))
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
	graphs, err := NewPosterior(s.problem.Structure, s.scores(false))
	for range fineRounds {
		if err != nil {
			return nil, err
		}
		batch := s.worst(graphs)
		if len(batch) == 0 {
			break
		}
		if err := s.addIslands(ctx, batch); err != nil {
			return nil, err
		}
		graphs, err = NewPosterior(s.problem.Structure, s.scores(false))
	}
	return graphs, err
}

// known tells whether a family has fine islands or a closed form.
func (s *particleScores) known(f int) bool { return s.exact[f] || len(s.islands[f]) > 0 }

// pick lists the most probable families of a kind, at most so many; nil when together they have less than a share left.
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

// worst lists families whose errors move their own probabilities most, each as often as it is to get a further island; nil when no error is large.
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
		sweeps := fineSweeps << (first[k] % 2) // every other one moves twice as long: what that changes tells whether particles had settled
		found[k] = newNetworkFamily(p, f).temper(random, l, f, fineParticles, sweeps)
	})
	for k, f := range batch {
		s.islands[f] = append(s.islands[f], found[k])
	}
	s.fine += len(batch)
	s.status(fmt.Sprintf("%d fine islands of particles", s.fine))
	return err
}

// scores are what is known of all families: from fine islands where there are any, else from the first look, else predicted from smaller families. What is not fine is corrected by how
// far fine islands have been from looks. optimistic: with predictions raised.
func (s *particleScores) scores(optimistic bool) Scores {
	families := s.problem.Families
	out := Scores{Families: families, LogEvidence: make([]float64, len(families)), SE: make([]float64, len(families))}
	spread := s.islandSpread()
	var gaps []float64
	for f, islands := range s.islands {
		if len(islands) > 0 {
			out.LogEvidence[f], out.SE[f] = s.combine(islands, spread)
			if !math.IsNaN(s.look[f]) {
				gaps = append(gaps, out.LogEvidence[f]-s.look[f])
			}
		}
	}
	shift, scatter := meanAndSpread(gaps, 3)
	for i, f := range families { // smaller sets first, within a node
		switch {
		case s.known(i):
			if s.exact[i] {
				out.LogEvidence[i] = s.look[i]
			}
			continue
		case !math.IsNaN(s.look[i]):
			out.LogEvidence[i], out.SE[i] = s.look[i]+shift, scatter
		default:
			out.LogEvidence[i], out.SE[i] = s.predict(f, out.LogEvidence), 2*scatter
			if optimistic {
				out.LogEvidence[i] += slack
			}
		}
	}
	return out
}

// predict is the largest that a family can be expected to have: that of the family without a parent and the gain which this parent brings, and the most that it
// brings to the sets with one more node left out.
func (s *particleScores) predict(f Family, known []float64) float64 {
	best := math.Inf(-1)
	value := func(parents Set) (float64, bool) {
		at, ok := s.place[Family{f.Node, parents}]
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
		gain := math.Inf(-1)
		for l := range f.Parents.Without(i).Nodes() {
			with, okWith := value(f.Parents.Without(l))
			without, okWithout := value(f.Parents.Without(l).Without(i))
			if okWith && okWithout {
				gain = math.Max(gain, with-without)
			}
		}
		best = math.Max(best, base+gain)
	}
	return best
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

// combine is the log mean evidence of islands and its standard error, from the spread of their logarithms: their own, which few islands do not tell, as if there were four more with the
// spread of all.
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
	// As if evidences were log-normal: exp(variance) − 1 is the relative variance of one, and the mean of a few is likely too small.
	relative := math.Expm1(math.Min(squares/(prior+count-1), 4)) / count
	return logSumExp(logs) - math.Log(count) + math.Log1p(relative)/2, math.Sqrt(math.Log1p(relative))
}

// settling is the mean over families of the difference between the log evidences of islands that move twice as long and of the others, with its standard error: particles that
// cannot keep up with β give too little, all alike, which their spread does not show.
func (s *particleScores) settling() (mean, se float64) {
	var differences []float64
	for _, islands := range s.islands {
		if len(islands) < 2 {
			continue
		}
		var sums, counts [2]float64
		for k, own := range islands {
			sums[k%2] += own.logEvidence
			counts[k%2]++
		}
		differences = append(differences, sums[1]/counts[1]-sums[0]/counts[0])
	}
	mean, spread := meanAndSpread(differences, math.Inf(1))
	return mean, spread / math.Sqrt(float64(len(differences)))
}

// meanAndSpread are the mean and the standard deviation of values; fewer than 8 do not tell the latter, and otherwise stands for it.
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
