package vti

import (
	"context"
	"math"
	"slices"

	"github.com/transdim/vti/models"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
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
	return e.engine.Tempered(chains, length.rHat, cfg.stream)
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
	ofQ := slices.Collect(slices.Chunk(drawn, sites))
	best := models.CodesOf(weights.Models[:min(len(weights.Models), chainCount/4)])
	bySize := append(models.CodesOf(weights.Models), ofQ...)
	if !space.AreLists(e.Target.Space()) { // most sets of sites are no list
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
	_, members := space.Outcomes(e.Target.Space())
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
