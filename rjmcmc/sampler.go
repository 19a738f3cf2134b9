package rjmcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/gomlx/gomlx/backends"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// Run samples the target. The backend evaluates its graphs.
//
// When ctx is cancelled, Run stops after the move in progress and returns the error of ctx
// (wrapped) with the draws so far, nil if burn-in had not ended. It also returns the draws along
// with an error when more than MaxNonFinite of the proposals after burn-in had no finite log
// density.
func Run(ctx context.Context, backend backends.Backend, target Target, cfg Config) (*Result, error) {
	s, err := newSampler(backend, target, cfg)
	if err != nil {
		return nil, err
	}
	defer s.density.close()
	return s.run(ctx)
}

// sampler is a run in progress.
type sampler struct {
	cfg     Config // resolved
	space   space.Space
	cards   []int
	dim     int
	density *density
	// transfer proposes the values of a chain whose model changes; propagate, but for tests of
	// broken samplers.
	transfer func(w *workspace, c int) float64
	// logExchange is the log acceptance ratio of an exchange; tiltRatio, but for such tests.
	logExchange func(cold, hot int) float64

	list  list        // the space if its coordinates are those of places in a list; else nil
	mover space.Mover // what proposes other models; nil for jumps and swaps of sites
	free  []int       // sites with at least two outcomes
	// sites by number of outcomes, where there are at least two of two outcomes or more
	likes  map[int][]int
	paired []int // sites in likes, ascending

	rows            int          // R, chains times temperatures
	rngs            []*rand.Rand // one per row
	state, proposal *population
	scale           []int  // step size used by the move in progress, per row
	moved           []bool // whether the move in progress exists, per row
	// log probability of choosing the way back over that of the way forth, per row
	logChoice []float64
	// what the proposal densities add to the log acceptance ratio, per row
	logRatio []float64

	workspaces []workspace // one per goroutine

	rungs []rung // by temperature, the posterior first
	*ladder
	info Info
}

func newSampler(backend backends.Backend, target Target, cfg Config) (*sampler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	sp := target.Space()
	cards, dim := sp.Cards(), sp.Dim()
	if err := space.CheckCards(cards); err != nil {
		return nil, fmt.Errorf("rjmcmc: %w", err)
	}
	if err := cfg.fits(sp); err != nil {
		return nil, err
	}
	if _, lists := sp.(list); lists && cfg.Jumps == 0 {
		cfg.Jumps = DefaultListJumps
	}
	cfg = cfg.withDefaults(dim)
	rows := cfg.Chains * cfg.Temperatures
	d, err := newDensity(backend, target, rows, cfg.DType)
	if err != nil {
		return nil, err
	}
	l := newLadder(cfg, dim)
	s := &sampler{
		cfg: cfg, space: sp, cards: cards, dim: dim, density: d, rows: rows, ladder: l, rungs: make([]rung, cfg.Temperatures),
		likes: map[int][]int{},
		rngs:  make([]*rand.Rand, rows),
		state: newPopulation(rows, len(cards), dim, l), proposal: newPopulation(rows, len(cards), dim, l),
		scale: make([]int, rows), moved: make([]bool, rows),
		logChoice: make([]float64, rows), logRatio: make([]float64, rows),
		workspaces: make([]workspace, max(1, min(runtime.GOMAXPROCS(0), rows/chainsPerGoroutine))),
	}
	for i := range s.rungs {
		s.rungs[i].tuning = newTuning(dim, cfg.InitScale)
	}
	s.transfer, s.logExchange = s.propagate, s.tiltRatio
	for c := range s.rngs {
		s.rngs[c] = stream.Rand(cfg.Seed, fmt.Sprintf("rjmcmc/%d", c))
	}
	for site, card := range cards {
		if card > 1 {
			s.free = append(s.free, site)
			s.likes[card] = append(s.likes[card], site)
		}
	}
	for _, site := range s.free {
		if len(s.likes[cards[site]]) > 1 {
			s.paired = append(s.paired, site)
		}
	}
	s.mover, _ = sp.(space.Mover)
	s.list, _ = sp.(list)
	if len(s.paired) == 0 || s.mover != nil {
		s.cfg.Swaps = 0
	}
	if d.quadratic != nil {
		for _, p := range []*population{s.state, s.proposal} {
			p.precision, p.linear = make([]float64, rows*dim*dim), make([]float64, rows*dim)
		}
	}
	if s.list != nil && cfg.Weights != nil {
		if s.mover, err = s.list.WithWeights(newItemWeights(s.list.Items(), cfg.Weights).renew()); err != nil {
			return nil, fmt.Errorf("rjmcmc: Weights: %w", err)
		}
	}
	return s, nil
}

