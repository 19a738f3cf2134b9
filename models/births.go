package models

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Settings of certification by births and deaths. They set the work of a run, not its result, since
// the verdict shows whether chains of these lengths suffice. Half and twice these values give the
// same answers, in 0.6 and 2.0 times the processor time (docs/benchmarks/constants.md).
const (
	// birthChains chains run for birthBurnIn sweeps of burn-in, then for birthFirst sweeps, then
	// longer if needed, up to birthLongest sweeps. Every birthThin-th sweep is kept. The chains are
	// few and long, because longer chains give more evidence that all modes were visited.
	birthChains  = 8
	birthBurnIn  = 512
	birthFirst   = 2048
	birthLongest = 1 << 17
	birthThin    = 4
	// birthESS is the number of effective draws at which chains end if no precision is requested.
	// Once the time is over (Config.Late), verdict.DoubtfulESS effective draws suffice.
	birthESS = 2000
	// checkingRHat and checkingESS are the R-hat and the number of effective draws at which the
	// tempered chains that check the answer end.
	checkingRHat, checkingESS = 1.03, 400
	// Chains end at the latest after the share longShare of the remaining time. The tempered chains
	// that check them end after the share lastShare of the rest. An answer from chains that are too
	// short says so, and is better than no answer.
	longShare, lastShare = 2.0 / 3, 0.9
)

// MayBear reports whether the engine can certify by Births: whether the application has a
// birth-death process over models (Known.BirthDeath).
func (e *Engine) MayBear() bool {
	_, masks := e.Space.(space.RowMasker)
	return e.Known.BirthDeath != nil && masks
}

// Births certifies by chains over models that add members of a model, such as predictors (births),
// and remove them (deaths). A second set of such chains, tempered and with independent random
// numbers, checks them: the answer is confirmed if the two sets agree. In each set half of the
// chains start from the prior, and half from models of the largest size. The evidence is Σ p(m) p(y
// | m) over the models m that the tempered chains visited, divided by the share of these models in
// the untempered chains.
func (x *Visited) Births(ctx context.Context, cfg Config) (*Certificate, error) {
	process := x.Known.BirthDeath(cfg.Found)
	limited, cancel := budget.Share(ctx, longShare)
	defer cancel()
	long, err := x.birthChains(limited, process, cfg, "births", []float64{1}, EnoughRHat, birthESS)
	if err != nil {
		return nil, err
	}
	// At the smallest power of the posterior a chain visits models that have almost no members in
	// common, but whose sizes are still probable in the posterior.
	powers := []float64{1, 0.8, 0.6}
	limited, cancelCheck := budget.Share(ctx, lastShare)
	defer cancelCheck()
	checking, err := x.birthChains(limited, process, cfg, "tempered", powers, checkingRHat, checkingESS)
	if err != nil {
		return nil, err
	}
	if !cfg.KeepModels && !x.AnswerOnly {
		if err := x.fitChains(ctx, long); err != nil {
			return nil, err
		}
	}
	c, err := x.birthCertificate(ctx, long, checking, EnoughRHat, cfg.Stream)
	if err != nil {
		return nil, err
	}
	other, err := x.birthCertificate(ctx, checking, long, checkingRHat, cfg.Stream)
	if err != nil {
		return nil, err
	}
	difference := Disagreement(x.Space, other, c)
	if nats, certain := x.above(c); certain {
		c.Lower(Doubtful, "the models found hold %.3g times the evidence estimated by birth-death chains", math.Exp(nats))
	}
	switch {
	case c.Verdict != Trusted:
	case !(other.RHat <= checkingRHat):
		c.Lower(Doubtful, "the tempered birth-death chains that check the answer have not mixed (R-hat %.3g)", other.RHat)
	case difference != "":
		c.Lower(Doubtful, "tempered birth-death chains did not confirm the answer: %s", difference)
	default:
		c.Confirmed = true
	}
	if !cfg.KeepModels && x.AnswerOnly && c.Verdict != Trusted { // the caller then certifies by weights over models, drawn from q(m)
		err = x.fitChains(ctx, long)
	}
	return c, err
}

// birthChains runs birth-death chains, tempered at the given powers of the posterior, until their
// largest R-hat is at most rHat and every quantity has enough effective draws, or up to
// birthLongest sweeps.
func (e *Engine) birthChains(ctx context.Context, process rjmcmc.Collapsed, cfg Config, name string, powers []float64, rHat, enough float64) (*rjmcmc.Result, error) {
	return e.chainsUntil(ctx, process, cfg, name, rjmcmc.CollapsedConfig{
		Chains: birthChains, BurnIn: birthBurnIn, Iterations: birthLongest, Thin: birthThin, First: birthFirst, Powers: powers,
	}, rHat, enough, func(*rjmcmc.Result) bool { return true })
}

// birthCertificate returns the certificate by the argument chains. Its evidence comes from the
// models that a second set of chains, the argument other, visited. If the R-hat of the first set is
// above the argument mixed, the verdict says that they have not mixed.
func (x *Visited) birthCertificate(ctx context.Context, chains, other *rjmcmc.Result, mixed float64, stream string) (*Certificate, error) {
	log, se, err := x.evidenceByVisits(ctx, chains, other)
	if err != nil {
		return nil, err
	}
	c, err := x.certificateOfChains(chains, mixed, stream, log, se)
	if err != nil {
		return nil, err
	}
	c.Basis = BirthsAndDeaths
	if err := x.describe(ctx, c.Models); err != nil {
		return nil, err
	}
	if !(se <= resolvedEvidence) {
		c.Lower(Doubtful, "birth-death chains hardly ever return to a model: none of %s has a probability that they resolve", english.Count(len(c.Models), "model"))
	}
	return c, nil
}

// resolvedEvidence is the largest standard error, in nats, of a log evidence by evidenceByVisits
// with which an answer can be trusted (verdict.DoubtfulEvidenceSE).
const resolvedEvidence = 0.2

// evidenceByVisits estimates the log evidence. With M the set of models that the second set of
// chains (the argument other) visited, the estimate is the log of Σ p(m) p(y | m) over M, known in
// closed form, less the log of the fraction of the draws of the first set (the argument chains)
// that lie in M. M comes from other chains, because the fraction of a chain's draws that lie in
// models chosen by the same chain is too large. The standard error comes from the differences
// between chains.
func (x *Visited) evidenceByVisits(ctx context.Context, chains, other *rjmcmc.Result) (log, se float64, err error) {
	chosen := map[string]bool{}
	var codes [][]int32
	for draw := range other.Draws() {
		if code := other.Codes(draw); !chosen[space.Key(code)] {
			chosen[space.Key(code)] = true
			codes = append(codes, code)
		}
	}
	positions, err := x.Add(ctx, codes, nil)
	if err != nil {
		return 0, 0, err
	}
	masses := apply.To(positions, x.logMass)
	share := chains.Summarise(func(draw int) float64 {
		if chosen[space.Key(chains.Codes(draw))] {
			return 1
		}
		return 0
	})
	return floats.LogSumExp(masses) - math.Log(share.Mean), share.MCSE / share.Mean, nil
}
