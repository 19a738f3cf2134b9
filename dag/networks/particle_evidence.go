package networks

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/shard"
)

// Evidences of families (nodes with sets of parents) are estimated in two stages. A pilot run of a
// family is cheap and has an error of some nats. Fine islands, independent groups of particles, are
// more precise, and their scatter gives an error. The constants suit answers within minutes.
const (
	pilotChains = 1
	pilotSweeps = 12
	// moreSweeps is the number of sweeps that a pilot run has in addition for each parent more than
	// pilotSize, if pilot runs decide how a list of families grows. Without these sweeps log
	// evidences are too small by one or two nats with five parents, and by twenty with twelve.
	moreSweeps   = 4
	fineChains   = 2
	fineSweeps   = 32
	firstIslands = 2 // number of fine islands of a family before its error is known
	// If levelIslands islands (groups of particles) have log evidences with a standard deviation of
	// more than levelSpread nats, the next islands belong to the next level, with moves levelSweeps
	// times as long. If families are on a list that grows, levelCounts islands with twice this
	// deviation are enough for the next level. Moves four times as long halve the standard
	// deviation s, and exp(s²) − 1, the relative variance of the evidence of one island, falls by a
	// factor of more than four for s above 0.5. Longer moves are then better than more islands.
	levelIslands = 12
	levelSpread  = 0.6
	levelSweeps  = 4
	mostLevel    = 2
	// A level is a length of the moves of particles. If a level has levelCounts islands (groups of
	// particles), the islands of lower levels are ignored.
	levelCounts = 4
)

// settled returns the islands (groups of particles) that estimate the evidence of family f.
func (s *Scores) settled(f int) []island { return settled(s.islands[f]) }

// settled returns the islands (groups of particles) of the highest level (with the longest moves)
// that has at least levelCounts islands, or of the lowest level if no higher level has this number.
func settled(islands []island) []island {
	from := len(islands)
	for from > 0 && islands[from-1].Level == islands[len(islands)-1].Level {
		from--
	}
	if from > 0 && len(islands)-from < levelCounts {
		return settled(islands[:from])
	}
	return islands[from:]
}

func (s *Scores) nextLevel(f int) int {
	islands := s.islands[f]
	if len(islands) == 0 {
		return 0
	}
	top, settled := islands[len(islands)-1].Level, s.settled(f)
	if top == mostLevel || len(settled) < levelCounts || settled[0].Level < top {
		return top
	}
	spread := stat.StdDev(logEvidences(settled), nil)
	if spread > levelSpread && len(settled) >= levelIslands || spread > 2*levelSpread && s.Listed {
		return top + 1
	}
	return top
}

// islandCost returns the work of an island (a group of particles) of a level, relative to level 0.
func islandCost(level int) int { return int(math.Pow(levelSweeps, float64(level))) }

// All families (nodes with sets of parents) get cheap pilot runs if the number of families times
// the number of rows is at most pilotWork. Otherwise families with at most pilotSize parents more
// than required get pilot runs. Then probable families get pilot runs, in rounds of at most
// batchFamilies, until a drawn graph is expected to have less than unseenShare families without a
// pilot run.
const (
	pilotWork     = 6_000_000
	pilotSize     = 2
	batchFamilies = 96
	mostPilots    = 300 // largest number of rounds
	unseenShare   = 0.05
	// pilotRows is the number of rows above which log evidences are multiplied by pilotRows/rows
	// when they decide about runs, because the errors of pilot runs grow with the rows.
	pilotRows = 1000
	// optimism is the number of nats added to a predicted log evidence when it decides about a
	// pilot run, because an unnecessary run costs little.
	optimism = 2
)

// More precise runs are made of families (nodes with sets of parents) whose errors change their
// probability by more than wantedSpread, in at most fineRounds rounds. Edge probabilities then have
// errors of 0.01 to 0.018.
const (
	wantedSpread = 0.01
	fineRounds   = 150
	// repeatSpread is the number of standard errors by which a single pilot run may be too small.
	// If its set of parents would be probable with this larger log evidence, the run is repeated.
	repeatSpread = 2
	// certainShare times the probability of a set of parents times the error of its log evidence is
	// the least change that is compared with wantedSpread. The error of a set with probability 1
	// changes no probability, but it changes the evidence summed over all graphs.
	certainShare = 0.01
)

