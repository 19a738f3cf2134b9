package vti

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Settings of tempered reversible-jump chains, which run on the target itself (package rjmcmc), do
// not depend on q, and find modes that no draw of q reaches. Pilot runs fit q(m) to short chains,
// and longer chains check certificates. R-hat needs many chains, and each temperature needs another
// copy of all chains. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	chainCount        = 64
	chainTemperatures = 12
	chainThin         = 4
)

// chainConfig returns the settings of all chains; name is the name of their random streams. The
// seed is derived from the configured seed, so that the chains are independent of chains that the
// caller runs with the configured seed.
func chainConfig(e *evaluator, name string) (rjmcmc.Config, error) {
	starts, err := startsOfChains(e)
	return rjmcmc.Config{
		Chains: chainCount, Temperatures: chainTemperatures, Thin: chainThin, Seed: e.Random(name).Uint64(), Starts: starts,
	}, err
}

// startsOfChains returns the models in which chains start, or nil for random models, from sparse to
// dense, which package rjmcmc draws. If the prior excludes most random models (as a heredity rule
// does), it returns draws from q(m), since chains that all start nearly empty learn too little of
// the posterior in burn-in.
func startsOfChains(e *evaluator) ([][]int32, error) {
	random := e.Random("certify/starts")
	drawn := randomCodes(e.Target.Space(), random)
	if drawn == nil {
		return nil, nil
	}
	logPrior, err := e.LogPrior(drawn)
	if err != nil {
		return nil, err
	}
	excluded := floats.Count(func(value float64) bool { return math.IsInf(value, -1) }, logPrior)
	if 2*excluded < len(drawn) {
		return nil, nil
	}
	return e.Draw(random)
}

// randomCodes returns chainCount codes with random outcomes. It returns nil for lists, because such
// codes are rarely valid lists.
func randomCodes(sp space.Space, random *rand.Rand) [][]int32 {
	if space.AreLists(sp) {
		return nil
	}
	return apply.UpTo(chainCount, func(int) []int32 {
		return apply.To(sp.Cards(), func(card int) int32 { return int32(random.IntN(card)) })
	})
}

