package models

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Settings of certification of a collapsed posterior, whose parameters are integrated out. They set
// the work of a run, not its result, since chains and annealed populations must agree. Half and
// twice these values give the same answers (docs/benchmarks/constants.md).
const (
	// collapsedGroups populations of collapsedParticles states each are annealed, with
	// collapsedSweeps sweeps of each state after each increase of the power of the evidence. If
	// their result is too imprecise, the next round has moreSweeps times the number of sweeps.
	// There are at most collapsedRounds rounds, and none that would take more than half of the
	// remaining time, since chains follow.
	collapsedGroups    = 16
	collapsedParticles = 128
	collapsedSweeps    = 2
	moreSweeps         = 4
	collapsedRounds    = 3
	// decidedOutcome is a probability. An outcome that is rarer, or whose complement is, does not
	// count for the effective number of states of populations: the errors of its probability are
	// small, and a hundred such numbers, each from the differences between collapsedGroups
	// populations, have a small minimum by chance.
	decidedOutcome = 0.1
	// ladderStep is the number of annealing steps between two neighbouring temperatures of the
	// chains. Each annealing step leaves nine tenths of the draws effective, so that about half of
	// the exchanges of states between neighbouring temperatures are accepted.
	ladderStep = 3
	// collapsedChains chains run for collapsedFirst iterations at first, and for collapsedLongest
	// iterations at most. Every collapsedThin-th iteration is kept. An iteration is a sweep over
	// the model and all latent variables.
	collapsedChains  = 32
	collapsedBurnIn  = 256
	collapsedFirst   = 512
	collapsedLongest = 1 << 14
	collapsedThin    = 1
	// The same numbers for spaces whose models are lists of a few of many items. Chains are fewer
	// and shorter, because a sweep takes about a millisecond and replaces many items of a list.
	// Fewer draws are kept, because each takes as much memory as there are items.
	listChains = 16
	listBurnIn = 128
	listThin   = 2
)

// MayCollapse reports whether the engine can certify by Collapsed and needs to: the field
// Known.Collapsed is set, the space gives the mask of a single model (space.RowMasker), and
// evidences of models are not known exactly.
func (e *Engine) MayCollapse() bool {
	_, masks := e.Space.(space.RowMasker)
	return e.Known.Collapsed != nil && masks && !e.Exact()
}

// Collapsed certifies by tempered chains over models and latent variables. Annealed populations of
// states confirm the chains if the results of both agree. Chains start from two kinds of states,
// and populations start from the prior, so that a mode that only one of the two methods finds shows
// as a difference. q(m) is fitted to the chains if it is needed, unless cfg.KeepModels is true.
func (e *Engine) Collapsed(ctx context.Context, cfg Config) (*Certificate, error) {
	annealing := rjmcmc.AnnealConfig{Groups: collapsedGroups, Particles: collapsedParticles, Sweeps: collapsedSweeps}
	settings := rjmcmc.CollapsedConfig{
		Chains: collapsedChains, BurnIn: collapsedBurnIn, Iterations: collapsedLongest, Thin: collapsedThin, First: collapsedFirst,
	}
	enough := float64(EnoughESS)
	if asItems, _ := itemsOf(e.Space); asItems.weights != nil { // lists
		settings.Chains, settings.BurnIn, settings.Thin, enough = listChains, listBurnIn, listThin, birthESS
	}
	posterior := e.Known.Collapsed(cfg.Found)
	var populations *Certificate
	var ladder []float64
	for round := range collapsedRounds {
		began := time.Now()
		annealing.Seed = e.random(fmt.Sprintf("%s/populations/%d", cfg.Stream, round)).Uint64()
		annealed, err := rjmcmc.Anneal(ctx, posterior, annealing)
		if err != nil {
			return nil, err
		}
		ladder, annealing.Powers = annealed.Ladder(ladderStep), annealed.Powers
		if populations, err = e.populationsCertificate(annealed, cfg.Stream); err != nil {
			return nil, err
		}
		end, limited := ctx.Deadline()
		if populations.Verdict == Trusted || limited && moreSweeps*time.Since(began) > time.Until(end)/2 {
			break
		}
		annealing.Sweeps *= moreSweeps
	}
	settings.Powers = ladder
	limited, cancel := budget.Share(ctx, lastShare)
	defer cancel()
	chains, err := e.chainsUntil(limited, posterior, cfg, "chains", settings, EnoughRHat, enough, (*rjmcmc.Result).EvidenceResolved)
	if err != nil {
		return nil, err
	}
	if !cfg.KeepModels && !e.AnswerOnly {
		if err := e.fitChains(ctx, chains); err != nil {
			return nil, err
		}
	}
	certificate, err := e.Tempered(chains, EnoughRHat, cfg.Stream)
	if err != nil {
		return nil, err
	}
	certificate.Basis = CollapsedChains
	certificate.confirmBy(e.Space, populations)
	if !cfg.KeepModels && e.AnswerOnly && certificate.Verdict != Trusted { // weights of q(m) follow
		err = e.fitChains(ctx, chains)
	}
	return certificate, err
}

