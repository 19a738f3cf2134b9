package vti

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/rjmcmc"
)

// Chains that check a certificate, or take its place: tempered reversible-jump chains on the target
// itself (package rjmcmc), which know nothing of q and find the modes that no draw of q reaches.
const (
	checkChains       = 64
	checkTemperatures = 12
	checkBurnIn       = 600
	checkThin         = 4
	// One iteration of the chains stands for so many plain draws: more beyond fewDraws, as an
	// iteration moves every copy of every chain and costs more than these draws do.
	drawsPerIteration     = 32
	moreDrawsPerIteration = 128
	fewDraws              = 1 << 15
	// Chains end early when they agree to within enoughRHat and have enoughESS effective draws of
	// everything.
	enoughRHat = 1.01
	enoughESS  = 20000
	// Outcomes that are rarer do not count for agreement, nor do those that hardly ever fail: on
	// the scale of probabilities their error is small.
	rareOutcome = 0.01
)

// chainSeed is a seed for chains of the given name: not the seed itself, so that chains the caller
// runs with that are independent of these.
func (p *Posterior) chainSeed(name string) uint64 { return stream.Rand(p.config.Seed, name).Uint64() }

// certifyByChains certifies by tempered chains. Their errors are those between chains, their
// evidence comes from the ladder of temperatures.
func (p *Posterior) certifyByChains(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	starts, err := p.startsOfChains()
	if err != nil {
		return nil, err
	}
	iterations := max(min(cfg.Draws, fewDraws)/drawsPerIteration+max(cfg.Draws-fewDraws, 0)/moreDrawsPerIteration, 4*checkThin)
	settings := rjmcmc.Config{
		Chains: checkChains, Temperatures: checkTemperatures, BurnIn: min(checkBurnIn, iterations), Iterations: iterations, Thin: checkThin, Seed: p.chainSeed("certify/chains"), Starts: starts,
		Enough: func(chains *rjmcmc.Result) bool {
			worst := p.worstOf(chains)
			return worst.RHat <= enoughRHat && worst.ESS >= enoughESS
		},
	}
	if cfg.Progress != nil {
		settings.Progress = func(now rjmcmc.Progress) { cfg.Progress(cfg.Draws+cfg.Draws*now.Iteration/now.Total, 2*cfg.Draws) }
	}
	chains, err := rjmcmc.Run(ctx, p.device.Backend(), p.target, settings)
	if err != nil {
		return nil, err
	}
	worst := p.worstOf(chains)
	if math.IsNaN(worst.RHat) {
		worst.RHat, worst.ESS = math.Inf(1), 0
	}
	// antithetic draws may count for more than they are
	c := &Certificate{KHat: math.NaN(), RHat: worst.RHat, ESS: min(worst.ESS, float64(chains.Draws())), Draws: chains.Draws()}
	c.LogEvidence, c.LogEvidenceSE = chains.LogEvidence()
	sample := &c.Sample
	sample.Theta = mat.NewDense(chains.Draws(), chains.Dim, nil)
	for draw := range chains.Draws() {
		sample.Theta.SetRow(draw, chains.Theta(draw))
		sample.Codes = append(sample.Codes, chains.Codes(draw))
		sample.Weight = append(sample.Weight, 1/float64(chains.Draws()))
		sample.Group = append(sample.Group, draw%chains.Chains)
	}
	sample.LogP = chains.LogDensity
	if sample.LogQ, err = p.LogProb(sample.Codes, sample.Theta); err != nil {
		return nil, err
	}
	random := stream.Rand(p.config.Seed, "certify/proposed")
	for len(c.Proposed) < chains.Draws() {
		codes, err := p.drawCodes(random)
		if err != nil {
			return nil, err
		}
		for sites := chains.Sites; len(codes) > 0; codes = codes[sites:] {
			c.Proposed = append(c.Proposed, codes[:sites:sites])
		}
	}
	c.gather()
	return c, p.conclude(c)
}

// startsOfChains are models in which chains start: nil for those that package rjmcmc draws, from
// sparse to dense, and draws from q(m) if the prior excludes most of such models (as heredity
// does). Chains that all start nearly empty learn too little of the posterior in burn-in.
func (p *Posterior) startsOfChains() ([][]int32, error) {
	cards, random := p.target.Space().Cards(), stream.Rand(p.config.Seed, "certify/starts")
	if _, lists := p.target.Space().(lister); lists {
		return nil, nil
	}
	drawn := make([]ModelEstimate, checkChains)
	for i := range drawn {
		drawn[i].Code = make([]int32, len(cards))
		for site, card := range cards {
			drawn[i].Code[site] = int32(random.IntN(card))
		}
	}
	logPrior, err := p.logPriorOf(drawn)
	if err != nil {
		return nil, err
	}
	excluded := 0
	for _, value := range logPrior {
		if math.IsInf(value, -1) {
			excluded++
		}
	}
	if 2*excluded < len(drawn) {
		return nil, nil
	}
	codes, err := p.drawCodes(random)
	if err != nil {
		return nil, err
	}
	var starts [][]int32
	for sites := len(cards); len(codes) > 0; codes = codes[sites:] {
		starts = append(starts, codes[:sites:sites])
	}
	return starts, nil
}

