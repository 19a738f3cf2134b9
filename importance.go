package vti

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/laplace"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/models"
)

// Before any weight is known, evenBudget draws are divided equally among the models, but each gets
// at least leastDraws and at most mostDraws. An estimate of Pareto's k̂ needs some tens of draws.
// Half and twice these values give the same answers (docs/benchmarks/constants.md).
const (
	leastDraws = 32
	mostDraws  = 256
	evenBudget = 1 << 18
	// preliminaryDraws bounds the first draws of a model in a preliminary certificate.
	preliminaryDraws = 128
	// If a model has a Laplace proposal, one of proposalShare draws comes from the proposal, and
	// the other draws come from the flow. The weights under this mixture are at most twice as large
	// as under the flow alone or under the proposal alone.
	proposalShare = 2
)

// evenAllocation gives every model that the prior allows the same number of draws.
func evenAllocation(logPrior []float64) []int {
	allocation := make([]int, len(logPrior))
	for i, prior := range logPrior {
		if !math.IsInf(prior, -1) {
			allocation[i] = min(max(evenBudget/len(logPrior), leastDraws), mostDraws)
		}
	}
	return allocation
}

// tally is the state of an importance sampler for one model.
type tally struct {
	logWeights []float64
	// components holds the control variates of the draws (reference.components), in the order of
	// the draws. It is empty unless all draws come from the flow alone.
	components []float64
	changed    bool // whether draws were added since the last estimate
	estimated  models.Evidence
	stored     []storedDraw // draws kept for the weighted sample
	// representative is a draw chosen at random among all draws of the model, in proportion to
	// their weights, and logTotal the log of the sum of the weights. It represents the posterior of
	// the model if there are too few stored draws.
	representative storedDraw
	logTotal       float64
	// heaviest holds the draws of largest weight, unordered.
	heaviest []storedDraw
	// logBound is an upper bound of the log evidence that does not come from weights. It is −Inf if
	// no mode was searched for, and +Inf if a search found no mode, so that there is no bound.
	logBound float64
}

// newTally returns a tally without draws.
func newTally() tally { return tally{logTotal: math.Inf(-1), logBound: math.Inf(-1)} }

// storedDraw is a draw that may be kept for the weighted sample.
type storedDraw struct {
	theta                     []float64
	logQ, logJoint, logWeight float64
}

// add adds a draw and its weight. The draw replaces t.representative if u, a uniform number on [0,
// 1), is less than the weight of the draw divided by the sum of all weights so far.
func (t *tally) add(draw storedDraw, u float64, store bool) {
	t.logWeights, t.changed = append(t.logWeights, draw.logWeight), true
	if store {
		t.stored = append(t.stored, draw)
	}
	if math.IsInf(draw.logWeight, -1) {
		return
	}
	t.keepHeavy(draw)
	t.logTotal = logsum.Of([]float64{t.logTotal, draw.logWeight})
	if u < math.Exp(draw.logWeight-t.logTotal) {
		t.representative = draw
		t.representative.theta = slices.Clone(draw.theta) // a copy, since the slice holds the whole batch in memory
	}
}

// mostHeavy is the number of draws of largest weight that are kept for each model. Half and twice
// this number give the same answers (docs/benchmarks/constants.md).
const mostHeavy = 8

func (t *tally) keepHeavy(draw storedDraw) {
	at := len(t.heaviest)
	if at == mostHeavy {
		at = 0
		for i, other := range t.heaviest {
			if other.logWeight < t.heaviest[at].logWeight {
				at = i
			}
		}
		if draw.logWeight <= t.heaviest[at].logWeight {
			return
		}
	} else {
		t.heaviest = append(t.heaviest, storedDraw{})
	}
	draw.theta = slices.Clone(draw.theta) // a copy, since the slice holds the whole batch in memory
	t.heaviest[at] = draw
}

