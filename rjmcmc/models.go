package rjmcmc

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// ModelsConfig configures chains over sets of items, each set a model m. The mass p(m) Z_m of a
// set, with the evidence Z_m, is exact, or an estimate that never changes (pseudo-marginal
// sampling, Andrieu and Roberts 2009). Zeros stand for defaults.
type ModelsConfig struct {
	// Items is the number of items. Slots is the largest number of items in a set; 0 stands for
	// Items.
	Items, Slots int
	// LogMasses returns log p(m) and log Z_m of sets, each up to a constant. The items of each set
	// ascend. If log p(m) is −Inf, log Z_m is ignored.
	LogMasses func(ctx context.Context, sets [][]int32) (logPriors, logEvidences []float64, err error)
	// Weights are the first proposal weights of items, which burn-in replaces; nil means equal
	// weights.
	Weights []float64
	// Together lists sets of items that have an effect only together. Some proposals add or remove
	// a whole set, or exchange one set for another. Items of a set ascend.
	Together [][]int32
	// Starts are the sets in which chains start, one for each chain.
	Starts [][]int32
	// Powers are the powers of the evidence at the temperatures, in descending order; the first is
	// 1, the posterior. nil stands for 1, 0.65 and 0.4. The power applies to the evidence but not
	// to the prior: with thousands of items the prior keeps sets small. With a tempered prior, sets
	// at high temperatures would be too large to be exchanged with sets at lower temperatures.
	Powers []float64
	// BurnIn is the number of iterations dropped; 0 stands for DefaultModelBurnIn.
	BurnIn int
	// Seed is the seed of all random numbers.
	Seed uint64
}

// DefaultModelBurnIn is the default number of dropped iterations. Half or twice this number gives
// the same answers (docs/benchmarks/constants.md).
const DefaultModelBurnIn = 200

// renewals is the number of times that burn-in renews the proposal weights of items. Half or twice
// this number gives the same answers (docs/benchmarks/constants.md).
const renewals = 6

// Models holds tempered chains over sets of items.
type Models struct {
	cfg    ModelsConfig
	lists  *space.Lists
	chains int
	rows   []modelRow // [temperatures*chains], the chains at power 1 first
	items  *itemWeights
	random *rand.Rand // random numbers of exchanges
	done   int        // iterations so far

	// Sets are the draws at power 1 after burn-in, ordered by iteration, then by chain.
	Sets [][]int32
}

// modelRow is the state of one chain at one temperature.
type modelRow struct {
	code                  []int32 // the set as a code of space.Lists
	logPrior, logEvidence float64
	random                *rand.Rand
}

// NewModels starts chains. It returns an error if the mass of a starting set is zero.
func NewModels(ctx context.Context, cfg ModelsConfig) (*Models, error) {
	cfg.Slots = cmp.Or(cfg.Slots, cfg.Items)
	if cfg.Powers == nil {
		// Powers of about half or twice the size give the same answers
		// (docs/benchmarks/constants.md).
		cfg.Powers = []float64{1, 0.65, 0.4}
	}
	cfg.BurnIn = cmp.Or(cfg.BurnIn, DefaultModelBurnIn)
	if len(cfg.Starts) == 0 || len(cfg.Powers) == 0 {
		return nil, fmt.Errorf("rjmcmc: got %d starts of chains and %d powers, want at least one of each", len(cfg.Starts), len(cfg.Powers))
	}
	for _, set := range cfg.Together {
		for k, item := range set {
			if item < 0 || int(item) >= cfg.Items || k > 0 && item <= set[k-1] {
				return nil, fmt.Errorf("rjmcmc: items that move together: got %v, want ascending numbers below %d", set, cfg.Items)
			}
		}
	}
	lists, err := space.NewLists(slices.Repeat([]int{1}, cfg.Items), cfg.Slots, 0)
	if err != nil {
		return nil, err
	}
	m := &Models{cfg: cfg, chains: len(cfg.Starts), items: newItemWeights(cfg.Items, cfg.Weights), random: stream.Rand(cfg.Seed, "rjmcmc/models/exchange")}
	priors, evidences, err := cfg.LogMasses(ctx, cfg.Starts)
	if err != nil {
		return nil, err
	}
	for range cfg.Powers {
		for chain, set := range cfg.Starts {
			if mass := priors[chain] + evidences[chain]; math.IsInf(mass, -1) || math.IsNaN(mass) {
				return nil, fmt.Errorf("rjmcmc: the start of chain %d, %v, has no mass", chain, set)
			}
			random := stream.Rand(cfg.Seed, fmt.Sprintf("rjmcmc/models/%d", len(m.rows)))
			m.rows = append(m.rows, modelRow{lists.Code(set, nil), priors[chain], evidences[chain], random})
		}
	}
	if m.lists, err = lists.WithWeights(m.items.renew()); err != nil {
		return nil, err
	}
	return m, nil
}

// Chains returns the number of chains.
func (m *Models) Chains() int { return m.chains }

// Weights returns the proposal weights of items: about their inclusion probabilities, up to a
// constant.
func (m *Models) Weights() []float64 { return m.items.inclusion }

