package vti

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/rjmcmc"
)

// How models are weighted by a distribution that is fitted to chains over models. All chosen by
// hand.
const (
	// modelChains are run, fittedIterations after burn-in at first and as many as before in every
	// further round, of which there are fittedRounds at most.
	modelChains      = 32
	fittedIterations = 300
	fittedRounds     = 4
	// fittedBatch models are drawn at a time, and fittedDraws at most, until fittedESS of them are
	// effective.
	fittedBatch = 1 << 12
	fittedDraws = 1 << 16
	fittedESS   = 10000
	// refittedDraws are weighted to fit it again.
	refittedDraws = 1 << 13
	// fittedCentres of the models of chains have draws around them, which are nearShare of all.
	fittedCentres = 1 << 10
	nearShare     = 0.4
	// chainsError is the standard error of a probability by chains up to which they can confirm it.
	chainsError = 0.05
)

// fittedModels is r(m) fitted to chains: a mixture of regressions and of draws around some of their
// models.
type fittedModels struct {
	items items
	set   func(code []int32) []int32
	far   *modeldist.Conditionals
	near  *modeldist.Neighbours
}

// draw draws from the mixture. Sets that are too large have no code: to draw again would change
// r(m).
func (f fittedModels) draw(random *rand.Rand) (codes [][]int32, near int, err error) {
	for len(codes) < fittedBatch {
		var set []int32
		if random.Float64() < nearShare {
			set = f.near.Draw(random)
		} else {
			set = f.far.Draw(random)
		}
		if len(set) > f.items.slots {
			codes = append(codes, nil)
		} else {
			codes = append(codes, f.items.code(set))
		}
	}
	return codes, 0, nil
}

func (f fittedModels) logProb(codes [][]int32) ([]float64, error) {
	logProb := make([]float64, len(codes))
	for i, code := range codes {
		set := f.set(code)
		logProb[i] = logsum.Add(f.far.LogProb(set)+math.Log1p(-nearShare), f.near.LogProb(set)+math.Log(nearShare))
	}
	return logProb, nil
}

// weighFitted certifies by weights of models drawn from a distribution that is fitted to half of
// some tempered chains over models. It is trusted where the other half, which started elsewhere
// and has no part in that distribution, agrees. Neither needs q. At a glance the other half is not
// asked.
func (x *modelMasses) weighFitted(ctx context.Context, of items, cfg CertifyConfig) (c *Certificate, err error) {
	if cfg.Progress != nil {
		cfg.Progress(0, cfg.Draws)
	}
	proposed, err := x.proposedByQ(fittedBatch, cfg.stream)
	if err != nil {
		return nil, err
	}
	iterations := fittedIterations
	for round := range fittedRounds {
		chains, sets, err := x.runChains(ctx, of, iterations, cfg.overdue)
		if err != nil {
			return nil, err
		}
		iterations *= 2
		stream := fmt.Sprintf("%s/fitted/%d", cfg.stream, round)
		w := &modelWeights{modelMasses: x, stream: stream, random: x.e.Random(stream), proposed: proposed}
		if w.reference, err = x.fitTo(ctx, of, chains.Models, sets, stream); err != nil {
			return nil, err
		}
		if c, err = w.certificateTo(ctx, cfg); err != nil {
			return nil, err
		}
		if cfg.enough(c) && !cfg.glance {
			difference := x.againstChains(of, c, chains.Models, sets)
			if c.Confirmed = difference == ""; !c.Confirmed {
				c.lower(Doubtful, "chains over models did not confirm the answer: %s", difference)
			}
		}
		if cfg.enough(c) {
			break
		}
	}
	return c, nil
}