// worstOf is the largest R-hat and the smallest effective number of draws, of the log density and
// of every outcome that is neither rare nor nearly certain.
func (p *Posterior) worstOf(chains *rjmcmc.Result) rjmcmc.Summary {
	worst := chains.LogDensitySummary()
	outcomes, members := p.outcomes()
	counts := make([]int, outcomes)
	of := make([][]int, chains.Draws())
	for draw := range of {
		of[draw] = members(chains.Codes(draw))
		for _, outcome := range of[draw] {
			counts[outcome]++
		}
	}
	present := make([]float64, chains.Draws())
	for outcome, count := range counts {
		if share := float64(count) / float64(len(of)); share < rareOutcome || share > 1-rareOutcome {
			continue
		}
		for draw, own := range of {
			present[draw] = 0
			for _, member := range own {
				if member == outcome {
					present[draw] = 1
				}
			}
		}
		summary := chains.Summarise(func(draw int) float64 { return present[draw] })
		worst.RHat, worst.ESS = math.Max(worst.RHat, summary.RHat), math.Min(worst.ESS, summary.ESS)
	}
	return worst
}

// check weighs a certificate against tempered chains and returns the one to believe. Weights that
// chains confirm stay, since they are the more precise; weights that claim trust without being
// confirmed lose it.
func (p *Posterior) check(ctx gocontext.Context, weights *Certificate, cfg CertifyConfig) (*Certificate, error) {
	chains, err := p.certifyByChains(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		weights.lower(Doubtful, "chains could not check it: %v", err)
		return weights, nil
	}
	switch {
	case weights.Verdict == Trusted && chains.Verdict == Trusted && p.agree(weights, chains):
		return weights, nil
	case weights.Verdict == Trusted && chains.Verdict != Trusted:
		weights.lower(Doubtful, "tempered chains did not confirm it: %s", chains.Reasons[0])
		return weights, nil
	case weights.Verdict > chains.Verdict:
		return weights, nil
	}
	chains.adopt(weights)
	return chains, nil
}

// Agreement of two certificates: differences of up to agreeingErrors of their standard errors, and
// a little for what these leave out.
const (
	agreeingErrors   = 4
	agreeingEvidence = 0.03 // nats
	agreeingOutcome  = 0.01
)

// agree compares log evidences and the probabilities of all outcomes.
func (p *Posterior) agree(a, b *Certificate) bool {
	if !(math.Abs(a.LogEvidence-b.LogEvidence) <= agreeingEvidence+agreeingErrors*math.Hypot(a.LogEvidenceSE, b.LogEvidenceSE)) {
		return false
	}
	n, members := p.outcomes()
	ofA, seA := a.Frequencies(n, members)
	ofB, seB := b.Frequencies(n, members)
	for i := range ofA {
		if !(math.Abs(ofA[i]-ofB[i]) <= agreeingOutcome+agreeingErrors*math.Hypot(seA[i], seB[i])) {
			return false
		}
	}
	return true
}

// adopt lists models that only the other certificate has, as far as it has evidences for them, with
// no probability.
func (c *Certificate) adopt(other *Certificate) {
	known := map[string]bool{}
	for _, model := range c.Models {
		known[fmt.Sprint(model.Code)] = true
	}
	for _, model := range other.Models {
		if other.Complete && !known[fmt.Sprint(model.Code)] {
			model.Certified, model.SE, model.Draws = 0, 0, 0
			c.Models = append(c.Models, model)
		}
	}
	c.sortModels()
}

// chainModels are the models of short tempered chains, drawn from at random.
type chainModels struct{ *rjmcmc.Result }

// lookBurnIn and lookIterations are enough for a start.
const (
	lookBurnIn     = 400
	lookIterations = 800
	lookThin       = 4
)

// lookByChains runs short tempered chains.
func (p *Posterior) lookByChains(ctx gocontext.Context) (chainModels, error) {
	starts, err := p.startsOfChains()
	if err != nil {
		return chainModels{}, err
	}
	chains, err := rjmcmc.Run(ctx, p.device.Backend(), p.target, rjmcmc.Config{
		Starts: starts, Chains: checkChains, Temperatures: checkTemperatures, BurnIn: lookBurnIn, Iterations: lookIterations, Thin: lookThin, Seed: p.chainSeed("look/chains"),
	})
	return chainModels{chains}, err
}

// pick is the code of a random draw.
func (c chainModels) pick(random *rand.Rand) []int32 { return c.Codes(random.IntN(c.Draws())) }