// Run makes further iterations. In each, every copy of every chain proposes to add, remove or
// exchange an item, and neighbouring temperatures propose to exchange their states.
func (m *Models) Run(ctx context.Context, iterations int) error {
	unused := make([]float64, m.lists.Dim())
	proposals, logRatio, together := make([][]int32, len(m.rows)), make([]float64, len(m.rows)), make([]bool, len(m.rows))
	for range iterations {
		sets := make([][]int32, len(m.rows))
		for i := range m.rows {
			row := &m.rows[i]
			if together[i] = len(m.cfg.Together) > 0 && row.random.Float64() < togetherShare; together[i] {
				proposals[i], logRatio[i] = m.moveTogether(row)
			} else {
				proposals[i] = slices.Clone(row.code)
				logRatio[i] = m.lists.Move(row.random, proposals[i], unused)
			}
			sets[i] = m.lists.Set(proposals[i])
		}
		priors, evidences, err := m.cfg.LogMasses(ctx, sets)
		if err != nil {
			return err
		}
		for i := range m.rows {
			row := &m.rows[i]
			if math.IsInf(logRatio[i], -1) {
				continue
			}
			ofPrior, ofEvidence := priors[i]-row.logPrior, evidences[i]-row.logEvidence
			if math.IsInf(ofPrior, -1) {
				ofEvidence = 0
			}
			if m.done < m.cfg.BurnIn && i < m.chains && !together[i] {
				m.items.observe(m.lists.Set(row.code), sets[i], ofPrior+ofEvidence)
			}
			if -row.random.ExpFloat64() < ofPrior+m.cfg.Powers[i/m.chains]*ofEvidence+logRatio[i] {
				row.code, row.logPrior, row.logEvidence = proposals[i], priors[i], evidences[i]
			}
		}
		m.exchange()
		if err := m.endIteration(); err != nil {
			return err
		}
	}
	return nil
}

// EndBurnIn ends burn-in, so that the next iterations are kept.
func (m *Models) EndBurnIn() { m.cfg.BurnIn = min(m.cfg.BurnIn, m.done) }

// togetherShare is the share of the proposals that change whole sets of items
// (ModelsConfig.Together), if there are sets. Half or twice this share gives the same answers
// (docs/benchmarks/constants.md).
const togetherShare = 0.25

// moveTogether proposes to add or remove a set in Together, or to exchange one set for another. If
// the move is impossible, it returns the present model with log ratio −Inf.
func (m *Models) moveTogether(row *modelRow) (code []int32, logRatio float64) {
	set := slices.Clone(m.lists.Set(row.code))
	has := func(items []int32) (all, none bool) {
		all, none = true, true
		for _, item := range items {
			in := slices.Contains(set, item)
			all, none = all && in, none && !in
		}
		return all, none
	}
	toggle := func(items []int32) {
		for _, item := range items {
			if at, in := slices.BinarySearch(set, item); in {
				set = slices.Delete(set, at, at+1)
			} else {
				set = slices.Insert(set, at, item)
			}
		}
	}
	drawn := func() []int32 { return m.cfg.Together[row.random.IntN(len(m.cfg.Together))] }
	one, other := drawn(), drawn()
	all, none := has(one)
	possible := all || none
	if row.random.IntN(2) == 0 { // exchange one set for another
		otherAll, otherNone := has(other)
		overlap := slices.ContainsFunc(one, func(item int32) bool { return slices.Contains(other, item) })
		possible = !overlap && (all && otherNone || none && otherAll)
		toggle(other)
	}
	if toggle(one); !possible || len(set) > m.cfg.Slots {
		return row.code, math.Inf(-1)
	}
	return m.lists.Code(set, nil), 0
}

// exchange proposes exchanges between neighbouring temperatures: the even pairs in one iteration,
// the odd pairs in the next.
func (m *Models) exchange() {
	for t := m.done % 2; t+1 < len(m.cfg.Powers); t += 2 {
		for chain := range m.chains {
			cold, hot := &m.rows[t*m.chains+chain], &m.rows[(t+1)*m.chains+chain]
			if -m.random.ExpFloat64() < (m.cfg.Powers[t]-m.cfg.Powers[t+1])*(hot.logEvidence-cold.logEvidence) {
				cold.code, hot.code = hot.code, cold.code
				cold.logPrior, hot.logPrior = hot.logPrior, cold.logPrior
				cold.logEvidence, hot.logEvidence = hot.logEvidence, cold.logEvidence
			}
		}
	}
}

// endIteration renews the weights of items during burn-in and keeps the sets after it.
func (m *Models) endIteration() error {
	m.done++
	if m.done > m.cfg.BurnIn {
		m.Sets = append(m.Sets, apply.To(m.rows[:m.chains], func(row modelRow) []int32 { return slices.Clone(m.lists.Set(row.code)) })...)
		return nil
	}
	if every := max(m.cfg.BurnIn/renewals, 1); m.done%every != 0 {
		return nil
	}
	lists, err := m.lists.WithWeights(m.items.renew())
	if err != nil {
		return fmt.Errorf("rjmcmc: weights of items: %w", err)
	}
	m.lists = lists
	return nil
}
