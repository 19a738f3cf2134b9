package vti

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Tempered reversible-jump chains on the target itself (package rjmcmc) do not depend on q and find
// the modes that no draw of q reaches. Pilot runs learn from short ones, certificates are checked
// by longer ones. The numbers were chosen by hand, not tuned: R-hat needs many chains, and each
// temperature is another copy of all of them.
const (
	chainCount        = 64
	chainTemperatures = 12
	chainThin         = 4
)

// chainConfig is what all chains have in common; name is that of their random streams. The seed
// derives from that of the configuration: chains that the caller runs with the latter are
// independent of these.
func chainConfig(e *evaluator, name string) (rjmcmc.Config, error) {
	starts, err := startsOfChains(e)
	return rjmcmc.Config{
		Chains: chainCount, Temperatures: chainTemperatures, Thin: chainThin, Seed: e.Random(name).Uint64(), Starts: starts,
	}, err
}

// startsOfChains are models in which chains start: nil for those that package rjmcmc draws, from
// sparse to dense, and draws from q(m) if the prior excludes most of such models (as heredity
// does). Chains that all start nearly empty learn too little of the posterior in burn-in.
func startsOfChains(e *evaluator) ([][]int32, error) {
	cards, random := e.Target.Space().Cards(), e.Random("certify/starts")
	if _, lists := e.Target.Space().(lister); lists {
		return nil, nil
	}
	drawn := make([][]int32, chainCount)
	for i := range drawn {
		drawn[i] = make([]int32, len(cards))
		for site, card := range cards {
			drawn[i][site] = int32(random.IntN(card))
		}
	}
	logPrior, err := e.LogPrior(drawn)
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
	codes, err := e.DrawCodes(random)
	return rowsOf(codes, len(cards)), err
}

// Outcomes that are rarer than rareOutcome do not count for agreement of chains, nor do those that
// hardly ever fail: on the scale of probabilities their error is small. Chosen by hand.
const rareOutcome = 0.01

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
	var compared []int
	for outcome, count := range counts {
		if share := float64(count) / float64(len(of)); share >= rareOutcome && share <= 1-rareOutcome {
			compared = append(compared, outcome)
		}
	}
	summaries := make([]rjmcmc.Summary, len(compared))
	_ = parallel.Do(len(compared), func(i int) error { // never fails
		present := make([]float64, chains.Draws())
		for draw, own := range of {
			if slices.Contains(own, compared[i]) {
				present[draw] = 1
			}
		}
		summaries[i] = chains.Summarise(func(draw int) float64 { return present[draw] })
		return nil
	})
	for _, summary := range summaries {
		worst.RHat, worst.ESS = math.Max(worst.RHat, summary.RHat), math.Min(worst.ESS, summary.ESS)
	}
	return worst
}