func (s *sampler) run(ctx context.Context) (*Result, error) {
	err := s.initialise()
	if err != nil {
		return nil, err
	}
	total := s.cfg.BurnIn + s.cfg.Iterations
	for i := range s.rungs {
		r := &s.rungs[i]
		r.adapter = newAdapter(&r.tuning, s.dim, s.cfg.BurnIn)
		if s.list != nil && i == 0 {
			r.adapter.items = newItemWeights(s.list.Items(), s.cfg.Weights)
		}
		if s.list != nil || s.density.quadratic != nil {
			r.adapter.fit = nil
		}
	}
	var result *Result
	for t := 1; t <= total; t++ {
		if t == s.cfg.BurnIn+1 {
			for i := range s.rungs {
				s.rungs[i].adapter = nil
			}
			s.info = Info{}
			s.ladder.restart()
			result = newResult(s)
		}
		for move, times := range s.schedule(t) {
			for range times {
				if err := ctx.Err(); err != nil {
					return s.finish(result, fmt.Errorf("rjmcmc: stopped in iteration %d of %d: %w", t, total, err))
				}
				if err := s.step(Move(move)); err != nil {
					return s.finish(result, err)
				}
			}
		}
		s.exchange(t)
		if s.rungs[0].adapter != nil {
			if err := s.endBurnIn(t); err != nil {
				return nil, err
			}
		} else if (t-s.cfg.BurnIn)%s.cfg.Thin == 0 {
			result.record(s.state)
		}
		enough := false
		if done := t - s.cfg.BurnIn; s.cfg.Enough != nil && done > 0 && done%max(s.cfg.Iterations/checks, 1) == 0 && result.Draws() > 0 {
			enough = s.cfg.Enough(result)
		}
		if s.cfg.Progress != nil {
			s.cfg.Progress(Progress{Iteration: t, Total: total, BurnIn: t <= s.cfg.BurnIn, LogDensity: mean(s.state.logDensity[:s.cfg.Chains])})
		}
		if enough {
			break
		}
	}
	if share := s.info.nonFiniteShare(); share > s.cfg.MaxNonFinite {
		return s.finish(result, fmt.Errorf(
			"rjmcmc: %.1f%% of the proposals had a log density that is NaN or +Inf, more than the %.1f%% allowed: the target is not defined everywhere the chains go",
			100*share, 100*s.cfg.MaxNonFinite))
	}
	return s.finish(result, nil)
}

// checks is how often a run asks whether it has enough draws.
const checks = 16

// endBurnIn lets every rung learn from burn-in iteration t, and the ladder from all of them.
func (s *sampler) endBurnIn(t int) error {
	renewed := false
	for i := range s.rungs {
		adapter := s.rungs[i].adapter
		first, last := i*s.cfg.Chains*s.dim, (i+1)*s.cfg.Chains*s.dim
		renews := adapter.renews(t)
		weights := adapter.endIteration(t, s.state.mask[first:last], s.state.theta[first:last])
		if weights != nil {
			mover, err := s.list.WithWeights(weights)
			if err != nil {
				return fmt.Errorf("rjmcmc: weights of items: %w", err)
			}
			s.mover = mover
		}
		renewed = renewed || renews
	}
	if renewed && len(s.rungs) > 1 {
		s.ladder.renew(&s.rungs[0].tuning)
		return s.evaluate(s.state)
	}
	return nil
}

// settling is the share of burn-in without changes of model, in which the chains, spread over
// models, find the place and width of their coordinates. Were they free to leave, they would
// abandon any coordinate whose posterior lies far from its first guess before learning where that
// is.
const settling = 0.25

// schedule is the number of moves of each kind in iteration t. Settling chains walk instead of
// changing model: walks are what the quadratic approximation is fitted to.
func (s *sampler) schedule(t int) [numMoves]int {
	moves := [numMoves]int{Jump: s.cfg.Jumps, Swap: s.cfg.Swaps, Walk: s.cfg.Walks, Joint: s.cfg.Joints}
	if moves[Walk] > 0 && float64(t) <= settling*float64(s.cfg.BurnIn) {
		moves[Walk] += moves[Jump] + moves[Swap]
		moves[Jump], moves[Swap] = 0, 0
	}
	return moves
}