// estimate returns the evidence of a model from its weights.
func (t *tally) estimate() models.Evidence {
	if len(t.logWeights) == 0 {
		return models.Evidence{Log: math.Inf(-1), SE: math.NaN(), KHat: math.Inf(1), Bound: math.Inf(-1)}
	}
	if t.changed || t.estimated.Draws != len(t.logWeights) {
		smoothed := psis.Smooth(t.logWeights)
		t.estimated, t.changed = models.FromWeights(smoothed), false
		t.estimated.Log, t.estimated.SE = psis.Controlled(t.logWeights, smoothed, t.components)
	}
	t.estimated.Bound = t.logBound
	return t.estimated
}

// representatives returns the draws that represent the model in the weighted sample, and their
// smoothed log weights. If there are few stored draws it returns only t.representative, because few
// draws with normalised weights would represent the proposal rather than the posterior.
func (t *tally) representatives() (draws []storedDraw, logWeights []float64) {
	if len(t.stored) < leastDraws {
		if t.representative.theta == nil {
			return nil, nil
		}
		return []storedDraw{t.representative}, []float64{0}
	}
	for _, draw := range t.stored {
		logWeights = append(logWeights, draw.logWeight)
	}
	return t.stored, psis.Smooth(logWeights).LogWeights
}

// importanceSampler draws parameters for models from the flow and keeps their weights.
type importanceSampler struct {
	evaluator   *evaluator
	codes       [][]int32 // of the models
	tallies     []tally   // one for each model
	random      *rand.Rand
	choices     *rand.Rand       // random numbers that choose the representative of each tally
	proposals   []*laplace.Modes // Laplace proposals by model; entries are nil if there is none
	modes       []laplace.Modes  // modes found, by model; nil before a search
	surface     laplace.Surface  // the log density on which modes are searched
	pending     []pendingBatch   // batches that are not evaluated yet
	nonFinite   int
	done, total int
	progress    func(done, total int)
}

// newImportanceSampler returns a sampler without draws; name is the name of its random streams.
func newImportanceSampler(e *evaluator, codes [][]int32, name string) *importanceSampler {
	s := &importanceSampler{
		evaluator: e, codes: codes, tallies: make([]tally, len(codes)),
		random: e.Random(name), choices: e.Random(name + "/one"), proposals: make([]*laplace.Modes, len(codes)),
	}
	for i := range s.tallies {
		s.tallies[i] = newTally()
	}
	return s
}

// draw adds allocation[i] draws of model i with their log weights log p(y, θ | m) − log r(θ | m),
// and stores the draws if store is true. If a model has a Laplace proposal, half of its draws come
// from the proposal, and r is the equal mixture of flow and proposal; otherwise r is the flow.
func (s *importanceSampler) draw(ctx context.Context, allocation []int, store bool) error {
	_, sites, dim := s.evaluator.Sizes()
	fromFlow := s.newRows(store, "flow", s.evaluator.pushWide)
	proposed := s.newRows(store, "proposal", func(codes []int32, theta []float64) (evaluate.Pushed, []float64, error) {
		draws, err := s.evaluator.Pull(codes, theta)
		return draws, evaluate.WideReference.LogWeights(draws), err
	})
	for model, draws := range allocation {
		if s.proposals[model] != nil {
			draws += draws % proposalShare // an even number, for the equal parts of the mixture
		}
		for k := range draws {
			rows := fromFlow
			if s.proposals[model] != nil && k%proposalShare == 1 {
				rows = proposed
			}
			row := len(rows.owner)
			copy(rows.Codes[row*sites:], s.codes[model])
			if x := rows.X[row*dim : (row+1)*dim]; rows == proposed {
				s.proposals[model].Draw(s.random, x)
			} else {
				evaluate.WideReference.Draw(s.random, x)
			}
			if err := rows.add(ctx, model); err != nil {
				return err
			}
		}
	}
	if err := fromFlow.flush(ctx); err != nil {
		return err
	}
	if err := proposed.flush(ctx); err != nil {
		return err
	}
	return s.evaluatePending(ctx)
}

