package models

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Settings of certification by weights of models drawn from a distribution that is fitted to chains
// over models. They set the work of a round. The verdict decides whether another round follows.
// Half and twice these values give the same answers (docs/benchmarks/constants.md).
const (
	// fittedIterations is the number of iterations of the chains after burn-in in the first round.
	// Every further round doubles the total number of iterations. There are at most fittedRounds
	// rounds, or roundsBeforeBirths with Config.BirthsNext. For three of five tables of 300 rows
	// and 600 to 1,500 predictors the third round suffices, in 8 to 10 processor seconds;
	// birth-death chains after the second round take 25 to 43.
	fittedIterations   = 300
	fittedRounds       = 4
	roundsBeforeBirths = 3
	// fittedBatch models are drawn at a time until their effective number is fittedESS, or until k̂
	// is still too large after fittedDraws draws. After the time limit lastBatch models are drawn.
	fittedBatch = 1 << 12
	lastBatch   = 1 << 8
	fittedDraws = 1 << 16
	fittedESS   = 10000
	// refittedDraws is the number of weighted draws to which the distribution is fitted again.
	refittedDraws = 1 << 13
	// fittedCentres is the number of models, taken from the chains, around which the share
	// nearShare of all draws is made. The share seenShare is drawn from the models whose evidences
	// the chains and searches have computed, so that no weight of such a model is above
	// 1/seenShare.
	fittedCentres = 1 << 10
	nearShare     = 0.3
	seenShare     = 0.25
	// oddsModels is the number of models of the chains in which the odds of all items are computed
	// (Known.Enters).
	oddsModels = 64
	// chainsError is a standard error. Chains can confirm an answer only if all their probabilities
	// have standard errors of at most this size.
	chainsError = 0.05
)

// fittedModels is the distribution r(m) from which models, sets of items such as predictors, are
// drawn. It is a mixture of three components: the field far draws each item by a regression on the
// other items, the field neighbours changes models that chains visited, and the field seen draws
// models that have an evidence, with their posterior probabilities among each other.
type fittedModels struct {
	items      items
	set        func(code []int32) []int32
	far        *modeldist.Conditionals
	neighbours *modeldist.Neighbours
	seen       seenModels
	late       func() bool // whether the time is over
}

// seenModels holds models with their probabilities.
type seenModels struct {
	codes [][]int32
	log   map[string]float64 // log probabilities, by key of the code
	table pick.Table
}

// seenBy returns the models of all lists with their posterior probabilities among each other.
// Models whose probabilities together are negligible may be left out.
func seenBy(lists ...*Visited) seenModels {
	s := seenModels{log: map[string]float64{}}
	var masses []float64
	for _, list := range lists {
		for at, code := range list.codes {
			if _, known := s.log[space.Key(code)]; !known {
				s.log[space.Key(code)] = list.logMass(at)
				s.codes, masses = append(s.codes, code), append(masses, list.logMass(at))
			}
		}
	}
	total := logsum.Of(masses)
	for k, code := range s.codes {
		masses[k] -= total
		s.log[space.Key(code)] = masses[k]
		masses[k] = math.Exp(masses[k])
	}
	s.table = pick.NewTable(masses)
	return s
}

// logProb returns the log probability of a model, −Inf if it was not seen.
func (s seenModels) logProb(code []int32) float64 {
	if log, seen := s.log[space.Key(code)]; seen {
		return log
	}
	return math.Inf(-1)
}

