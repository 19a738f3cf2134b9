package vti

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// How long chains check a certificate, or take its place. Chosen by hand: not tuned.
const (
	checkBurnIn = 600
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

// certifyByChains certifies by tempered chains. Their errors are those between chains, their
// evidence comes from the ladder of temperatures.
func certifyByChains(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	settings, err := chainConfig(e, "certify/chains")
	if err != nil {
		return nil, err
	}
	iterations := max(min(cfg.Draws, fewDraws)/drawsPerIteration+max(cfg.Draws-fewDraws, 0)/moreDrawsPerIteration, 4*chainThin)
	settings.BurnIn, settings.Iterations = min(checkBurnIn, iterations), iterations
	settings.Enough = func(chains *rjmcmc.Result) bool {
		worst := worstOf(e.target.Space(), chains)
		return worst.RHat <= enoughRHat && worst.ESS >= enoughESS
	}
	if cfg.Progress != nil {
		settings.Progress = func(now rjmcmc.Progress) { cfg.Progress(cfg.Draws+cfg.Draws*now.Iteration/now.Total, 2*cfg.Draws) }
	}
	chains, err := rjmcmc.Run(ctx, e.device.Backend(), e.target, settings)
	if err != nil {
		return nil, err
	}
	worst := worstOf(e.target.Space(), chains)
	if math.IsNaN(worst.RHat) {
		worst.RHat, worst.ESS = math.Inf(1), 0
	}
	// antithetic draws may count for more than they are
	c := &Certificate{Basis: Chains, KHat: math.NaN(), RHat: worst.RHat, ESS: min(worst.ESS, float64(chains.Draws())), Draws: chains.Draws()}
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
	if sample.LogQ, err = e.logProb(sample.Codes, sample.Theta); err != nil {
		return nil, err
	}
	random := e.random("certify/proposed")
	for len(c.Proposed) < chains.Draws() {
		codes, err := e.drawCodes(random)
		if err != nil {
			return nil, err
		}
		c.Proposed = append(c.Proposed, rowsOf(codes, chains.Sites)...)
	}
	c.gather()
	return c, c.conclude(e)
}

// worstOf is the largest R-hat and the smallest effective number of draws, of the log density and
// of every outcome that is neither rare nor nearly certain.
func worstOf(sp space.Space, chains *rjmcmc.Result) rjmcmc.Summary {
	worst := chains.LogDensitySummary()
	outcomes, members := outcomesOf(sp)
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
func check(ctx context.Context, e *evaluator, weights *Certificate, cfg CertifyConfig) (*Certificate, error) {
	chains, err := certifyByChains(ctx, e, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		weights.lower(Doubtful, "chains could not check it: %v", err)
		return weights, nil
	}
	switch {
	case weights.Verdict == Trusted && chains.Verdict == Trusted && agree(e.target.Space(), weights, chains):
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
func agree(sp space.Space, a, b *Certificate) bool {
	if !(math.Abs(a.LogEvidence-b.LogEvidence) <= agreeingEvidence+agreeingErrors*math.Hypot(a.LogEvidenceSE, b.LogEvidenceSE)) {
		return false
	}
	n, members := outcomesOf(sp)
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
		known[codeKey(model.Code)] = true
	}
	for _, model := range other.Models {
		if other.Complete && !known[codeKey(model.Code)] {
			model.Certified, model.SE, model.Draws = 0, 0, 0
			c.Models = append(c.Models, model)
		}
	}
	c.sortModels()
}