// batchRows collects rows, each for some model, until a batch is full.
type batchRows struct {
	sampler *importanceSampler
	pendingBatch
}

func (s *importanceSampler) newRows(store bool, kind string, evaluate func([]int32, []float64) (evaluate.Pushed, []float64, error)) *batchRows {
	b := &batchRows{s, pendingBatch{batchInput: batchInput{Kind: kind, Evaluate: evaluate}, store: store}}
	b.clear()
	return b
}

func (b *batchRows) clear() {
	batch, sites, dim := b.sampler.evaluator.Sizes()
	b.Codes, b.X, b.owner = make([]int32, batch*sites), make([]float64, batch*dim), make([]int, 0, batch)
}

// add records that the next row, already written, belongs to the given model.
func (b *batchRows) add(ctx context.Context, model int) error {
	if b.owner = append(b.owner, model); len(b.owner) < cap(b.owner) {
		return nil
	}
	return b.flush(ctx)
}

// flush hands the collected rows to the sampler as a batch.
func (b *batchRows) flush(ctx context.Context) error {
	if len(b.owner) == 0 {
		return nil
	}
	s := b.sampler
	s.pending = append(s.pending, b.pendingBatch)
	b.clear()
	if len(s.pending) < s.evaluator.batches() {
		return nil
	}
	return s.evaluatePending(ctx)
}

// pendingBatch is a batch that is not evaluated yet.
type pendingBatch struct {
	batchInput
	owner []int // the model of each row
	store bool
}

// evaluatePending evaluates the pending batches and adds their rows to the tallies, in order.
func (s *importanceSampler) evaluatePending(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("certification stopped after %d draws: %w", s.done, err)
	}
	pending := s.pending
	s.pending = nil
	inputs := apply.To(pending, func(batch pendingBatch) batchInput { return batch.batchInput })
	evaluated, err := s.evaluator.evaluateBatches(ctx, inputs)
	if err != nil {
		return err
	}
	for i, batch := range pending {
		s.count(batch, evaluated[i].Pushed, evaluated[i].LogWeights)
	}
	return nil
}

// count adds the rows of an evaluated batch to the tallies.
func (s *importanceSampler) count(batch pendingBatch, draws evaluate.Pushed, logWeights []float64) {
	_, _, dim := s.evaluator.Sizes()
	for row, model := range batch.owner {
		draw := storedDraw{
			theta: draws.Theta[row*dim : (row+1)*dim : (row+1)*dim],
			logQ:  draws.LogQ[row], logJoint: draws.LogJoint[row], logWeight: logWeights[row],
		}
		if proposal := s.proposals[model]; proposal != nil && finite(draw.logWeight) {
			draw.logWeight = mixtureWeight(draw.logJoint, draw.logJoint-draw.logWeight, proposal.LogDensity(draw.theta))
		}
		if math.IsNaN(draw.logWeight) || math.IsInf(draw.logWeight, 1) {
			s.nonFinite++
			draw.logWeight = math.Inf(-1)
		}
		s.tallies[model].add(draw, s.choices.Float64(), batch.store)
		if s.proposals[model] == nil {
			tally := &s.tallies[model]
			tally.components = append(tally.components, evaluate.WideReference.Components(draws.Noise[row*dim:(row+1)*dim], int(draws.Active[row]))...)
		}
	}
	s.done += len(batch.owner)
	if s.progress != nil {
		s.progress(s.done, max(s.total, s.done)) // additional draws, for modes that were missed, exceed the planned total
	}
}

// mixtureWeight returns the log weight of a draw from the equal mixture of flow and proposal.
// logJoint is log p(y, θ | m), logR the log density under the flow, and logT the log density under
// the proposal.
func mixtureWeight(logJoint, logR, logT float64) float64 {
	return logJoint - logsum.Of([]float64{logR, logT}) + math.Log(proposalShare)
}
