package vti

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/rjmcmc"
)

// certifyByChains certifies by tempered chains. Their errors are those between chains, their
// evidence comes from the ladder of temperatures.
func certifyByChains(ctx context.Context, e *evaluator, weights *Certificate, cfg CertifyConfig, length chainLength) (*Certificate, error) {
	settings, err := chainConfig(e, cfg.stream+"/chains")
	if err != nil {
		return nil, err
	}
	if settings.Starts, err = checkingStarts(e, cfg.stream, weights); err != nil {
		return nil, err
	}
	settings.Starts = settings.Starts[:length.chains] // of all kinds
	settings.Chains, settings.BurnIn, settings.Iterations = length.chains, length.burnIn, length.iterations
	settings.Enough = func(chains *rjmcmc.Result) bool { return length.reached(e.Target.Space(), chains) }
	settings.Further = func(chains *rjmcmc.Result) int { return length.further(e.Target.Space(), weights, chains) }
	if cfg.Progress != nil {
		settings.Progress = func(now rjmcmc.Progress) { cfg.Progress(cfg.Draws+cfg.Draws*now.Iteration/now.Total, 2*cfg.Draws) }
	}
	chains, err := e.runChains(ctx, settings, max(cfg.ChainGroups, 1))
	if err != nil {
		return nil, err
	}
	return chainsCertificate(e, chains, length.rHat, cfg.stream)
}

// chainsCertificate is what tempered chains show, which agree at an R-hat of at most mixed.
func chainsCertificate(e *evaluator, chains *rjmcmc.Result, mixed float64, stream string) (*Certificate, error) {
	log, se := chains.LogEvidence()
	c, err := certificateOfChains(e, chains, mixed, stream, log, se)
	if err == nil && math.IsNaN(c.LogEvidence) {
		c.lower(Doubtful, "the chains have not mixed at every temperature (R-hat %.3g), so that their evidence is not resolved", chains.LadderRHat())
	}
	return c, err
}

// certificateOfChains is what chains show, whose log evidence is given.
func certificateOfChains(e *evaluator, chains *rjmcmc.Result, mixed float64, stream string, logEvidence, se float64) (*Certificate, error) {
	worst := worstOf(e.Target.Space(), chains)
	if math.IsNaN(worst.RHat) {
		worst.RHat, worst.ESS = math.Inf(1), 0
	}
	// antithetic draws may count for more than they are
	c := &Certificate{Basis: Chains, KHat: math.NaN(), RHat: worst.RHat, mixedRHat: mixed, ESS: min(worst.ESS, float64(chains.Draws())), Draws: chains.Draws()}
	c.LogEvidence, c.LogEvidenceSE = logEvidence, se
	sample := &c.Sample
	sample.Theta = mat.NewDense(chains.Draws(), chains.Dim, nil)
	for draw := range chains.Draws() {
		sample.Theta.SetRow(draw, chains.Theta(draw))
		sample.Codes = append(sample.Codes, chains.Codes(draw))
		sample.Weight = append(sample.Weight, 1/float64(chains.Draws()))
		sample.Group = append(sample.Group, draw%chains.Chains)
	}
	sample.LogP = chains.LogDensity
	var err error
	if sample.LogQ, err = e.LogProb(sample.Codes, sample.Theta); err != nil {
		return nil, err
	}
	random := e.Random(stream + "/proposed")
	for len(c.Proposed) < chains.Draws() {
		codes, err := e.DrawCodes(random)
		if err != nil {
			return nil, err
		}
		c.Proposed = append(c.Proposed, rowsOf(codes, chains.Sites)...)
	}
	c.gather()
	return c, c.conclude(e)
}

// checkingStarts are models of four kinds in which the chains that check a certificate start, in
// equal parts: the most probable ones by weights, draws of q(m), the smallest and largest of all
// that the prior allows among these and among uniform draws, and models from small to large. Chains
// that start in one way can agree on one mode and miss all others.
func checkingStarts(e *evaluator, stream string, weights *Certificate) ([][]int32, error) {
	random := e.Random(stream + "/starts")
	drawn, err := e.DrawCodes(random)
	if err != nil {
		return nil, err
	}
	_, sites, _ := e.Sizes()
	ofQ := rowsOf(drawn, sites)
	best := codesOf(weights.Models[:min(len(weights.Models), chainCount/4)])
	bySize := append(codesOf(weights.Models), ofQ...)
	if _, lists := e.Target.Space().(lister); !lists { // most sets of sites are no list
		for range chainCount {
			code := make([]int32, sites)
			for site, card := range e.Target.Space().Cards() {
				code[site] = int32(random.IntN(card))
			}
			bySize = append(bySize, code)
		}
	}
	logPrior, err := e.LogPrior(bySize)
	if err != nil {
		return nil, err
	}
	possible := bySize[:0:0]
	for i, code := range bySize {
		if !math.IsInf(logPrior[i], -1) {
			possible = append(possible, code)
		}
	}
	_, members := outcomesOf(e.Target.Space())
	slices.SortStableFunc(possible, func(a, b []int32) int { return len(members(a)) - len(members(b)) })
	var starts [][]int32
	for k := range chainCount / 4 {
		starts = append(starts, best[k%len(best)], ofQ[k%len(ofQ)])
		if end := min(k/2, len(possible)-1); k%2 == 0 {
			starts = append(starts, possible[end])
		} else {
			starts = append(starts, possible[len(possible)-1-end])
		}
		starts = append(starts, possible[k*(len(possible)-1)/(chainCount/4)])
	}
	return starts, nil
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