// Scores holds the estimated evidences of families (nodes with parents) with network mechanisms.
type Scores struct {
	problem *score.Problem
	seed    uint64
	Shard   *shard.Shard // share of the work that this process does; nil for all of the work
	// Listed states that the families (nodes with sets of parents) are on a list that grows. Part
	// is the fraction of all fine islands (groups of particles) that may begin until the list grows
	// again; 0 stands for all.
	Listed bool
	Part   float64
	// Kept, if not nil, stores the results of runs, for a process that continues from them. Only
	// runs that begin at least KeepAfter after the first run are stored.
	Kept      *shard.Shard
	KeepAfter time.Duration
	began     time.Time
	// MaxTime is the time after which no further runs begin, except pilot runs of families with few
	// parents; 0 for no limit.
	MaxTime  time.Duration
	status   func(string)
	place    map[dgraph.Family]int
	exact    []bool     // whether each of the F families has no parents, and so a closed form [F]
	pilot    []float64  // log evidence of the pilot run; NaN if there was none [F]
	second   []float64  // log evidence of a second pilot run; only for families with fine islands [F]
	repeated []bool     // whether pilot is the mean of two runs [F]
	islands  [][]island // fine islands [F]
	pilots   int        // number of pilot runs so far
	fine     int        // number of fine islands so far
	spent    int        // work of fine islands so far, in units of the first island of a family
	most     int        // largest value of spent
}

// NewScores returns Scores without estimates. spend is the largest number of fine islands (precise
// groups of particles); 0 stands for a number that depends on the rows and the nodes.
func NewScores(p *score.Problem, seed uint64, spend int, status func(string)) *Scores {
	spend = cmp.Or(spend, min(max(islandWork/p.Data.Rows(), leastIslands), mostIslands)*max(1, p.Data.Nodes()/islandNodes))
	s := &Scores{
		problem: p, seed: seed, status: status, began: time.Now(), place: map[dgraph.Family]int{}, most: spend,
	}
	s.extend()
	return s
}

// Over reports whether MaxTime has passed, so that no further runs should begin.
func (s *Scores) Over() bool { return budget.Time{Began: s.began, Limit: s.MaxTime}.Over() }

func (s *Scores) extend() {
	for _, f := range s.problem.Families[len(s.pilot):] {
		pilot := math.NaN()
		if f.Parents.Empty() {
			pilot = s.problem.LinearForm(f.Node).LogEvidence(f.Parents)
		}
		s.place[f] = len(s.pilot)
		s.exact, s.pilot = append(s.exact, f.Parents.Empty()), append(s.pilot, pilot)
		s.second, s.repeated, s.islands = append(s.second, 0), append(s.repeated, false), append(s.islands, nil)
	}
}

// Pilots makes pilot runs of all families (nodes with sets of parents) of the problem that have no
// estimate.
func (s *Scores) Pilots(ctx gocontext.Context) error {
	s.extend()
	return s.runPilots(ctx, apply.Where(len(s.pilot), func(f int) bool { return math.IsNaN(s.pilot[f]) }))
}

// Estimate estimates evidences by pilot runs, and more precisely where their errors matter. It
// returns the posterior over graphs.
func (s *Scores) Estimate(ctx gocontext.Context) (*score.Posterior, error) {
	if err := s.PilotStage(ctx); err != nil {
		return nil, err
	}
	return s.FineStage(ctx, score.NewPosterior)
}