// Draw draws fittedBatch models from the mixture, or lastBatch if the time is over. A set with too
// many items for the space becomes a nil code, which has weight 0: to draw another set in its place
// would change r(m).
func (f fittedModels) Draw(random *rand.Rand) (codes [][]int32, fromQ int, err error) {
	batch := fittedBatch
	if f.late() {
		batch = lastBatch
	}
	for len(codes) < batch {
		var set []int32
		switch u := random.Float64(); {
		case u < seenShare:
			codes = append(codes, f.seen.codes[f.seen.table.Index(random.Float64())])
			continue
		case u < seenShare+nearShare:
			set = f.neighbours.Draw(random)
		default:
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
		logProb[i] = logsum.Add(f.far.LogProb(set)+math.Log1p(-nearShare-seenShare), f.neighbours.LogProb(set)+math.Log(nearShare))
		logProb[i] = logsum.Add(logProb[i], f.seen.logProb(code)+math.Log(seenShare))
	}
	return logProb, nil
}

// WeighFitted certifies by weights of models drawn from a distribution r(m), which is fitted to
// half of the tempered chains over models. The result is trusted if the chains of the other half,
// which started elsewhere, agree with it. With Preliminary the result is not compared with chains.
// Neither the fit nor the comparison needs q. WeighFitted is for spaces whose models are sets of
// items.
func (x *Visited) WeighFitted(ctx context.Context, cfg Config) (c *Certificate, err error) {
	asItems, _ := itemsOf(x.Space)
	cfg.report(0, cfg.Draws)
	proposed, err := x.proposedByQ(fittedBatch, cfg.Stream)
	if err != nil {
		return nil, err
	}
	iterations, rounds := fittedIterations, fittedRounds
	if cfg.BirthsNext {
		rounds = roundsBeforeBirths
	}
	for round := range rounds {
		chains, sets, err := x.runChains(ctx, asItems, iterations, cfg.overdue)
		if err != nil {
			return nil, err
		}
		iterations *= 2
		stream := fmt.Sprintf("%s/fitted/%d", cfg.Stream, round)
		w := &modelWeights{Visited: x, stream: stream, source: x.random(stream), proposed: proposed}
		if w.reference, err = x.fitTo(ctx, asItems, chains, sets, stream, cfg.overdue); err != nil {
			return nil, err
		}
		if c, err = w.certificateTo(ctx, cfg); err != nil {
			return nil, err
		}
		if cfg.enough(c) && !cfg.Preliminary {
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
			smoothed, _, _ := w.smoothWeights()
			if decided := cfg.Preliminary && smoothed.K <= psis.FiniteVariance; decided && smoothed.ESS >= effective/4 {
				break // few draws show that the weights are good, and how many draws the answer needs
			}
			if smoothed.ESS >= effective || w.draws >= fittedDraws && smoothed.K > psis.Reliable || cfg.overdue() {
				break
			}
		}
		found := slices.Clone(w.evidence) // restored below: draws of parameters improve these evidences for one certificate only
		c, err := w.certificate(ctx, cfg.Preliminary)
		if err != nil {
			return nil, err
		}
		w.evidence = found
		if err := w.judgeMissed(c); err != nil {
			return nil, err
		}
		shortage := c.Shortage(w.Space, cfg.Precision)
		if cfg.Preliminary || c.Verdict != Trusted || shortage <= 1 || w.draws >= cfg.Draws {
			return c, nil
		}
		const margin = 1.2 // since the errors are estimates themselves
		effective = c.ESS * shortage * margin
	}
}

// enough reports whether a certificate needs no improvement by more draws. Its verdict must be
// Trusted. With Preliminary, which asks for few draws, reliable weights suffice.
func (c Config) enough(certificate *Certificate) bool {
	if c.Preliminary {
		return certificate.KHat <= psis.Reliable || c.overdue()
	}
	return certificate.Verdict == Trusted
}

// proposedByQ returns n or more models drawn from q(m), or none with AnswerOnly.
func (e *Engine) proposedByQ(n int, stream string) (codes [][]int32, err error) {
	if e.AnswerOnly {
		return nil, nil
	}
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

// fitTo fits r(m) to the even-numbered chains, and weights some draws from it. It then fits r(m)
// again, to these chains together with the draws, resampled by weight, since independent draws show
// the probability of each item better than chains (Cappé et al. 2004). The second fit is left out
// if the function late reports that the time is over.
func (x *Visited) fitTo(ctx context.Context, asItems items, chains *keptChains, sets [][]int32, stream string, late func() bool) (fittedModels, error) {
	var even [][]int32
	for i, set := range sets {
		if i%chains.Chains()%2 == 0 {
			even = append(even, set)
		}
	}
	least, err := x.byOdds(ctx, asItems, even, x.random(stream+"/odds"))
	if err != nil {
		return fittedModels{}, err
	}
	random := x.random(stream + "/fit")
	seen := seenBy(x, chains.looked)
	fit := func() fittedModels {
		centres := apply.UpTo(min(fittedCentres, len(even)), func(int) []int32 { return even[random.IntN(len(even))] })
		return fittedModels{asItems, x.members(), modeldist.FitConditionals(even, chains.Weights(), least), modeldist.NewNeighbours(centres, chains.Weights()), seen, late}
	}
	first := fit()
	w := &modelWeights{Visited: x, reference: first, source: random}
	for w.draws < refittedDraws {
		if late() {
			return first, nil
		}
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

// byOdds returns, for each item, the mean of its probability given the other items (Rao–Blackwell)
// over some of sets, drawn at random. It returns nil if odds are unknown. Only sets without the
// item count, so that the probability is about right for rare items, which counts of draws hardly
// show, and too small for items that come in the place of others.
func (x *Visited) byOdds(ctx context.Context, asItems items, sets [][]int32, random *rand.Rand) ([]float64, error) {
	if x.Known.Enters == nil {
		return nil, nil
	}
	var codes [][]int32
	times := map[string]float64{}
	for range oddsModels {
		code := asItems.code(sets[random.IntN(len(sets))])
		if times[space.Key(code)]++; times[space.Key(code)] == 1 {
			codes = append(codes, code)
		}
	}
	logOdds, err := x.Known.Enters(ctx, codes)
	if err != nil {
		return nil, err
	}
	probability := make([]float64, asItems.count)
	for item := range probability {
		total := 0.0
		for k, code := range codes {
			if l := logOdds[k][item]; !math.IsNaN(l) {
				probability[item] += times[space.Key(code)] / (1 + math.Exp(-l))
				total += times[space.Key(code)]
			}
		}
		probability[item] /= math.Max(total, 1)
	}
	return probability, nil
}

// againstChains describes a difference, beyond the errors, between probabilities by the
// odd-numbered chains, which were not used in the fit, and by the weights. It returns "" if they
// agree.
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