// certifyByChains certifies by tempered chains. Standard errors come from the differences between
// chains, and the evidence from all temperatures.
func certifyByChains(ctx context.Context, e *evaluator, weights *Certificate, cfg CertifyConfig, length chainLength) (*Certificate, error) {
	settings, err := chainConfig(e, cfg.stream+"/chains")
	if err != nil {
		return nil, err
	}
	if settings.Starts, err = checkingStarts(e, cfg.stream, weights); err != nil {
		return nil, err
	}
	settings.Starts = settings.Starts[:length.chains] // the first ones are of every kind
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

// checkingStarts returns the models in which the chains that check a certificate start. There are
// four kinds in equal parts: the most probable models by weights; draws of q(m); the smallest and
// the largest models, taken from the first two kinds and from uniform draws that the prior allows;
// and models from small to large. Chains with one kind of start can agree on one mode and miss all
// others.
func checkingStarts(e *evaluator, stream string, weights *Certificate) ([][]int32, error) {
	random := e.Random(stream + "/starts")
	ofQ, err := e.Draw(random)
	if err != nil {
		return nil, err
	}
	best := models.CodesOf(weights.Models[:min(len(weights.Models), chainCount/4)])
	bySize := slices.Concat(models.CodesOf(weights.Models), ofQ, randomCodes(e.Target.Space(), random))
	logPrior, err := e.LogPrior(bySize)
	if err != nil {
		return nil, err
	}
	positions := apply.Where(len(bySize), func(i int) bool { return !math.IsInf(logPrior[i], -1) })
	possible := apply.To(positions, func(i int) []int32 { return bySize[i] })
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

// Lengths of chains that check or replace a certificate. Longer chains confirm more. Half and twice
// these lengths give the same answers (docs/benchmarks/constants.md).
const (
	checkBurnIn = 600
	// drawsPerIteration is the number of draws of CertifyConfig.Draws for which chains run one
	// iteration. For draws in excess of fewDraws it is moreDrawsPerIteration, because an iteration
	// moves every copy of every chain and takes longer than drawsPerIteration draws.
	drawsPerIteration     = 32
	moreDrawsPerIteration = 128
	fewDraws              = 1 << 15
	// longest is the largest factor by which chains that do not agree may be prolonged. They
	// continue if R-hat falls with their length and is expected to reach models.EnoughRHat within
	// this factor. Otherwise the caller trains further and runs new chains. A few rounds of
	// training, each with a certificate, cost about as much as chains of this length.
	longest = 8
	// beyond multiplies the length at which chains are expected to agree, which is known only to
	// about a tenth.
	beyond = 1.1
)

// chainLength sets the number of chains and their length. Chains end after the given number of
// iterations. They end earlier if the effective number of draws is at least the field enough, R-hat
// is at most rHat, and the evidence is resolved.
type chainLength struct {
	chains, burnIn, iterations int
	enough, rHat               float64
	// longest is the number of iterations up to which chains may continue; 0 stands for iterations.
	longest int
	// patience is the number of iterations after which chains end if their R-hat is above
	// hopelessRHat; 0 stands for no limit.
	patience int
}

// shortChains is the length for CertifyConfig.Short. A mode with a hundredth of the posterior has
// ten of a thousand effective draws, and verdict.DoubtfulMissed needs five. With a burn-in of 64
// iterations every third run did not mix, and with 96 one in 15. If half a chain has e effective
// draws, the R-hat of many chains that have mixed is about 1 + 1/(2e): 1.03 for e = 16.
var shortChains = chainLength{chains: 32, burnIn: 128, iterations: 768, enough: 1000, rHat: 1.03, patience: 96}

// hopelessRHat is the R-hat above which chains end early, because at least one chain is still far
// from all other chains.
const hopelessRHat = 1.5

// longChains returns the length of chains other than short chains. Chains that only confirm trusted
// weights have it too, because longer chains find more: of 24 posteriors with a second mode of
// .0015 to .003 of the mass, 40 standard deviations away, chains that ended at 5,000 effective
// draws found the mode in 9, and at 20,000 in 22.
func longChains(cfg CertifyConfig) chainLength {
	iterations := max(min(cfg.Draws, fewDraws)/drawsPerIteration+max(cfg.Draws-fewDraws, 0)/moreDrawsPerIteration, 4*chainThin)
	l := chainLength{chains: chainCount, burnIn: min(checkBurnIn, iterations), iterations: iterations, enough: models.EnoughESS, rHat: models.EnoughRHat, longest: longest * iterations}
	// Chains end at the effective number of draws that gives a probability of ½ the requested
	// precision, plus a third, because differences between few chains estimate errors only roughly.
	if cfg.precision > 0 {
		l.enough = math.Min(l.enough, 1/(3*cfg.precision*cfg.precision))
	}
	return l
}

func (l chainLength) reached(sp space.Space, chains *rjmcmc.Result) bool {
	worst := models.WorstOf(sp, chains)
	if l.patience > 0 && !(worst.RHat <= hopelessRHat) && chains.Draws()/chains.Chains*chains.Thin >= l.patience {
		return true
	}
	return worst.RHat <= l.rHat && worst.ESS >= l.enough && chains.EvidenceResolved()
}

// further returns the number of additional iterations after which the chains are expected to agree,
// or 0 if they are not. Chains that continue also run until they have the requested precision,
// within the longest length, since new chains would cost more. Chains whose evidence differs from
// the evidence by weights do not continue, because longer chains would not confirm the weights.
func (l chainLength) further(sp space.Space, weights *Certificate, chains *rjmcmc.Result) int {
	n, most := chains.Draws()/chains.Chains, float64(l.longest/chains.Thin)
	now := models.WorstOf(sp, chains)
	if now.RHat <= models.EnoughRHat || most <= float64(n) {
		return 0
	}
	// the evidence is NaN if not all temperatures have mixed yet
	if log, se := chains.LogEvidence(); !math.IsNaN(log) && !weights.EvidenceNear(log, se) {
		return 0
	}
	wanted := beyond * rjmcmc.LengthUntil(models.EnoughRHat, float64(n), now.RHat, float64(n/4), models.WorstOf(sp, chains.First(n/4)).RHat)
	if !(wanted <= most) { // also if wanted is NaN
		return 0
	}
	wanted = math.Max(wanted, math.Min(beyond*float64(n)*l.enough/now.ESS, most))
	return (int(math.Ceil(wanted)) - n) * chains.Thin
}