// fitChains fits q(m) to the models of chains. If the deadline of ctx passes, q(m) stays as it was.
func (e *Engine) fitChains(ctx context.Context, chains *rjmcmc.Result) error {
	err := e.Q.Fit(ctx, apply.UpTo(chains.Draws(), chains.Codes), nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// chainsUntil runs chains over models until their largest R-hat is at most rHat, the probability of
// every outcome has the argument enough as its effective number of draws, and the function resolved
// returns true. The log density needs fewer draws, since it only shows that the chains mix.
func (e *Engine) chainsUntil(ctx context.Context, target rjmcmc.Collapsed, cfg Config, name string, settings rjmcmc.CollapsedConfig, rHat, enough float64, resolved func(chains *rjmcmc.Result) bool) (*rjmcmc.Result, error) {
	settings.Seed = e.random(cfg.Stream + "/" + name).Uint64()
	settings.Growth = func(chains *rjmcmc.Result) float64 {
		density, outcomes := chains.LogDensitySummary(), worstOutcome(e.Space, chains)
		enough := cfg.enoughOf(enough)
		growth := math.Max(enough/outcomes.ESS, math.Min(enough, checkingESS)/density.ESS)
		if cfg.late() {
			growth = verdict.DoubtfulESS / math.Min(outcomes.ESS, density.ESS)
		}
		if growth <= 1 && !(math.Max(outcomes.RHat, density.RHat) <= rHat && resolved(chains)) {
			return math.Inf(1)
		}
		return growth
	}
	settings.Progress = func(done, total int) {
		cfg.report(done/settings.Thin*settings.Chains, total/settings.Thin*settings.Chains)
	}
	return rjmcmc.RunCollapsed(ctx, target, len(e.Space.Cards()), e.Space.(space.RowMasker).MaskRow, settings)
}

// populationsCertificate returns the certificate of annealed populations, with standard errors from
// the differences between populations. Its ESS is the smallest effective number of draws among the
// outcomes that are neither rare nor nearly certain (decidedOutcome).
func (e *Engine) populationsCertificate(annealed *rjmcmc.Annealed, stream string) (*Certificate, error) {
	sites, dim := len(e.Space.Cards()), e.Space.Dim()
	random := e.random(stream + "/populations")
	c := &Certificate{Basis: Weights, KHat: math.NaN()}
	logs := apply.To(annealed.Groups, func(group rjmcmc.AnnealedGroup) float64 { return group.LogEvidence })
	c.LogEvidence, c.LogEvidenceSE = psis.LogMeanExp(logs)
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
			sample.Weight = append(sample.Weight, group.Weights[i]*math.Exp(logs[g]-c.LogEvidence)/float64(len(logs)))
			sample.Group = append(sample.Group, g)
		}
	}
	c.Draws = len(sample.Codes)
	sample.Theta = mat.NewDense(c.Draws, dim, theta)
	c.ESS = float64(c.Draws)
	outcomes, members := space.Outcomes(e.Space)
	probability, se := sample.groupedFrequencies(outcomes, members)
	for i, p := range probability {
		if p >= decidedOutcome && p <= 1-decidedOutcome {
			c.ESS = math.Min(c.ESS, p*(1-p)/(se[i]*se[i]))
		}
	}
	c.Gather()
	j := verdict.Judge(c.measured())
	c.Verdict, c.Reasons = j.Verdict, j.Reasons
	return c, nil
}

func (c *Certificate) confirmBy(sp space.Space, populations *Certificate) {
	difference := MissedByChains(populations, c)
	if difference == "" {
		difference = Disagreement(sp, populations, c)
	}
	switch {
	case c.Verdict != Trusted:
	case populations.Verdict != Trusted:
		difference = populations.Reasons[0]
		fallthrough
	case difference != "":
		c.Lower(Doubtful, "annealed populations did not confirm the chains: %s; log evidence %s by populations, %s by chains", difference, populations.EvidenceText(), c.EvidenceText())
	default:
		c.Confirmed = true
	}
}
