package models

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// EnoughRHat and EnoughESS are the limits at which chains end early: the largest R-hat of a
// quantity is at most EnoughRHat, and every quantity has EnoughESS effective draws. With 20,000
// effective draws the standard error of a probability is at most 0.0035.
const (
	EnoughRHat = 1.01
	EnoughESS  = 20000
)

// enoughOf returns the number of effective draws at which an event of probability ½ has the
// requested precision, plus a third, because the differences between few chains estimate errors
// only roughly. The result is at most the argument most, and equals it if no precision is
// requested.
func (c Config) enoughOf(most float64) float64 {
	if c.Precision == 0 {
		return most
	}
	return math.Min(most, 1/(3*c.Precision*c.Precision))
}

// rareOutcome is a probability. WorstOf, which judges the agreement of chains, ignores an outcome
// of a site (entry of a code) if the outcome or its complement is rarer: its probability has a
// small error, and the R-hat of a few visits is noise.
const rareOutcome = 0.01

// WorstOf returns the largest R-hat and the smallest effective number of draws among the log
// density and all outcomes of sites (entries of a code) that are neither rare nor nearly certain.
func WorstOf(sp space.Space, chains *rjmcmc.Result) rjmcmc.Summary {
	density, outcomes := chains.LogDensitySummary(), worstOutcome(sp, chains)
	return rjmcmc.Summary{RHat: math.Max(density.RHat, outcomes.RHat), ESS: math.Min(density.ESS, outcomes.ESS)}
}

// worstOutcome returns the same as WorstOf, without the log density.
func worstOutcome(sp space.Space, chains *rjmcmc.Result) rjmcmc.Summary {
	worst := rjmcmc.Summary{RHat: math.Inf(-1), ESS: math.Inf(1)}
	outcomes, members := space.Outcomes(sp)
	counts := make([]int, outcomes)
	outcomesOf := make([][]int, chains.Draws())
	for draw := range outcomesOf {
		outcomesOf[draw] = members(chains.Codes(draw))
		for _, outcome := range outcomesOf[draw] {
			counts[outcome]++
		}
	}
	compared := apply.Where(outcomes, func(outcome int) bool {
		share := float64(counts[outcome]) / float64(len(outcomesOf))
		return share >= rareOutcome && share <= 1-rareOutcome
	})
	summaries := make([]rjmcmc.Summary, len(compared))
	parallel.Run(len(compared), func(i int) {
		present := make([]float64, chains.Draws())
		for draw, members := range outcomesOf {
			if slices.Contains(members, compared[i]) {
				present[draw] = 1
			}
		}
		summaries[i] = chains.Summarise(func(draw int) float64 { return present[draw] })
	})
	for _, summary := range summaries {
		worst.RHat, worst.ESS = math.Max(worst.RHat, summary.RHat), math.Min(worst.ESS, summary.ESS)
	}
	return worst
}

// Tempered returns the certificate of tempered chains. Chains whose R-hat is above the argument
// mixed count as not mixed. stream is the prefix of the names of the random streams.
func (e *Engine) Tempered(chains *rjmcmc.Result, mixed float64, stream string) (*Certificate, error) {
	log, se := chains.LogEvidence()
	c, err := e.certificateOfChains(chains, mixed, stream, log, se)
	if err == nil && math.IsNaN(c.LogEvidence) {
		c.Lower(Doubtful, "the chains have not mixed at every temperature (R-hat %.3g), so that their evidence is not resolved", chains.LadderRHat())
	}
	return c, err
}

// leastGroups is the least number of groups of draws from whose differences standard errors come.
// If there are fewer chains, they are divided into parts. Of 2,000 effective draws each part has
// 125, so that parts are nearly independent.
const leastGroups = 16

// certificateOfChains returns the certificate of chains, with the given log evidence and its
// standard error se.
func (e *Engine) certificateOfChains(chains *rjmcmc.Result, mixed float64, stream string, logEvidence, se float64) (*Certificate, error) {
	worst := WorstOf(e.Space, chains)
	if math.IsNaN(worst.RHat) {
		worst.RHat, worst.ESS = math.Inf(1), 0
	}
	// the effective number of negatively correlated draws may exceed the number of draws
	c := &Certificate{Basis: Chains, KHat: math.NaN(), RHat: worst.RHat, mixedRHat: mixed, ESS: min(worst.ESS, float64(chains.Draws())), Draws: chains.Draws()}
	c.LogEvidence, c.LogEvidenceSE = logEvidence, se
	sample := &c.Sample
	sample.Theta = mat.NewDense(chains.Draws(), chains.Dim, nil)
	parts := (leastGroups + chains.Chains - 1) / chains.Chains
	for draw := range chains.Draws() {
		sample.Theta.SetRow(draw, chains.Theta(draw))
		sample.Codes = append(sample.Codes, chains.Codes(draw))
		sample.Weight = append(sample.Weight, 1/float64(chains.Draws()))
		sample.Group = append(sample.Group, draw%chains.Chains+chains.Chains*(draw*parts/chains.Draws()))
	}
	sample.LogP = chains.LogDensity
	var err error
	if !e.AnswerOnly {
		if sample.LogQ, err = e.Q.LogProb(sample.Codes, sample.Theta); err != nil {
			return nil, err
		}
	}
	if c.Proposed, err = e.proposedByQ(chains.Draws(), stream); err != nil {
		return nil, err
	}
	c.Gather()
	return c, e.Conclude(c)
}

// finish sets the probabilities of the models of c under q(m), sorts the models and sets the
// verdict. With AnswerOnly q(m) is NaN, unless c has densities under q.
func (e *Engine) finish(c *Certificate) error {
	logModel := slices.Repeat([]float64{math.NaN()}, len(c.Models))
	if !e.AnswerOnly || c.Sample.LogQ != nil {
		var err error
		if logModel, err = e.Q.LogModel(CodesOf(c.Models)); err != nil {
			return err
		}
	}
	c.SetQ(logModel)
	c.Sort()
	c.Judge()
	return nil
}

// Conclude sets the evidences of the models and their probabilities under q(m), sorts the models
// and sets the verdict. The evidence of a model is its certified probability times the evidence of
// all models, divided by p(m). Its standard error treats the two factors as independent.
func (e *Engine) Conclude(c *Certificate) error {
	logPrior, err := e.LogPrior(CodesOf(c.Models))
	if err != nil {
		return err
	}
	for i := range c.Models {
		if model := &c.Models[i]; model.Certified > 0 {
			model.LogEvidence = c.LogEvidence + math.Log(model.Certified) - logPrior[i]
			model.LogEvidenceSE = math.Hypot(c.LogEvidenceSE, model.SE/model.Certified)
		}
	}
	return e.finish(c)
}

// Adopt adds to c, with probability 0, the models that are in the certificate other but not in c,
// if other has evidences for them.
func (c *Certificate) Adopt(other *Certificate) {
	known := map[string]bool{}
	for _, model := range c.Models {
		known[space.Key(model.Code)] = true
	}
	for _, model := range other.Models {
		if other.Complete && !known[space.Key(model.Code)] {
			model.Certified, model.SE, model.Draws = 0, 0, 0
			c.Models = append(c.Models, model)
		}
	}
	c.Sort()
}
