package rjmcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/backends"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// Run samples the target. The backend evaluates its graphs.
//
// When ctx is cancelled, Run stops after the move in progress and returns the error of ctx (wrapped)
// with the draws so far, nil if burn-in had not ended. It also returns the draws along with an error
// when more than MaxNonFinite of the proposals after burn-in had no finite log density.
func Run(ctx context.Context, backend backends.Backend, target Target, cfg Config) (*Result, error) {
	s, err := newSampler(backend, target, cfg)
	if err != nil {
		return nil, err
	}
	defer s.density.close()
	return s.run(ctx)
}

// population is one state per chain, row-major.
type population struct {
	sites, dim int
	codes      []int32   // [C*S]
	theta      []float64 // [C*D]
	mask       []bool    // [C*D]
	logDensity []float64 // [C]
	// precision [C*D*D] and linear [C*D] are the approximation of each row's model by a QuadraticTarget; else nil.
	precision, linear []float64
}

func newPopulation(chains, sites, dim int) *population {
	return &population{
		sites: sites, dim: dim,
		codes: make([]int32, chains*sites), theta: make([]float64, chains*dim),
		mask: make([]bool, chains*dim), logDensity: make([]float64, chains),
	}
}

func (p *population) row(c int) (code []int32, theta []float64, mask []bool) {
	return p.codes[c*p.sites : (c+1)*p.sites], p.theta[c*p.dim : (c+1)*p.dim], p.mask[c*p.dim : (c+1)*p.dim]
}

func (p *population) copyRow(dst *population, c int) {
	code, theta, mask := dst.row(c)
	fromCode, fromTheta, fromMask := p.row(c)
	copy(code, fromCode)
	copy(theta, fromTheta)
	copy(mask, fromMask)
	dst.logDensity[c] = p.logDensity[c]
	if d := p.dim; p.precision != nil {
		copy(dst.linear[c*d:(c+1)*d], p.linear[c*d:])
		copy(dst.precision[c*d*d:(c+1)*d*d], p.precision[c*d*d:])
	}
}

// sampler is a run in progress.
type sampler struct {
	cfg     Config // resolved
	space   space.Space
	cards   []int
	dim     int
	density *density
	// transfer proposes the values of a chain whose model changes; propagate, but for tests of broken samplers.
	transfer func(w *workspace, c int) float64

	list   list          // the space if its coordinates are those of places in a list; else nil
	mover  space.Mover   // what proposes other models; nil for jumps and swaps of sites
	free   []int         // sites with at least two outcomes
	likes  map[int][]int // sites by number of outcomes, where there are at least two of two outcomes or more
	paired []int         // sites in likes, ascending

	rngs            []*rand.Rand // one per chain
	state, proposal *population
	scale           []int     // step size used by the move in progress, per chain
	moved           []bool    // whether the move in progress exists, per chain
	logChoice       []float64 // log probability of choosing the way back over that of the way forth, per chain
	logRatio        []float64 // what the proposal densities add to the log acceptance ratio, per chain

	workspaces []workspace // one per goroutine

	tuning  Tuning
	adapter *adapter // nil after burn-in
	info    Info
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
	d, err := newDensity(backend, target, cfg.Chains, cfg.DType)
	if err != nil {
		return nil, err
	}
	s := &sampler{
		cfg: cfg, space: sp, cards: cards, dim: dim, density: d,
		likes: map[int][]int{},
		rngs:  make([]*rand.Rand, cfg.Chains),
		state: newPopulation(cfg.Chains, len(cards), dim), proposal: newPopulation(cfg.Chains, len(cards), dim),
		scale: make([]int, cfg.Chains), moved: make([]bool, cfg.Chains),
		logChoice: make([]float64, cfg.Chains), logRatio: make([]float64, cfg.Chains),
		workspaces: make([]workspace, max(1, min(runtime.GOMAXPROCS(0), cfg.Chains/chainsPerGoroutine))),
		tuning:     newTuning(dim, cfg.InitScale),
	}
	s.transfer = s.propagate
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
			p.precision, p.linear = make([]float64, cfg.Chains*dim*dim), make([]float64, cfg.Chains*dim)
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
	s.adapter = newAdapter(&s.tuning, s.dim, s.cfg.BurnIn)
	if s.list != nil {
		s.adapter.items = newItemWeights(s.list.Items(), s.cfg.Weights)
	}
	if s.list != nil || s.density.quadratic != nil {
		s.adapter.fit = nil
	}
	var result *Result
	for t := 1; t <= total; t++ {
		if t == s.cfg.BurnIn+1 {
			s.adapter, s.info = nil, Info{}
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
		if s.adapter != nil {
			if weights := s.adapter.endIteration(t, s.state.mask, s.state.theta); weights != nil {
				if s.mover, err = s.list.WithWeights(weights); err != nil {
					return nil, fmt.Errorf("rjmcmc: weights of items: %w", err)
				}
			}
		} else if (t-s.cfg.BurnIn)%s.cfg.Thin == 0 {
			result.record(s.state)
		}
		if s.cfg.Progress != nil {
			s.cfg.Progress(Progress{Iteration: t, Total: total, BurnIn: t <= s.cfg.BurnIn, LogDensity: mean(s.state.logDensity)})
		}
	}
	if share := s.info.nonFiniteShare(); share > s.cfg.MaxNonFinite {
		return s.finish(result, fmt.Errorf(
			"rjmcmc: %.1f%% of the proposals had a log density that is NaN or +Inf, more than the %.1f%% allowed: the target is not defined everywhere the chains go",
			100*share, 100*s.cfg.MaxNonFinite))
	}
	return s.finish(result, nil)
}

// settling is the share of burn-in without changes of model, in which the chains, spread over models, find the
// place and width of their coordinates. Were they free to leave, they would abandon any coordinate whose posterior
// lies far from its first guess before learning where that is.
const settling = 0.25

// schedule is the number of moves of each kind in iteration t. Settling chains walk instead of changing
// model: walks are what the quadratic approximation is fitted to.
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
		result.Tuning = s.tuning
	}
	return result, err
}

