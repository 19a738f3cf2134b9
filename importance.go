package vti

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
)

// Before any weight is known every model gets as many draws: between leastDraws and mostDraws,
// evenBudget in all where that lies between. Chosen by hand, not tuned: Pareto's k̂ needs some tens
// of draws to be estimated at all.
const (
	leastDraws = 32
	mostDraws  = 256
	evenBudget = 1 << 18
)

// evenAllocation gives every model the same number of draws, and none to those that the prior
// excludes.
func evenAllocation(logPrior []float64) []int {
	allocation := make([]int, len(logPrior))
	for i, prior := range logPrior {
		if !math.IsInf(prior, -1) {
			allocation[i] = min(max(evenBudget/len(logPrior), leastDraws), mostDraws)
		}
	}
	return allocation
}

// tally is what an importance sampler knows of one model.
type tally struct {
	logWeights []float64
	changed    bool         // since the last estimate
	stored     []storedDraw // the draws that were kept, all of a call of draw or none
	// one is a draw chosen among all of the model in proportion to weight, and logTotal the log of
	// their sum: the model's posterior in a single draw, for models of which no others, or too few,
	// were kept.
	one      storedDraw
	logTotal float64
}

// storedDraw is a draw that is kept for the weighted sample.
type storedDraw struct {
	theta                     []float64
	logQ, logJoint, logWeight float64
}

// add counts a draw, which u, uniform on [0, 1), may make the model's one.
func (t *tally) add(draw storedDraw, u float64, store bool) {
	t.logWeights, t.changed = append(t.logWeights, draw.logWeight), true
	if store {
		t.stored = append(t.stored, draw)
	}
	if math.IsInf(draw.logWeight, -1) {
		return
	}
	t.logTotal = logsum.Of([]float64{t.logTotal, draw.logWeight})
	if u < math.Exp(draw.logWeight-t.logTotal) {
		t.one = draw
		t.one.theta = slices.Clone(draw.theta) // not to hold on to the whole batch
	}
}

// estimate sets the evidence of a model, its error, k̂ and the number of draws from the weights so
// far.
func (t *tally) estimate(model *ModelEstimate) {
	if !t.changed && model.Draws > 0 {
		return
	}
	smoothed := psis.Smooth(t.logWeights)
	model.LogEvidence, model.LogEvidenceSE, model.KHat = smoothed.LogMean, smoothed.LogMeanSE, smoothed.K
	model.Draws, t.changed = len(t.logWeights), false
}

// representatives are the draws that stand for the model in the weighted sample, with their
// smoothed log weights. Weights of few draws, once normalised, would be those of the proposal
// rather than of the posterior.
func (t *tally) representatives() (draws []storedDraw, logWeights []float64) {
	if len(t.stored) < leastDraws {
		if t.one.theta == nil {
			return nil, nil
		}
		return []storedDraw{t.one}, []float64{0}
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
	tallies     []tally   // by model
	random      *rand.Rand
	choices     *rand.Rand // of the models' one draw
	reference   reference
	annealed    bool // move the draws by annealing
	nonFinite   int
	done, total int
	progress    func(done, total int)
}

// newImportanceSampler starts without any draws; name is that of its random streams.
func newImportanceSampler(e *evaluator, codes [][]int32, name string) *importanceSampler {
	s := &importanceSampler{
		evaluator: e, codes: codes, tallies: make([]tally, len(codes)), reference: wideReference,
		random: e.random(name), choices: e.random(name + "/one"),
	}
	for i := range s.tallies {
		s.tallies[i].logTotal = math.Inf(-1)
	}
	return s
}

// annealInstead replaces the draws of the models with an allocation by annealed ones.
func (s *importanceSampler) annealInstead(ctx context.Context, allocation []int) error {
	for i, draws := range allocation {
		s.total += draws
		if draws > 0 {
			s.tallies[i] = tally{logTotal: math.Inf(-1)}
		}
	}
	s.annealed, s.reference = true, farReference
	return s.draw(ctx, allocation, true)
}

// annealWhereNeeded anneals the models with an allocation, and goes back to the plain draws, which
// are many more, of those that annealing confirms: their k̂ is small and both estimates of the
// evidence agree.
func (s *importanceSampler) annealWhereNeeded(ctx context.Context, allocation []int) error {
	plain := slices.Clone(s.tallies)
	if err := s.annealInstead(ctx, allocation); err != nil {
		return err
	}
	for i, draws := range allocation {
		if draws > 0 && confirmed(plain[i].logWeights, s.tallies[i].logWeights) {
			s.tallies[i] = plain[i]
			s.tallies[i].changed = true
		}
	}
	return nil
}

// confirmed reports whether plain weights can stand in the light of annealed ones: evidences that
// differ by more than three standard errors mean that no plain draw fell on a part of the
// posterior.
func confirmed(plain, annealed []float64) bool {
	p, a := psis.Smooth(plain), psis.Smooth(annealed)
	return p.K <= psis.Reliable && math.Abs(p.LogMean-a.LogMean) <= 3*math.Hypot(p.LogMeanSE, a.LogMeanSE)
}

// draw adds allocation[i] draws of model i with their log weights log η(θ | m) − log r(θ | m), and
// keeps the draws if store is set.
func (s *importanceSampler) draw(ctx context.Context, allocation []int, store bool) error {
	batch, sites, dim := s.evaluator.sizes()
	codes, z := make([]int32, batch*sites), make([]float64, batch*dim)
	owner := make([]int, 0, batch)
	flush := func() error {
		if len(owner) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("certification stopped after %d draws: %w", s.done, err)
		}
		draws, logWeights, err := s.evaluate(codes, z)
		if err != nil {
			return err
		}
		for row, model := range owner {
			draw := storedDraw{
				theta: draws.theta[row*dim : (row+1)*dim : (row+1)*dim],
				logQ:  draws.logQ[row], logJoint: draws.logJoint[row], logWeight: logWeights[row],
			}
			if math.IsNaN(draw.logWeight) || math.IsInf(draw.logWeight, 1) {
				s.nonFinite++
				draw.logWeight = math.Inf(-1)
			}
			s.tallies[model].add(draw, s.choices.Float64(), store)
		}
		s.done += len(owner)
		if s.progress != nil {
			s.progress(s.done, s.total)
		}
		owner = owner[:0]
		return nil
	}
	for model, draws := range allocation {
		for range draws {
			row := len(owner)
			copy(codes[row*sites:], s.codes[model])
			s.reference.draw(s.random, z[row*dim:(row+1)*dim])
			if owner = append(owner, model); len(owner) == batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// evaluate returns the draws that come from one batch of reference draws z, which annealing
// changes, and their log weights.
func (s *importanceSampler) evaluate(codes []int32, z []float64) (draws pushed, logWeights []float64, err error) {
	if draws, err = s.evaluator.push(codes, z); err != nil {
		return pushed{}, nil, err
	}
	logWeights = make([]float64, len(draws.logQ))
	for row := range logWeights {
		logWeights[row] = s.reference.logWeight(draws, row)
	}
	if !s.annealed {
		return draws, logWeights, nil
	}
	if logWeights, err = anneal(s.evaluator, s.random, codes, z, logWeights); err != nil {
		return pushed{}, nil, err
	}
	draws, err = s.evaluator.push(codes, z)
	return draws, logWeights, err
}
