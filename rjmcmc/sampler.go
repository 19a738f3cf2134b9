package rjmcmc

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/backends"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// sampler is a run in progress.
type sampler struct {
	cfg     Config // with defaults filled in
	cards   []int
	dim     int
	density *density
	// transfer proposes the values of a chain whose model changes. It is the method propagate,
	// except in tests that break the sampler on purpose.
	transfer func(w *workspace, c int) float64
	// logExchange returns the log acceptance ratio of an exchange. It is the method tiltRatio,
	// except in tests that break the sampler.
	logExchange func(cold, hot int) float64

	list  list        // the space if its coordinates are places in a list; else nil
	mover space.Mover // proposes other models; nil for jumps and swaps of sites
	free  []int       // sites with two or more outcomes
	// likes lists the sites with two or more outcomes, by their number of outcomes.
	likes  map[int][]int
	paired []int // sites with two or more outcomes for which another site has the same number of outcomes, ascending

	rows            int          // R, chains times temperatures
	sources         []*rand.PCG  // the state of rngs
	rngs            []*rand.Rand // one per row
	state, proposal *population
	scale           []int  // index of the scale of the step in progress, per row
	moved           []bool // whether the move in progress is possible, per row
	// atStart reports whether the state is a starting point whose values no move has changed yet,
	// per row.
	atStart []bool
	// logChoice is the log ratio of the proposal probabilities of the reverse change of model and
	// of this change, per row.
	logChoice []float64
	// logRatio is the term of the proposal densities in the log acceptance ratio, per row.
	logRatio []float64
	// change is the change of the log density, −Inf where it is NaN or +Inf; accepted reports
	// whether the proposal is accepted; per row.
	change           []float64
	finite, accepted []bool

	blocks     []block
	workspaces []workspace // one per goroutine, at most one per block

	rungs []rung // proposals by temperature, the posterior first
	*ladder
	weights []float64 // proposal weights of items; nil for the weights of the space
	info    Info

	iteration int                  // number of the iteration in progress, from 1
	made      int                  // number of moves already made in the iteration
	further   int                  // number of iterations that Config.Further has added
	result    *Result              // nil during burn-in
	enough    bool                 // whether Config.Enough has ended the run
	saver     *checkpoint.Schedule // nil without a file
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
	_, quadratics := target.(QuadraticTarget)
	if err := cfg.checkSize(len(cards), dim, quadratics); err != nil {
		return nil, err
	}
	rows := cfg.Chains * cfg.Temperatures
	d, err := newDensity(backend, target)
	if err != nil {
		return nil, err
	}
	l := newLadder(cfg, dim)
	s := &sampler{
		cfg: cfg, cards: cards, dim: dim, density: d, rows: rows, ladder: l, rungs: make([]rung, cfg.Temperatures),
		likes:   map[int][]int{},
		sources: make([]*rand.PCG, rows), rngs: make([]*rand.Rand, rows),
		state: newPopulation(rows, len(cards), dim, l), proposal: newPopulation(rows, len(cards), dim, l),
		scale: make([]int, rows), moved: make([]bool, rows), atStart: make([]bool, rows),
		logChoice: make([]float64, rows), logRatio: make([]float64, rows), change: make([]float64, rows),
		finite: make([]bool, rows), accepted: make([]bool, rows),
	}
	if s.blocks, err = newBlocks(backend, rows, len(cards), dim); err != nil {
		return nil, err
	}
	if d.host != nil {
		for i := range s.blocks {
			s.blocks[i].host = d.host.HostDensity(s.blocks[i].last - s.blocks[i].first)
		}
	}
	s.workspaces = make([]workspace, len(s.blocks))
	s.transfer, s.logExchange = s.propagate, s.tiltRatio
	for c := range s.rngs {
		s.sources[c] = stream.Source(cfg.Seed, fmt.Sprintf("rjmcmc/%d", c))
		s.rngs[c] = rand.New(s.sources[c])
	}
	s.sortSites()
	s.mover, _ = sp.(space.Mover)
	s.list, _ = sp.(list)
	if len(s.paired) == 0 || s.mover != nil {
		s.cfg.Swaps = 0
	}
	if err := s.prepareModels(backend); err != nil {
		return nil, err
	}
	s.beginAdapting()
	return s, nil
}

// sortSites finds the sites that jumps may change, with more than one outcome. Swaps may change the
// sites among these for which another site has the same number of outcomes.
func (s *sampler) sortSites() {
	for site, card := range s.cards {
		if card > 1 {
			s.free = append(s.free, site)
			s.likes[card] = append(s.likes[card], site)
		}
	}
	s.paired = apply.Keep(s.free, func(site int) bool { return len(s.likes[s.cards[site]]) > 1 })
}

// prepareModels allocates the store of results by model if there are few models. With a
// QuadraticTarget it then also computes the quadratic approximation of the log density of every
// model. If there are many models, it allocates memory for one such approximation for each chain at
// each temperature.
func (s *sampler) prepareModels(backend backends.Backend) error {
	small := remembers(s.cards, s.dim, s.cfg.Temperatures, s.list != nil)
	for i := range s.rungs {
		if small {
			s.rungs[i].remembered = newRemembered(s.cards, s.dim)
		}
	}
	switch {
	case s.density.quadratic != nil && small:
		models, err := newApproximations(backend, s.density, s.cards, s.dim)
		if err != nil {
			return err
		}
		s.state.models, s.proposal.models = models, models
	case s.density.quadratic != nil:
		for _, p := range []*population{s.state, s.proposal} {
			p.precision, p.linear = make([]float64, s.rows*s.dim*s.dim), make([]float64, s.rows*s.dim)
		}
	}
	return nil
}

