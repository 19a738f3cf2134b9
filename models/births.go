package models

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Settings of certification by births and deaths: the work of a run, not its result, since the
// verdict shows whether chains of these lengths suffice. Not tuned.
const (
	// birthChains chains run for birthFirst sweeps at first after birthBurnIn, and for birthLongest
	// at most: few and long, because longer chains give more evidence that all modes were visited.
	birthChains  = 8
	birthBurnIn  = 512
	birthFirst   = 2048
	birthLongest = 1 << 17
	birthThin    = 4
	// birthESS is a sufficient number of effective draws.
	birthESS = 2000
	// checkingRHat and checkingESS are the R-hat and effective draws at which the tempered chains
	// that check the others end.
	checkingRHat, checkingESS = 1.03, 400
)

// MayBear reports whether a birth-death process over the models exists.
func (e *Engine) MayBear() bool {
	_, masks := e.Space.(space.RowMasker)
	return e.Known.BirthDeath != nil && masks
}

// Births certifies by chains of births and deaths. Other chains, tempered and with independent
// random numbers, confirm them where both agree. Half of each start from the prior and half from
// models of the largest size. The evidence is the mass of the models of the other chains over their
// share of the draws.
func (x *Visited) Births(ctx context.Context, cfg Config) (*Certificate, error) {
	long, err := x.birthChains(ctx, cfg, "births", []float64{1}, EnoughRHat, birthESS)
	if err != nil {
		return nil, err
	}
	// The flattest copy of a checking chain visits sets of items with almost nothing in common, but
	// models of the sizes of the posterior.
	powers := []float64{1, 0.8, 0.6}
	checking, err := x.birthChains(ctx, cfg, "tempered", powers, checkingRHat, checkingESS)
	if err != nil {
		return nil, err
	}
	if !cfg.KeepModels {
		if err := x.Q.Fit(ctx, codesOfChains(long), nil); err != nil {
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
	return c, nil
}

// birthChains runs chains until they suffice.
func (e *Engine) birthChains(ctx context.Context, cfg Config, name string, powers []float64, rHat, enough float64) (*rjmcmc.Result, error) {
	return e.chainsUntil(ctx, e.Known.BirthDeath, cfg, name, rjmcmc.CollapsedConfig{
		Chains: birthChains, BurnIn: birthBurnIn, Iterations: birthLongest, Thin: birthThin, First: birthFirst, Powers: powers,
	}, func(_ *rjmcmc.Result, worst rjmcmc.Summary) bool {
		return worst.RHat <= rHat && worst.ESS >= cfg.enoughOf(enough)
	})
}

// birthCertificate is the certificate of chains, with the evidence from the models of other chains.
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

// resolvedEvidence is the largest standard error of a log evidence by visits that counts as
// resolved: the limit of a trusted answer (verdict.DoubtfulEvidenceSE).
const resolvedEvidence = 0.2

// evidenceByVisits is the log of the mass of the models of other chains, known in closed form, over
// their share of the draws of chains. A chain visits the models that it chose itself too often, so
// that the models come from other chains. The error comes from the differences between chains.
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
	masses := make([]float64, len(positions))
	for i, at := range positions {
		masses[i] = x.logMass(at)
	}
	shares := make([]float64, chains.Chains)
	each := float64(chains.Draws() / chains.Chains)
	for draw := range chains.Draws() {
		if chosen[space.Key(chains.Codes(draw))] {
			shares[draw%chains.Chains] += 1 / each
		}
	}
	mean, sd := stat.MeanStdDev(shares, nil)
	return floats.LogSumExp(masses) - math.Log(mean), sd / mean / math.Sqrt(float64(len(shares))), nil
}
