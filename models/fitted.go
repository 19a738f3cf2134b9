package models

import (
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
	"github.com/transdim/vti/space"
)

// Settings of weights by a distribution fitted to chains over models: the work of a round. The
// verdict decides whether another round follows. Not tuned.
const (
	// fittedIterations is the number of iterations after burn-in in the first round. It doubles in
	// total with every further round, of at most fittedRounds.
	fittedIterations = 300
	fittedRounds     = 4
	// fittedBatch models are drawn at a time, at most fittedDraws, until fittedESS are effective.
	fittedBatch = 1 << 12
	fittedDraws = 1 << 16
	fittedESS   = 10000
	// refittedDraws is the number of draws weighted to fit it again.
	refittedDraws = 1 << 13
	// fittedCentres is the number of models of chains with draws around them, nearShare of all.
	fittedCentres = 1 << 10
	nearShare     = 0.4
	// chainsError is the largest standard error of a probability by chains that can confirm.
	chainsError = 0.05
)

// fittedModels is r(m): a mixture of regressions and of draws around models of the chains.
type fittedModels struct {
	items      items
	set        func(code []int32) []int32
	far        *modeldist.Conditionals
	neighbours *modeldist.Neighbours
}

// Draw draws from the mixture. Sets that are too large have no code, because another draw would
// change r(m).
func (f fittedModels) Draw(random *rand.Rand) (codes [][]int32, fromQ int, err error) {
	for len(codes) < fittedBatch {
		var set []int32
		if random.Float64() < nearShare {
			set = f.neighbours.Draw(random)
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

func (f fittedModels) LogProb(codes [][]int32) ([]float64, error) {
	logProb := make([]float64, len(codes))
	for i, code := range codes {
		set := f.set(code)
		logProb[i] = logsum.Add(f.far.LogProb(set)+math.Log1p(-nearShare), f.neighbours.LogProb(set)+math.Log(nearShare))
	}
	return logProb, nil
}

// WeighFitted certifies by weights of models drawn from a distribution fitted to half of some
// tempered chains over models. The result is trusted where the other half agrees, which started
// elsewhere and was not used in the fit. Neither half needs q. With Glance the other half is not
// compared. It is for spaces whose models are sets of items.
func (x *Visited) WeighFitted(ctx context.Context, cfg Config) (c *Certificate, err error) {
	asItems, _ := itemsOf(x.Space)
	cfg.report(0, cfg.Draws)
	proposed, err := x.proposedByQ(fittedBatch, cfg.Stream)
	if err != nil {
		return nil, err
	}
	iterations := fittedIterations
	for round := range fittedRounds {
		chains, sets, err := x.runChains(ctx, asItems, iterations, cfg.overdue)
		if err != nil {
			return nil, err
		}
		iterations *= 2
		stream := fmt.Sprintf("%s/fitted/%d", cfg.Stream, round)
		w := &modelWeights{Visited: x, stream: stream, source: x.random(stream), proposed: proposed}
		if w.reference, err = x.fitTo(ctx, asItems, chains.Models, sets, stream); err != nil {
			return nil, err
		}
		if c, err = w.certificateTo(ctx, cfg); err != nil {
			return nil, err
		}
		if cfg.enough(c) && !cfg.Glance {
			difference := x.againstChains(asItems, c, chains.Models, sets)
			if c.Confirmed = difference == ""; !c.Confirmed {
				c.Lower(Doubtful, "chains over models did not confirm the answer: %s", difference)
			}
		}
		if cfg.enough(c) {
			break
		}
	}
	return c, nil
}

// certificateTo draws until a certificate is precise enough, or certainly will not be trusted.
func (w *modelWeights) certificateTo(ctx context.Context, cfg Config) (*Certificate, error) {
	effective := float64(fittedESS)
	if cfg.Precision > 0 {
		effective = math.Max(verdict.DoubtfulESS, 0.25/(cfg.Precision*cfg.Precision))
	}
	for {
		for w.draws < cfg.Draws {
			if err := w.draw(ctx); err != nil {
				return nil, err
			}
			cfg.report(min(w.draws, cfg.Draws), cfg.Draws)
			if smoothed, _, _ := w.smoothWeights(); smoothed.ESS >= effective || w.draws >= fittedDraws && smoothed.K > psis.Reliable || cfg.overdue() {
				break
			}
		}
		found := slices.Clone(w.evidence) // gains from draws of parameters must not outlast this
		c, err := w.certificate(ctx, cfg.Glance)
		if err != nil {
			return nil, err
		}
		w.evidence = found
		if err := w.judgeMissed(c); err != nil {
			return nil, err
		}
		shortage := c.Shortage(w.Space, cfg.Precision)
		if cfg.Glance || c.Verdict != Trusted || shortage <= 1 || w.draws >= cfg.Draws {
			return c, nil
		}
		const margin = 1.2 // the errors are estimates themselves
		effective = c.ESS * shortage * margin
	}
}

// enough reports whether a certificate is good enough not to be improved by the same method: with
// Glance, at few draws, its weights must be reliable.
func (c Config) enough(certificate *Certificate) bool {
	if c.Glance {
		return certificate.KHat <= psis.Reliable || c.overdue()
	}
	return certificate.Verdict == Trusted
}

// proposedByQ returns n or more draws of q(m).
func (e *Engine) proposedByQ(n int, stream string) (codes [][]int32, err error) {
	random := e.random(stream + "/proposed")
	for len(codes) < n {
		drawn, err := e.Q.Draw(random)
		if err != nil {
			return nil, err
		}
		codes = append(codes, drawn...)
	}
	return codes, nil
}

// fitTo fits r(m) to the even chains, weights some draws from it, and fits it again to these draws,
// taken by weight, and the chains together. Independent draws show the share of each item better
// than chains (Cappé et al. 2004).
func (x *Visited) fitTo(ctx context.Context, asItems items, chains *rjmcmc.Models, sets [][]int32, stream string) (fittedModels, error) {
	var even [][]int32
	for i, set := range sets {
		if i%chains.Chains()%2 == 0 {
			even = append(even, set)
		}
	}
	random := x.random(stream + "/fit")
	fit := func() fittedModels {
		centres := make([][]int32, min(fittedCentres, len(even)))
		for k := range centres {
			centres[k] = even[random.IntN(len(even))]
		}
		return fittedModels{asItems, x.members(), modeldist.FitConditionals(even, chains.Weights()), modeldist.NewNeighbours(centres, chains.Weights())}
	}
	first := fit()
	w := &modelWeights{Visited: x, reference: first, source: random}
	for w.draws < refittedDraws {
		if err := w.draw(ctx); err != nil {
			return first, err
		}
	}
	smoothed, weights, _ := w.smoothWeights()
	if !(smoothed.K <= verdict.FailedKHat) {
		return first, nil
	}
	for _, i := range weighted.Rows(weights, int(math.Min(smoothed.ESS, refittedDraws)), random) {
		even = append(even, first.set(x.codes[w.positions[i]]))
	}
	return fit(), nil
}

// againstChains describes a difference of the odd chains from weights beyond errors, or is empty.
func (x *Visited) againstChains(asItems items, weights *Certificate, chains *rjmcmc.Models, sets [][]int32) string {
	sample := &WeightedSample{}
	for i, set := range sets {
		if chain := i % chains.Chains(); chain%2 == 1 {
			sample.Codes, sample.Group = append(sample.Codes, asItems.code(set)), append(sample.Group, chain/2)
		}
	}
	sample.Weight = slices.Repeat([]float64{1 / float64(len(sample.Codes))}, len(sample.Codes))
	n, members := space.Outcomes(x.Space)
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