// certificateTo draws until a certificate is as precise as asked for, or it is plain that it will
// not be trusted.
func (w *modelWeights) certificateTo(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	effective := float64(fittedESS)
	if cfg.precision > 0 {
		effective = math.Max(verdict.DoubtfulESS, 0.25/(cfg.precision*cfg.precision))
	}
	for {
		for w.draws < cfg.Draws {
			if err := w.draw(ctx); err != nil {
				return nil, err
			}
			if cfg.Progress != nil {
				cfg.Progress(min(w.draws, cfg.Draws), cfg.Draws)
			}
			if smoothed, _, _ := w.weigh(); smoothed.ESS >= effective || w.draws >= fittedDraws && smoothed.K > psis.Reliable || cfg.overdue() {
				break
			}
		}
		found := slices.Clone(w.evidence) // what draws of parameters add is not to outlast this
		c, err := w.certificate(ctx, cfg.glance)
		if err != nil {
			return nil, err
		}
		w.evidence = found
		if err := w.judgeMissed(c); err != nil {
			return nil, err
		}
		shortage := c.shortage(w.e.Target.Space(), cfg.precision)
		if cfg.glance || c.Verdict != Trusted || shortage <= 1 || w.draws >= cfg.Draws {
			return c, nil
		}
		const margin = 1.2 // the errors are estimates themselves
		effective = c.ESS * shortage * margin
	}
}

// enough reports whether there is no need to look for a better certificate of the same kind: at a
// glance, of few draws, their weights must be reliable.
func (c CertifyConfig) enough(of *Certificate) bool {
	if c.glance {
		return of.KHat <= psis.Reliable || c.overdue()
	}
	return of.Verdict == Trusted
}

// proposedByQ are some draws of q(m).
func (x *modelMasses) proposedByQ(n int, stream string) (codes [][]int32, err error) {
	random := x.e.Random(stream + "/proposed")
	_, sites, _ := x.e.Sizes()
	for len(codes) < n {
		flat, err := x.e.DrawCodes(random)
		if err != nil {
			return nil, err
		}
		codes = append(codes, rowsOf(flat, sites)...)
	}
	return codes, nil
}

// runChains runs chains over models, and looks at their sets. Where members that matter only
// together are found on top of these it begins anew, with chains that move them together.
func (x *modelMasses) runChains(ctx context.Context, of items, iterations int, late func() bool) (chains *keptChains, sets [][]int32, err error) {
	for {
		if chains, err = x.modelChains(ctx, of); err != nil {
			return nil, nil, err
		}
		if sets, err = chains.first(ctx, iterations, late); err != nil {
			return nil, nil, err
		}
		if _, err := x.add(ctx, codesOfSets(of, sets), nil); err != nil {
			return nil, nil, err
		}
		joint, err := x.searchJoint(ctx)
		if err != nil {
			return nil, nil, err
		}
		known := len(x.e.joint.moved)
		for _, set := range joint {
			same := func(other jointSet) bool { return slices.Equal(other.members, set.members) }
			if len(x.e.joint.moved) < mostMoved && !slices.ContainsFunc(x.e.joint.moved, same) {
				x.e.joint.moved = append(x.e.joint.moved, set)
			}
		}
		if len(x.e.joint.moved) == known {
			return chains, sets, nil
		}
		x.e.chains = nil
	}
}

