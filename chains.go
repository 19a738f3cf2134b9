package vti

import (
	"math"
	"slices"

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
	if space.AreLists(e.Target.Space()) {
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
	return slices.Collect(slices.Chunk(codes, len(cards))), err
}