// PilotStage makes pilot runs of all families with few parents, and of probable families with more
// parents.
func (s *Scores) PilotStage(ctx gocontext.Context) error {
	all := len(s.problem.Families)*s.problem.Data.Rows() <= pilotWork
	var small []int
	for i, f := range s.problem.Families {
		chosen := f.Parents.Len() - s.problem.Structure.Required[f.Node].Len()
		if (chosen <= pilotSize || all) && !s.exact[i] {
			small = append(small, i)
		}
	}
	if err := s.runPilots(ctx, small); err != nil {
		return err
	}
	for round := 0; round < mostPilots && !s.Over(); round++ {
		graphs, err := s.flattened(ctx)
		if err != nil {
			return err
		}
		batch := s.pick(graphs, batchFamilies, unseenShare, func(f int) bool { return math.IsNaN(s.pilot[f]) })
		if batch == nil {
			break
		}
		if err := s.runPilots(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// FineStage makes more precise runs for evidences whose errors change the posterior over graphs.
// The function sum computes this posterior from evidences.
func (s *Scores) FineStage(ctx gocontext.Context, sum score.SumOfScores) (*score.Posterior, error) {
	graphs, err := sum(ctx, s.problem.Structure, s.Scores(false), s.status)
	for range fineRounds {
		if err != nil || s.Over() {
			return graphs, err
		}
		batch := s.worst(graphs)
		doubts := s.doubts(graphs)
		if len(batch)+len(doubts) == 0 {
			break
		}
		if len(doubts) > 0 {
			err = s.repeatPilots(ctx, doubts)
		} else if unseen := slices.DeleteFunc(slices.Compact(slices.Clone(batch)), func(f int) bool { return !math.IsNaN(s.pilot[f]) }); len(unseen) > 0 {
			err = s.runPilots(ctx, unseen) // a pilot run may show that the family is improbable
		} else {
			err = s.addIslands(ctx, batch)
		}
		if err != nil {
			return nil, err
		}
		graphs, err = sum(ctx, s.problem.Structure, s.Scores(false), s.status)
	}
	return graphs, err
}

// flattened returns the posterior over graphs with evidences raised to a power at which the errors
// of their logarithms are only some nats. Without the power only the nodes and parents in the best
// graph would get pilot runs, and then only the nodes and parents in the next best graph.
func (s *Scores) flattened(ctx gocontext.Context) (*score.Posterior, error) {
	power := math.Min(1, pilotRows/float64(s.problem.Data.Rows()))
	structure, scores := s.problem.Structure, s.Scores(true)
	structure.Prior = structure.Prior.Power(power)
	for i := range scores.LogEvidence {
		scores.LogEvidence[i] *= power
	}
	return score.NewPosterior(ctx, structure, scores, s.status)
}

func (s *Scores) known(f int) bool { return s.exact[f] || len(s.islands[f]) > 0 }

// pick returns the most probable families (nodes with their parents) for which the function kind
// returns true, at most limit of them. With the argument named left, it returns fewer if the
// probabilities of the remaining families of this kind sum to less than left/2, and nil if the
// probabilities of all families of this kind sum to less than left.
func (s *Scores) pick(graphs *score.Posterior, limit int, left float64, kind func(f int) bool) (batch []int) {
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
	slices.SortStableFunc(batch, func(a, b int) int { return cmp.Compare(graphs.Marginals[b], graphs.Marginals[a]) })
	for k, f := range batch[:min(limit, len(batch))] {
		if total -= graphs.Marginals[f]; total < left/2 {
			return batch[:k+1]
		}
	}
	return batch[:min(limit, len(batch))]
}

// worst returns the families (nodes with sets of parents) whose probabilities change most by the
// errors of their evidences. A family that should get several islands (groups of particles) is
// repeated in the list. worst returns nil if no error is large or if all allowed islands have been
// used.
func (s *Scores) worst(graphs *score.Posterior) (batch []int) {
	spread := make([]float64, len(graphs.Marginals))
	var families []int
	for f, share := range graphs.Marginals {
		spread[f] = max(score.Swing(share, graphs.Scores.SE[f]), certainShare*share*graphs.Scores.SE[f])
		if spread[f] > wantedSpread && !s.exact[f] {
			families = append(families, f)
		}
	}
	slices.SortStableFunc(families, func(a, b int) int { return cmp.Compare(spread[b], spread[a]) })
	left := int(cmp.Or(s.Part, 1)*float64(s.most)) - s.spent
	for _, f := range families[:min(len(families), batchFamilies)] {
		level := s.nextLevel(f)
		count := max(len(s.settled(f))/2, firstIslands)
		if settled := s.settled(f); len(settled) > 0 && settled[0].Level < level {
			count = levelCounts
		}
		for range count {
			if left -= islandCost(level); left < 0 {
				return batch
			}
			batch = append(batch, f)
		}
	}
	return batch
}

// doubts returns families (nodes with their parents) with a single pilot run whose probability
// would be substantial if the run was too small by repeatSpread standard errors. Chains of
// particles that stay in a poor mode make the lower tail of the errors heavy.
func (s *Scores) doubts(graphs *score.Posterior) (families []int) {
	for f, share := range graphs.Marginals {
		single := !s.known(f) && !s.repeated[f] && !math.IsNaN(s.pilot[f])
		if single && score.Swing(share, repeatSpread*graphs.Scores.SE[f]) > wantedSpread {
			families = append(families, f)
		}
	}
	return families
}

// repeatPilots makes another pilot run of each family (a node with its parents) and keeps the
// logarithm of the mean of the two evidences. One poor run lowers it by at most log 2.
func (s *Scores) repeatPilots(ctx gocontext.Context, batch []int) error {
	again := make([]float64, len(s.pilot))
	if err := s.runPilotsInto(ctx, again, "repeated pilot", batch); err != nil {
		return err
	}
	s.pilots += len(batch)
	for _, f := range batch {
		s.pilot[f], s.repeated[f] = logsum.Of([]float64{s.pilot[f], again[f]})-math.Ln2, true
	}
	return nil
}

func (s *Scores) runPilots(ctx gocontext.Context, batch []int) error {
	if err := s.runPilotsInto(ctx, s.pilot, "pilot", batch); err != nil {
		return err
	}
	s.pilots += len(batch)
	s.status(fmt.Sprintf("pilot runs of %d of %d families", s.pilots, len(s.problem.Families)))
	return nil
}

// runPilotsInto makes pilot runs of the families (nodes with their parents) in batch and stores
// their log evidences in the slice named to. The argument name selects the random stream.
func (s *Scores) runPilotsInto(ctx gocontext.Context, to []float64, name string, batch []int) error {
	p, l := s.problem, s.problem.Layout()
	pilots, err := s.shareIslands(ctx, name+"s", batch, nil, func(k int) island {
		f := p.Families[batch[k]]
		random := stream.Rand(s.seed, name+"/"+strconv.Itoa(batch[k]))
		sweeps := pilotSweeps
		if s.Listed {
			sweeps += moreSweeps * max(f.Parents.Len()-pilotSize, 0)
		}
		return island{LogEvidence: newNetworkFamily(p, f).temper(random, l, f, pilotChains, sweeps).LogEvidence}
	})
	for k, pilot := range pilots {
		to[batch[k]] = pilot.LogEvidence
	}
	return err
}

func (s *Scores) addIslands(ctx gocontext.Context, batch []int) error {
	fresh := slices.DeleteFunc(slices.Compact(slices.Clone(batch)), func(f int) bool { return len(s.islands[f]) > 0 })
	if err := s.runPilotsInto(ctx, s.second, "second pilot", fresh); err != nil {
		return err
	}
	p, l := s.problem, s.problem.Layout()
	first := make([]int, len(batch))                                  // index of the island in its family
	levels, place := make([]int, len(batch)), make([]int, len(batch)) // place: index in its level
	count := map[int]int{}
	for k, f := range batch {
		levels[k] = s.nextLevel(f)
		for _, one := range s.islands[f] {
			place[k] += int(dgraph.Indicator(one.Level == levels[k]))
		}
		place[k] += count[f]
		first[k] = len(s.islands[f]) + count[f]
		count[f]++
	}
	found, err := s.shareIslands(ctx, "islands", batch, first, func(k int) island {
		f := p.Families[batch[k]]
		random := stream.Rand(s.seed, fmt.Sprintf("island/%d/%d", batch[k], first[k]))
		// Every second island moves twice as long, which shows whether moves are too short.
		chains, sweeps := fineChains, fineSweeps<<(place[k]%2)
		// One long chain is more precise for families with many parents, which a list may have,
		// and two chains for tables with few rows.
		if s.Listed {
			chains, sweeps = 1, fineChains*sweeps
		}
		return newNetworkFamily(p, f).temper(random, l, f, chains, sweeps*islandCost(levels[k]))
	})
	for k, one := range found {
		one.Level = levels[k]
		s.islands[batch[k]] = append(s.islands[batch[k]], one)
		s.spent += islandCost(one.Level)
	}
	s.fine += len(batch)
	s.status(fmt.Sprintf("%s of particles", english.Count(s.fine, "fine island")))
	return err
}

// These constants determine the default number of islands (precise groups of particles). It is
// islandWork divided by the rows, since the work of an island grows with the rows, but at least
// leastIslands and at most mostIslands. It is then multiplied by the number of nodes divided by
// islandNodes, since more sets of parents matter with more nodes.
const (
	islandNodes  = 10
	islandWork   = 1_600_000
	leastIslands = 300
	mostIslands  = 6_000
)