// modelChains are the chains over models of an evaluator, which are the same whenever they are run:
// they do not depend on q. They start in turn from no item, from one or a few promising items at
// random, and from many of the most promising ones; half of them from models with members that
// matter only together, if there are any.
func (x *modelMasses) modelChains(ctx context.Context, of items) (*keptChains, error) {
	if x.e.chains != nil {
		return x.e.chains, nil
	}
	random := x.e.Random("models/starts")
	weights := of.weights
	if weights == nil {
		weights = slices.Repeat([]float64{1}, of.count)
	}
	order := make([]int32, of.count)
	for item := range order {
		order[item] = int32(item)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(weights[b], weights[a]) })
	var starts [][]int32
	for chain := range modelChains {
		var set []int32
		most := 6
		switch chain / 2 % 4 { // both halves, the even and the odd chains, have all kinds
		case 0:
			most = 0
		case 1:
			most = 1
		case 3:
			set, most = slices.Clone(order[:min(12, of.slots, of.count)]), 0
		}
		for range min(most, of.slots) {
			if item := order[min(int(random.ExpFloat64()*8), of.count-1)]; !slices.Contains(set, item) {
				set = append(set, item)
			}
		}
		if n := len(x.e.joint.moved); n > 0 && chain/2%2 == 1 {
			set = x.members()(x.e.joint.moved[chain/4%n].code)
		}
		slices.Sort(set)
		starts = append(starts, set)
	}
	looked := newModelMasses(x.e, x.source) // in this certificate or another
	positions, err := looked.add(ctx, codesOfSets(of, starts), nil)
	if err != nil {
		return nil, err
	}
	for chain, at := range positions {
		if math.IsInf(looked.logMass(at), -1) { // the prior excludes it
			starts[chain] = nil
		}
	}
	var together [][]int32
	for _, set := range x.e.joint.moved {
		together = append(together, set.members)
	}
	chains, err := rjmcmc.NewModels(ctx, rjmcmc.ModelsConfig{
		Items: of.count, Slots: of.slots, Weights: of.weights, Starts: starts, Together: together, Seed: x.e.Seed,
		LogMasses: func(ctx context.Context, sets [][]int32) (logPriors, logEvidences []float64, err error) {
			positions, err := looked.add(ctx, codesOfSets(of, sets), nil)
			if err != nil {
				return nil, nil, err
			}
			for _, at := range positions {
				logPriors, logEvidences = append(logPriors, looked.logPrior[at]), append(logEvidences, looked.evidence[at].Log)
			}
			return logPriors, logEvidences, nil
		},
	})
	if err == nil {
		x.e.chains = &keptChains{chains}
	}
	return x.e.chains, err
}

// fitTo fits r(m) to the even chains, weights some draws from it, and fits it again to these draws,
// taken by weight, and the chains together: draws that are independent show the share of each item
// better than chains do (Cappé et al. 2004).
func (x *modelMasses) fitTo(ctx context.Context, of items, chains *rjmcmc.Models, sets [][]int32, stream string) (fittedModels, error) {
	var even [][]int32
	for i, set := range sets {
		if i%chains.Chains()%2 == 0 {
			even = append(even, set)
		}
	}
	random := x.e.Random(stream + "/fit")
	fit := func() fittedModels {
		centres := make([][]int32, min(fittedCentres, len(even)))
		for k := range centres {
			centres[k] = even[random.IntN(len(even))]
		}
		return fittedModels{of, x.members(), modeldist.FitConditionals(even, chains.Weights()), modeldist.NewNeighbours(centres, chains.Weights())}
	}
	first := fit()
	w := &modelWeights{modelMasses: x, reference: first, random: random}
	for w.draws < refittedDraws {
		if err := w.draw(ctx); err != nil {
			return first, err
		}
	}
	smoothed, ofDraws, _ := w.weigh()
	if !(smoothed.K <= verdict.FailedKHat) {
		return first, nil
	}
	for _, i := range weighted.Rows(ofDraws, int(math.Min(smoothed.ESS, refittedDraws)), random) {
		even = append(even, first.set(x.codes[w.positions[i]]))
	}
	return fit(), nil
}

// againstChains says in what the odd chains differ from weights beyond errors, or is empty.
func (x *modelMasses) againstChains(of items, weights *Certificate, chains *rjmcmc.Models, sets [][]int32) string {
	sample := &WeightedSample{}
	for i, set := range sets {
		if chain := i % chains.Chains(); chain%2 == 1 {
			sample.Codes, sample.Group = append(sample.Codes, of.code(set)), append(sample.Group, chain/2)
		}
	}
	sample.Weight = slices.Repeat([]float64{1 / float64(len(sample.Codes))}, len(sample.Codes))
	n, members := outcomesOf(x.e.Target.Space())
	byChains, chainsSE := sample.groupedFrequencies(n, members)
	byWeights, weightsSE := weights.Frequencies(n, members)
	for i, p := range byChains {
		if chainsSE[i] > chainsError {
			return fmt.Sprintf("their probability of an outcome has a standard error of %.2g", chainsSE[i])
		}
		if difference := math.Abs(p - byWeights[i]); difference > agreeingOutcome+agreeingErrors*math.Hypot(chainsSE[i], weightsSE[i]) {
			return fmt.Sprintf("the probabilities of an outcome differ by %.2g", difference)
		}
	}
	return ""
}
