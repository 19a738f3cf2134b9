package vti

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// CollapsedTarget is a Target whose parameters may integrate out given latent variables that are
// discrete. Where there are many of these, as with rows that may be outliers, each likely set of
// their values is a mode of the parameters: more than a flow can learn or chains over parameters
// can visit. Solve then asks two methods that need no parameters, and are independent of each
// other.
type CollapsedTarget interface {
	Target
	// Collapsed is the posterior over models and latent variables; nil where there is none.
	Collapsed() rjmcmc.Collapsed
}

// How a collapsed posterior is certified. All chosen by hand, not tuned.
const (
	// collapsedGroups populations of collapsedParticles states are annealed, and morePopulations
	// times as many states, at most collapsedRounds times, where they say too little.
	collapsedGroups    = 16
	collapsedParticles = 256
	morePopulations    = 4
	collapsedRounds    = 3
	// ladderStep of the powers on the way are one step of the ladder of chains: at nine tenths
	// effective draws each, half of their exchanges are accepted.
	ladderStep = 3
	// collapsedChains run for collapsedFirst iterations at first, and for collapsedLongest at most.
	// Every collapsedThin-th is kept: a sweep leaves more behind than an iteration of chains over
	// parameters does.
	collapsedChains  = 32
	collapsedBurnIn  = 256
	collapsedFirst   = 512
	collapsedLongest = 1 << 14
	collapsedThin    = 2
)

// collapsedOf is the collapsed posterior of a target, or nil.
func collapsedOf(e *evaluator) rjmcmc.Collapsed {
	target, ok := e.Target.(CollapsedTarget)
	if _, masks := e.Target.Space().(space.RowMasker); !ok || !masks || evidencesOf(e) != nil {
		return nil
	}
	return target.Collapsed()
}

// certifyCollapsed certifies by tempered chains over models and latent variables, which annealed
// populations confirm where both agree. Chains mix in equilibrium and start in two ways,
// populations come from the prior and never do: a mode that one of them misses shows as a
// difference. q(m) is fitted to the chains, unless it is to stay.
func certifyCollapsed(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	c := collapsedOf(e)
	annealing := rjmcmc.AnnealConfig{Groups: collapsedGroups, Particles: collapsedParticles}
	var populations *Certificate
	var ladder []float64
	for round := range collapsedRounds {
		annealing.Seed = e.Random(fmt.Sprintf("%s/populations/%d", cfg.stream, round)).Uint64()
		annealed, err := rjmcmc.Anneal(ctx, c, annealing)
		if err != nil {
			return nil, err
		}
		ladder, annealing.Powers = annealed.Ladder(ladderStep), annealed.Powers
		if populations, err = populationsCertificate(e, annealed, cfg.stream); err != nil {
			return nil, err
		}
		if populations.Verdict == Trusted {
			break
		}
		annealing.Particles *= morePopulations
	}
	chains, err := collapsedChainsOf(ctx, e, c, ladder, cfg)
	if err != nil {
		return nil, err
	}
	if !cfg.keepModels {
		if err := fitToDraws(ctx, e, chains); err != nil {
			return nil, err
		}
	}
	certificate, err := chainsCertificate(e, chains, enoughRHat, cfg.stream)
	if err != nil {
		return nil, err
	}
	certificate.Basis = CollapsedChains
	certificate.confirmBy(e.Target.Space(), populations)
	return certificate, nil
}

// collapsedChainsOf are chains that are as long as it takes.
func collapsedChainsOf(ctx context.Context, e *evaluator, c rjmcmc.Collapsed, ladder []float64, cfg CertifyConfig) (*rjmcmc.Result, error) {
	sp := e.Target.Space()
	length := chainLength{enough: enoughESS, rHat: enoughRHat}
	if cfg.precision > 0 {
		length.enough = math.Min(length.enough, 1/(3*cfg.precision*cfg.precision))
	}
	settings := rjmcmc.CollapsedConfig{
		Chains: collapsedChains, BurnIn: collapsedBurnIn, Iterations: collapsedLongest, Thin: collapsedThin, First: collapsedFirst, Powers: ladder,
		Enough: func(chains *rjmcmc.Result) bool { return length.reached(sp, chains) },
		Seed:   e.Random(cfg.stream + "/chains").Uint64(),
	}
	if cfg.Progress != nil {
		settings.Progress = func(done, total int) {
			cfg.Progress(done/collapsedThin*collapsedChains, total/collapsedThin*collapsedChains)
		}
	}
	return rjmcmc.RunCollapsed(ctx, c, len(sp.Cards()), sp.(space.RowMasker).MaskRow, settings)
}

