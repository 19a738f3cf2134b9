package vti

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// BirthDeathTarget is an ExactTarget with a birth-death process over models that knows the odds of
// every member at each step. Where models are few items among thousands that can stand in for each
// other, no distribution that weights could come from is near the posterior, and chains that
// propose one item at a time hardly move.
type BirthDeathTarget interface {
	ExactTarget
	// BirthDeath is the posterior over models that the process keeps; nil where there is none.
	BirthDeath() rjmcmc.Collapsed
}

// How births and deaths certify. All chosen by hand, not tuned.
const (
	// birthChains run for birthFirst sweeps at first after birthBurnIn, and for birthLongest at
	// most: few and long, because how long a chain is says whether it has been everywhere.
	birthChains  = 8
	birthBurnIn  = 512
	birthFirst   = 2048
	birthLongest = 1 << 17
	birthThin    = 4
	// birthESS effective draws are enough.
	birthESS = 2000
	// Chains that check them are tempered and agree among themselves to within checkingRHat, with
	// checkingESS effective draws.
	checkingRHat, checkingESS = 1.03, 400
)

// birthPowers are those of the copies of each chain that checks: the flattest, of which sets of
// items have next to nothing in common, still has the sizes of models that the posterior has.
func birthPowers() []float64 { return []float64{1, 0.8, 0.6} }

// birthsOf is the posterior for births and deaths, or nil.
func birthsOf(e *evaluator) rjmcmc.Collapsed {
	target, ok := e.Target.(BirthDeathTarget)
	if _, masks := e.Target.Space().(space.RowMasker); !ok || !masks {
		return nil
	}
	return target.BirthDeath()
}

// certifyBirths certifies by chains of births and deaths, which other chains, tempered and from
// random numbers of their own, confirm where both agree. Half of each start from the prior and half
// from models of the largest size. The evidence is that of the models of the other chains over how
// often these are there.
func certifyBirths(ctx context.Context, e *evaluator, x *modelMasses, cfg CertifyConfig) (*Certificate, error) {
	long, err := birthChainsOf(ctx, e, cfg, "births", []float64{1}, enoughRHat, birthESS)
	if err != nil {
		return nil, err
	}
	checking, err := birthChainsOf(ctx, e, cfg, "tempered", birthPowers(), checkingRHat, checkingESS)
	if err != nil {
		return nil, err
	}
	if !cfg.keepModels {
		if err := fitToDraws(ctx, e, long); err != nil {
			return nil, err
		}
	}
	c, err := birthCertificate(ctx, e, x, long, checking, enoughRHat, cfg.stream)
	if err != nil {
		return nil, err
	}
	other, err := birthCertificate(ctx, e, x, checking, long, checkingRHat, cfg.stream)
	if err != nil {
		return nil, err
	}
	difference := disagreement(e.Target.Space(), other, c)
	if nats, certain := x.above(c); certain {
		c.lower(Doubtful, "the models found hold %.3g times the evidence estimated by birth-death chains", math.Exp(nats))
	}
	switch {
	case c.Verdict != Trusted:
	case !(other.RHat <= checkingRHat):
		c.lower(Doubtful, "the tempered birth-death chains that check the answer have not mixed (R-hat %.3g)", other.RHat)
	case difference != "":
		c.lower(Doubtful, "tempered birth-death chains did not confirm the answer: %s", difference)
	default:
		c.Confirmed = true
	}
	return c, nil
}

// birthChainsOf are chains as long as it takes.
func birthChainsOf(ctx context.Context, e *evaluator, cfg CertifyConfig, name string, powers []float64, rHat, enough float64) (*rjmcmc.Result, error) {
	sp := e.Target.Space()
	if cfg.precision > 0 {
		enough = math.Min(enough, 1/(3*cfg.precision*cfg.precision))
	}
	settings := rjmcmc.CollapsedConfig{
		Chains: birthChains, BurnIn: birthBurnIn, Iterations: birthLongest, Thin: birthThin, First: birthFirst, Powers: powers,
		Enough: func(chains *rjmcmc.Result) bool {
			worst := worstOf(sp, chains)
			return worst.RHat <= rHat && worst.ESS >= enough
		},
		Seed: e.Random(cfg.stream + "/" + name).Uint64(),
	}
	if cfg.Progress != nil {
		settings.Progress = func(done, total int) {
			cfg.Progress(done/birthThin*birthChains, total/birthThin*birthChains)
		}
	}
	return rjmcmc.RunCollapsed(ctx, birthsOf(e), len(sp.Cards()), sp.(space.RowMasker).MaskRow, settings)
}

// birthCertificate is what chains show, with the evidence from the models of other chains.
func birthCertificate(ctx context.Context, e *evaluator, x *modelMasses, chains, other *rjmcmc.Result, mixed float64, stream string) (*Certificate, error) {
	log, se, err := evidenceByVisits(ctx, x, chains, other)
	if err != nil {
		return nil, err
	}
	c, err := certificateOfChains(e, chains, mixed, stream, log, se)
	if err != nil {
		return nil, err
	}
	c.Basis = BirthsAndDeaths
	if err := x.describe(ctx, c.Models); err != nil {
		return nil, err
	}
	if !(se <= resolvedEvidence) {
		c.lower(Doubtful, "birth-death chains hardly ever return to a model: none of %s has a probability that they resolve", english.Count(len(c.Models), "model"))
	}
	return c, nil
}

// resolvedEvidence is the standard error of a log evidence by visits up to which it says something.
// Chosen by hand.
const resolvedEvidence = 0.2

// evidenceByVisits is the log of the mass that models of other chains have, known in closed form,
// over the share of the draws of chains that are there. Chains that had a part in choosing the
// models would be there too often. Its error is that between chains.
func evidenceByVisits(ctx context.Context, x *modelMasses, chains, other *rjmcmc.Result) (log, se float64, err error) {
	chosen := map[string]bool{}
	var codes [][]int32
	for draw := range other.Draws() {
		if code := other.Codes(draw); !chosen[codeKey(code)] {
			chosen[codeKey(code)] = true
			codes = append(codes, code)
		}
	}
	positions, err := x.add(ctx, codes, nil)
	if err != nil {
		return 0, 0, err
	}
	masses := make([]float64, len(positions))
	for i, at := range positions {
		masses[i] = x.logMass(at)
	}
	shares := make([]float64, chains.Chains)
	each := float64(chains.Draws() / chains.Chains)
	for draw := range chains.Draws() {
		if chosen[codeKey(chains.Codes(draw))] {
			shares[draw%chains.Chains] += 1 / each
		}
	}
	mean, sd := stat.MeanStdDev(shares, nil)
	return floats.LogSumExp(masses) - math.Log(mean), sd / mean / math.Sqrt(float64(len(shares))), nil
}