// chainsPerGoroutine is the least number of chains worth a goroutine.
const chainsPerGoroutine = 32

// eachChain calls f for every chain, from several goroutines. What f does with a chain must touch no other.
func (s *sampler) eachChain(f func(w *workspace, c int)) {
	workers := len(s.workspaces)
	var wait sync.WaitGroup
	for i := range s.workspaces {
		wait.Go(func() {
			for c := i * s.cfg.Chains / workers; c < (i+1)*s.cfg.Chains/workers; c++ {
				f(&s.workspaces[i], c)
			}
		})
	}
	wait.Wait()
}

// propose fills the proposal of every chain with a move from its state.
func (s *sampler) propose(move Move) error {
	changesModel := move == Jump || move == Swap
	s.eachChain(func(w *workspace, c int) {
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
	s.eachChain(func(w *workspace, c int) {
		if s.moved[c] {
			s.logRatio[c] = s.transfer(w, c)
		}
	})
	return nil
}

// step makes one move in every chain.
func (s *sampler) step(move Move) error {
	if err := s.propose(move); err != nil {
		return err
	}
	if err := s.density.eval(s.proposal.codes, s.proposal.mask, s.proposal.theta, s.proposal.logDensity); err != nil {
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
		s.info.Proposed[kind]++
		change := s.proposal.logDensity[c] - s.state.logDensity[c]
		if math.IsNaN(change) || math.IsInf(change, 1) {
			s.info.NonFinite++
			change = math.Inf(-1)
		}
		logRatio := change + s.logRatio[c] + s.logChoice[c]
		if s.adapter != nil {
			s.adapt(move, c, change)
		}
		if -rng.ExpFloat64() < logRatio {
			s.info.Accepted[kind]++
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
func (s *sampler) adapt(move Move, c int, change float64) {
	switch move {
	case Jump:
		if s.adapter.items != nil {
			from, _, _ := s.state.row(c)
			to, _, _ := s.proposal.row(c)
			s.adapter.items.observe(s.list.Set(from), s.list.Set(to), change+s.logRatio[c])
		}
	case Walk:
		j := s.scale[c]
		s.adapter.walks.add(j, math.Exp(min(0, change)))
		if s.adapter.fit != nil {
			_, from, mask := s.state.row(c)
			_, to, _ := s.proposal.row(c)
			s.adapter.fit.observe(j, mask, from, to[j]-from[j], change)
		}
	case Joint:
		s.adapter.joints.add(s.scale[c], math.Exp(min(0, change)))
	}
}

// Starting points.
const (
	startTries = 100
	// startSites is the number of sites up to which starts range from sparse to dense. In larger spaces they thin out, to
	// at most startSites²/S sites: a start with many wrong predictors explains the data by accident,
	// and no step that keeps most of them leads out.
	startSites = 16
)

// initialise draws starting points until every chain has a finite log density. The chains start
// spread from sparse to dense: each moves its sites off outcome 0 with a probability of its own.
// Retries shrink the values towards 0 and the models towards outcome 0.
func (s *sampler) initialise() error {
	sparsity := min(1, startSites/float64(len(s.cards)))
	pending := make([]int, s.cfg.Chains)
	for c := range pending {
		pending[c] = c
	}
	shrink := 1.0
	for try := range startTries {
		for _, c := range pending {
			rng := s.rngs[c]
			code, theta, _ := s.proposal.row(c)
			s.startModel(rng, c, sparsity*sparsity*shrink, code)
			for j := range theta {
				theta[j] = s.density.round(s.cfg.InitScale * shrink * rng.NormFloat64())
			}
		}
		if err := s.density.masks(s.proposal.codes, s.proposal.mask); err != nil {
			return err
		}
		for i, on := range s.proposal.mask {
			if !on {
				s.proposal.theta[i] = 0
			}
		}
		if err := s.density.quadratics(s.proposal); err != nil {
			return err
		}
		if s.density.quadratic != nil && try == 0 {
			s.eachChain(s.startValues)
		}
		if err := s.density.eval(s.proposal.codes, s.proposal.mask, s.proposal.theta, s.proposal.logDensity); err != nil {
			return err
		}
		pending = slices.DeleteFunc(pending, func(c int) bool {
			l := s.proposal.logDensity[c]
			return !math.IsNaN(l) && !math.IsInf(l, 0)
		})
		if len(pending) == 0 {
			for c := range s.cfg.Chains {
				s.proposal.copyRow(s.state, c)
			}
			return nil
		}
		shrink *= 0.9
	}
	c := pending[0]
	code, _, _ := s.proposal.row(c)
	return fmt.Errorf("rjmcmc: no start with a finite log density for %d of %d chains in %d tries; chain %d has %g at codes %v: check the target, or set InitScale to the scale of its parameters",
		len(pending), s.cfg.Chains, startTries, c, s.proposal.logDensity[c], code)
}

// startModel writes the model in which chain c starts: that of Config.Starts, or one drawn with up to the given share of sites off outcome 0.
func (s *sampler) startModel(rng *rand.Rand, c int, share float64, code []int32) {
	if len(s.cfg.Starts) > 0 {
		copy(code, s.cfg.Starts[c%len(s.cfg.Starts)])
		return
	}
	dense := rng.Float64() * share
	if s.list != nil {
		var set []int32
		for len(set) < s.list.Slots() && rng.Float64() < dense {
			if item := int32(rng.IntN(s.list.Items())); !slices.Contains(set, item) {
				set = append(set, item)
			}
		}
		s.list.Code(set, code)
		return
	}
	for site := range code {
		code[site] = 0
		if rng.Float64() < dense {
			code[site] = int32(rng.IntN(s.cards[site]))
		}
	}
}

// startValues draws the values of row c from the approximation of a QuadraticTarget, where there is one: three times as wide.
func (s *sampler) startValues(w *workspace, c int) {
	w.reset()
	_, theta, mask := s.proposal.row(c)
	active := w.kept[:0]
	for j, on := range mask {
		if on {
			active = append(active, j)
		}
	}
	w.kept = active
	st, ok := s.proposal.standard(w, c, active)
	if !ok {
		return
	}
	u := w.take(len(active))
	for a := range u {
		u[a] = 3 * s.rngs[c].NormFloat64()
	}
	st.fromStandard(u)
	for a, j := range active {
		theta[j] = s.density.round(u[a])
	}
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