// populationsCertificate is what annealed populations show, with errors from the differences
// between them. Effective draws are those of the quantity with fewest, the log evidence among them.
func populationsCertificate(e *evaluator, annealed *rjmcmc.Annealed, stream string) (*Certificate, error) {
	_, sites, dim := e.Sizes()
	random := e.Random(stream + "/populations")
	c := &Certificate{Basis: Weights, KHat: math.NaN()}
	logs := make([]float64, len(annealed.Groups))
	for g, group := range annealed.Groups {
		logs[g] = group.LogEvidence
	}
	top := floats.Max(logs)
	evidences := make([]float64, len(logs))
	for g, log := range logs {
		evidences[g] = math.Exp(log - top)
	}
	mean, sd := stat.MeanStdDev(evidences, nil)
	c.LogEvidence, c.LogEvidenceSE = top+math.Log(mean), sd/mean/math.Sqrt(float64(len(logs)))
	var theta []float64
	sample := &c.Sample
	for g, group := range annealed.Groups {
		for i, state := range group.States {
			code, values := make([]int32, sites), make([]float64, dim)
			logP, err := state.Draw(random, code, values)
			if err != nil {
				return nil, err
			}
			sample.Codes, sample.LogP, theta = append(sample.Codes, code), append(sample.LogP, logP), append(theta, values...)
			sample.Weight = append(sample.Weight, group.Weights[i]*evidences[g]/mean/float64(len(logs)))
			sample.Group = append(sample.Group, g)
		}
	}
	c.Draws = len(sample.Codes)
	sample.Theta = mat.NewDense(c.Draws, dim, theta)
	c.ESS = math.Min(float64(c.Draws), 1/(c.LogEvidenceSE*c.LogEvidenceSE))
	outcomes, members := outcomesOf(e.Target.Space())
	probability, se := sample.groupedFrequencies(outcomes, members)
	for i, p := range probability {
		if p >= rareOutcome && p <= 1-rareOutcome {
			c.ESS = math.Min(c.ESS, p*(1-p)/(se[i]*se[i]))
		}
	}
	c.gather()
	j := verdict.Judge(c.measured())
	c.Verdict, c.Reasons = j.Verdict, j.Reasons
	return c, nil
}

// confirmBy compares chains with annealed populations.
func (c *Certificate) confirmBy(sp space.Space, populations *Certificate) {
	difference := missedByChains(populations, c)
	if difference == "" {
		difference = disagreement(sp, populations, c)
	}
	switch {
	case c.Verdict != Trusted:
	case populations.Verdict != Trusted:
		difference = populations.Reasons[0]
		fallthrough
	case difference != "":
		c.lower(Doubtful, "annealed populations did not confirm the chains: %s; log evidence %s by populations, %s by chains", difference, populations.evidenceText(), c.evidenceText())
	default:
		c.Confirmed = true
	}
}

// fitToDraws fits q(m) to the models of chains: a table to how often they were there, a network by
// maximum likelihood.
func fitToDraws(ctx context.Context, e *evaluator, chains *rjmcmc.Result) error {
	table, ok := e.Models.(*modeldist.Categorical)
	if !ok {
		return fitModels(ctx, e, func(random *rand.Rand) []int32 { return chains.Codes(random.IntN(chains.Draws())) })
	}
	if table.Count() > maxListed {
		return nil
	}
	codes := allCodes(e.Target.Space())
	logPrior, err := e.LogPrior(codes)
	if err != nil {
		return err
	}
	if _, err := e.LogModel(codes); err != nil { // creates the table's variable
		return err
	}
	counts := map[string]float64{}
	for draw := range chains.Draws() {
		counts[codeKey(chains.Codes(draw))]++
	}
	logMass := make([]float64, len(codes))
	for i, code := range codes {
		logMass[i] = math.Log(counts[codeKey(code)] + 0.5)
	}
	return setTable(e, logPrior, logMass)
}