func (s *sampler) finish(result *Result, err error) (*Result, error) {
	if result != nil {
		result.Info = s.info
		result.Info.Exchanges, result.Info.RoundTrips = s.ladder.report()
		result.Tuning = s.rungs[0].tuning
	}
	return result, err
}

// rung is what is special to one temperature.
type rung struct {
	tuning  Tuning
	adapter *adapter // nil after burn-in
}

// rung of a row.
func (s *sampler) rung(row int) *rung { return &s.rungs[row/s.cfg.Chains] }

// chainsPerGoroutine is the least number of rows worth a goroutine.
const chainsPerGoroutine = 32

// eachRow calls f for every row, from several goroutines. What f does with a row must touch no
// other.
func (s *sampler) eachRow(f func(w *workspace, c int)) {
	workers := len(s.workspaces)
	var wait sync.WaitGroup
	for i := range s.workspaces {
		wait.Go(func() {
			for c := i * s.rows / workers; c < (i+1)*s.rows/workers; c++ {
				f(&s.workspaces[i], c)
			}
		})
	}
	wait.Wait()
}

// propose fills the proposal of every row with a move from its state.
func (s *sampler) propose(move Move) error {
	changesModel := move == Jump || move == Swap
	s.eachRow(func(w *workspace, c int) {
		s.state.copyRow(s.proposal, c)
		s.logChoice[c], s.logRatio[c] = 0, 0
		if changesModel {
			s.moved[c] = s.proposeCodes(w, move, c)
		} else {
			s.scale[c], s.moved[c] = s.proposeStep(w, move, c)
		}
	})
	if !changesModel {
		return nil
	}
	if err := s.density.masks(s.proposal.codes, s.proposal.mask); err != nil {
		return err
	}
	if err := s.density.quadratics(s.proposal); err != nil {
		return err
	}
	s.eachRow(func(w *workspace, c int) {
		if s.moved[c] {
			s.logRatio[c] = s.transfer(w, c)
		}
	})
	return nil
}

// step makes one move in every row.
func (s *sampler) step(move Move) error {
	if err := s.propose(move); err != nil {
		return err
	}
	if err := s.evaluate(s.proposal); err != nil {
		return err
	}
	for c, rng := range s.rngs {
		if !s.moved[c] {
			continue
		}
		kind := move
		if move == Jump && s.list != nil && s.size(s.proposal, c) == s.size(s.state, c) {
			kind = Swap
		}
		posterior := c < s.cfg.Chains
		if posterior {
			s.info.Proposed[kind]++
		}
		change := s.proposal.logDensity[c] - s.state.logDensity[c]
		if math.IsNaN(change) || math.IsInf(change, 1) {
			if posterior {
				s.info.NonFinite++
			}
			change = math.Inf(-1)
		}
		logRatio := change + s.logRatio[c] + s.logChoice[c]
		if adapter := s.rung(c).adapter; adapter != nil {
			s.adapt(adapter, move, c, change)
		}
		if -rng.ExpFloat64() < logRatio {
			if posterior {
				s.info.Accepted[kind]++
			}
			s.proposal.copyRow(s.state, c)
		}
	}
	return nil
}

// size is the number of members of the list in row c.
func (s *sampler) size(p *population, c int) int {
	code, _, _ := p.row(c)
	return len(s.list.Set(code))
}

// adapt lets burn-in learn from a step within a model.
func (s *sampler) adapt(adapter *adapter, move Move, c int, change float64) {
	switch move {
	case Jump:
		if adapter.items != nil {
			from, _, _ := s.state.row(c)
			to, _, _ := s.proposal.row(c)
			adapter.items.observe(s.list.Set(from), s.list.Set(to), change+s.logRatio[c])
		}
	case Walk:
		j := s.scale[c]
		adapter.walks.add(j, math.Exp(min(0, change)))
		if adapter.fit != nil {
			_, from, mask := s.state.row(c)
			_, to, _ := s.proposal.row(c)
			adapter.fit.observe(j, mask, from, to[j]-from[j], change)
		}
	case Joint:
		adapter.joints.add(s.scale[c], math.Exp(min(0, change)))
	}
}