func (s *sampler) beginAdapting() {
	for i := range s.rungs {
		r := &s.rungs[i]
		r.tuning = newTuning(s.dim)
		r.adapter = newAdapter(&r.tuning, s.dim, s.cfg.BurnIn)
		if s.list != nil && i == 0 {
			r.adapter.items = newItemWeights(s.list.Items(), nil)
		}
		if s.list != nil || s.density.quadratic != nil {
			r.adapter.fit = nil
		}
	}
}

// proposeBy sets the proposal weights of new members of lists.
func (s *sampler) proposeBy(weights []float64) error {
	mover, err := s.list.WithWeights(weights)
	if err != nil {
		return fmt.Errorf("rjmcmc: weights of items: %w", err)
	}
	s.weights, s.mover = weights, mover
	return nil
}

// rung holds the tuning of the proposals at one temperature.
type rung struct {
	tuning  Tuning
	adapter *adapter // nil after burn-in
	// remembered stores results by model; it is nil if there are too many models, and on lists.
	remembered *remembered
}

func (s *sampler) rung(row int) *rung { return &s.rungs[row/s.cfg.Chains] }

// propose writes the proposals of a move, starting from the states of a block.
func (s *sampler) propose(w *workspace, b *block, move Move) error {
	changesModel := move == Jump || move == Swap
	for c := b.first; c < b.last; c++ {
		s.state.copyRow(s.proposal, c)
		s.logChoice[c], s.logRatio[c] = 0, 0
		if changesModel {
			s.moved[c] = s.proposeCodes(w, move, c)
		} else {
			s.scale[c], s.moved[c] = s.proposeStep(w, move, c)
		}
	}
	if !changesModel {
		return nil
	}
	if err := s.density.masks(s.proposal, b); err != nil {
		return err
	}
	if s.proposal.models == nil {
		if err := s.density.quadratics(s.proposal, b); err != nil {
			return err
		}
	}
	for c := b.first; c < b.last; c++ {
		if s.moved[c] {
			s.logRatio[c] = s.transfer(w, c)
		}
	}
	return nil
}

// step makes one move in every row, and adapts the tuning during burn-in.
func (s *sampler) step(move Move) error {
	if err := s.eachBlock(func(w *workspace, b *block) error { return s.try(w, b, move) }); err != nil {
		return err
	}
	for c, moved := range s.moved {
		if adapter := s.rung(c).adapter; moved && adapter != nil {
			s.adapt(adapter, move, c, s.change[c])
		}
	}
	return s.eachBlock(func(_ *workspace, b *block) error {
		s.accept(b, move)
		return nil
	})
}

// steps makes several moves in every row, after burn-in.
func (s *sampler) steps(moves []Move) error {
	err := s.eachBlock(func(w *workspace, b *block) error {
		for _, move := range moves {
			if err := s.try(w, b, move); err != nil {
				return err
			}
			for c := b.first; c < min(b.last, s.cfg.Chains); c++ {
				if s.moved[c] {
					s.count(&w.info, move, c)
				}
			}
			s.accept(b, move)
		}
		return nil
	})
	for i := range s.workspaces {
		s.info.add(&s.workspaces[i].info)
		s.workspaces[i].info = Info{}
	}
	return err
}

// try proposes a move in every row of a block and decides on acceptance.
func (s *sampler) try(w *workspace, b *block, move Move) error {
	if err := s.propose(w, b, move); err != nil {
		return err
	}
	if err := s.evaluate(s.proposal, b); err != nil {
		return err
	}
	for c := b.first; c < b.last; c++ {
		change := s.proposal.logDensity[c] - s.state.logDensity[c]
		s.finite[c] = !math.IsNaN(change) && !math.IsInf(change, 1)
		if !s.finite[c] {
			change = math.Inf(-1)
		}
		s.change[c] = change
		s.accepted[c] = s.moved[c] && -s.rngs[c].ExpFloat64() < change+s.logRatio[c]+s.logChoice[c]
	}
	return nil
}

func (s *sampler) accept(b *block, move Move) {
	for c := b.first; c < b.last; c++ {
		if !s.accepted[c] {
			continue
		}
		s.proposal.copyRow(s.state, c)
		if move == Jump || move == Swap {
			s.proposal.copyApproximation(s.state, c)
		}
		s.atStart[c] = false
	}
}

// count adds the proposal of chain c, a chain that samples the posterior, to the counts. On lists a
// Jump that keeps the number of items counts as a Swap.
func (s *sampler) count(info *Info, move Move, c int) {
	if move == Jump && s.list != nil && s.size(s.proposal, c) == s.size(s.state, c) {
		move = Swap
	}
	info.Proposed[move]++
	if s.accepted[c] {
		info.Accepted[move]++
	}
	if !s.finite[c] {
		info.NonFinite++
	}
}

func (s *sampler) size(p *population, c int) int {
	code, _, _ := p.row(c)
	return len(s.list.Set(code))
}

func (s *sampler) adapt(adapter *adapter, move Move, c int, change float64) {
	if move != Jump && s.ladder.inverseTemperature(c) == 0 {
		return // values drawn from g are not random walk steps, and tune nothing
	}
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
