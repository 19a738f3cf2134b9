package hbm

import (
	gocontext "context"
	"fmt"
	"math"
	"time"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
)

// CertifyConfig holds the number of draws and the time limit of Certify, the check of a fit by
// importance weights. The zero value is a good default.
type CertifyConfig struct {
	// Draws is the number of weighted draws. 0 stands for 8,000 and, if these do not show that the
	// weights are reliable, up to 64,000.
	Draws int
	// Until, if not zero, is the time at which draws end, after at least one batch.
	Until time.Time
}

// Certificate is the result of importance weighting of a posterior: the evidence, with its error,
// corrected draws, and a verdict.
//
// A plate is a set of members over which variables are repeated, such as groups. If the variables
// of different members g of a plate are independent given all other variables, in the model and in
// the variational family, the members are weighted one by one. Let z_g and x_g be the latent
// variables and the data of member g, θ the other latent variables, and x_0 the other data. Then
// the evidence given θ is a product over members,
//
//	p(x, θ) = p(θ, x_0) Π_g ∫ p(x_g, z_g | θ) dz_g
//
// and the integral of each member is estimated without bias by a mean over draws of z_g. So the
// weights of the draws of θ vary hardly more with many members than with few.
type Certificate struct {
	// Verdict says how far the posterior can be trusted, and Reasons say why it is not better.
	Verdict vti.Verdict
	Reasons []string
	// Plate is the plate whose members are weighted one by one; nil if there is none.
	Plate *Plate
	// KHat is the Pareto shape k̂ of the tail of the weights, and ESS the effective number of
	// draws. Draws is the number of draws.
	KHat, ESS float64
	Draws     int
	// LogEvidence is log p(x) with its standard error, in nats.
	LogEvidence, LogEvidenceSE float64
	// NonFinite is the number of draws whose density was not finite; their weight is zero.
	NonFinite int
	// Late says that draws ended at the time CertifyConfig.Until, although more draws might change
	// the verdict.
	Late bool
	// Sample holds draws that follow the posterior if each is weighted by its Weight; the weights
	// sum to one. LogJoint and LogQ are nil.
	Sample *Draws
	Weight []float64

	logWeights []float64 // log weights minus the logarithm of the mean weight
	biased     bool      // each member has too few draws, or the family misses a part of the posterior
}

// evidence returns the evidence of the model. If the weights are biased, their tail shows nothing
// about the error, and KHat is +Inf.
func (c *Certificate) evidence() models.Evidence {
	if c.biased {
		c.KHat = math.Inf(1)
	}
	return models.Evidence{Log: c.LogEvidence, SE: c.LogEvidenceSE, KHat: c.KHat, Draws: c.Draws, ESS: c.ESS, NonFinite: c.NonFinite, Bound: math.Inf(-1)}
}

// Numbers of draws of a certificate. If there are few groups, the posterior of their standard
// deviation has a tail that 2,000 draws do not show. With 2,000 draws and a good k̂, the standard
// deviation of this posterior is 9 and 14 percent too small in two of 9 fits.
const (
	firstDraws  = 8000
	mostDraws   = 64_000
	enoughESS   = 1000    // effective draws at which doubling ends: sds have errors of 2%
	keptNumbers = 1 << 25 // largest count of numbers in all draws together
	// hopelessShare is the fraction of effective draws below which, if k̂ is unreliable too, a
	// variational family counts as missing parts of the posterior. On tables with nested groups,
	// log evidences differ from numerical integrals by 0.3 to 3 nats at smaller fractions, and by
	// at most 0.03 nats if a tenth of the draws is effective.
	hopelessShare = 0.02
)

// Certify computes importance weights of draws from the family. A fraction of the draws comes from
// wider distributions (see the file widening.go). If the family is too narrow, these draws have
// large weights and thereby show it. If ctx is cancelled, Certify stops after the batch of draws in
// progress, with an error that wraps ctx.Err().
func (p *Posterior) Certify(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	if cfg.Draws < 0 {
		return nil, fmt.Errorf("hbm.CertifyConfig: got %d draws, want a number that is not negative", cfg.Draws)
	}
	draws, most := cfg.Draws, cfg.Draws
	if draws == 0 {
		numbers := 0
		for _, l := range p.family.latents {
			numbers += l.Members() * l.EventSize()
		}
		draws, most = firstDraws, max(firstDraws, min(mostDraws, keptNumbers/max(numbers, 1)))
	}
	w := &weighing{Posterior: p, plate: separable(p.model), until: cfg.Until}
	if p.family.joint {
		w.plate = nil // the members of the plate depend on each other
	}
	w.inner = w.innerDraws()
	w.outer = draws
	if p.feed.target != nil { // few sizes, so that compiled graphs serve all models
		w.outer = weighedStages[min(draws/weighedStages[1].draws, 1)].draws
	}
	w.outer = max(1, min(w.outer, 4*largestChunk/(w.inner*p.model.mostMembers())))
	sample := &Draws{Values: Values{}}
	for {
		sample.N = draws
		if err := w.run(ctx, sample); err != nil {
			return nil, err
		}
		c := w.certificate(sample)
		enough := psis.TailShare(c.KHat, draws) <= verdict.DoubtfulMissed && c.ESS >= enoughESS
		hopeless := c.Verdict == vti.Failed && draws >= 2*firstDraws // more draws would not change the verdict
		c.Late = !enough && !hopeless && budget.Passed(cfg.Until) && (sample.N < draws || draws < most)
		if c.Late && c.Verdict != vti.Trusted {
			c.Reasons = append(c.Reasons, fmt.Sprintf("the limit of time was reached after %d draws, and more draws may decide", c.Draws))
		}
		if enough || hopeless || draws >= most || c.Late {
			return c, nil
		}
		draws = min(2*draws, most)
	}
}

// certificate returns the certificate of the current weights.
func (w *weighing) certificate(sample *Draws) *Certificate {
	smoothed := psis.Smooth(w.logWeights)
	c := &Certificate{
		Plate: w.plate, Draws: sample.N, Sample: sample, KHat: smoothed.K, ESS: smoothed.ESS, NonFinite: smoothed.NonFinite,
	}
	var sum float64
	for _, logWeight := range smoothed.LogWeights {
		weight := math.Exp(logWeight - smoothed.LogMean)
		c.Weight = append(c.Weight, weight)
		sum += weight
	}
	c.LogEvidence, c.LogEvidenceSE = psis.Controlled(w.logWeights, smoothed, w.shares)
	for i := range c.Weight {
		c.Weight[i] /= sum
		c.logWeights = append(c.logWeights, w.logWeights[i]-smoothed.LogMean)
	}
	byWeights := verdict.Judge(verdict.Measured{
		Weights: &verdict.Weights{KHat: smoothed.K, Missed: psis.TailShare(smoothed.K, sample.N)},
		ESS:     smoothed.ESS, Draws: sample.N, EvidenceSE: c.LogEvidenceSE, NonFinite: smoothed.NonFinite,
	})
	j := byWeights
	if share := smoothed.ESS / float64(sample.N); sample.N >= 2*firstDraws && smoothed.K > verdict.DoubtfulKHat && share < hopelessShare {
		j.Lower(verdict.Failed, "%.1f%% of the draws are effective: the family misses a part of the posterior", 100*share)
	}
	if w.inner > 1 {
		half := psis.Smooth(w.halfWeights)
		j.Limit(math.Abs(half.LogMean-smoothed.LogMean)-4*math.Hypot(half.LogMeanSE, smoothed.LogMeanSE), 0.1, 1,
			"with half of the draws of each member of "+w.plate.name+" the log evidence differs by %.2g nats more than its errors")
	}
	c.Verdict, c.Reasons, c.biased = j.Verdict, j.Reasons, j.Verdict < byWeights.Verdict
	return c
}

// separable returns a plate whose members can be weighted one by one: each member of a variable
// belongs to at most one member of the plate, so that variables of different members of the plate
// are independent given the other variables. Of several such plates it returns the plate with most
// latent numbers in its members and, if equal, with most members; nil if there is none.
func separable(m *Model) *Plate {
	var best *Plate
	most := 0
	for _, p := range m.plates {
		numbers, separate := 0, true
		for _, v := range m.variables {
			carriers := len(apply.Keep(v.plates, func(q *Plate) bool { return q.Determines(p) }))
			separate = separate && (carriers <= 1 || v.role == Constant)
			if carriers > 0 && v.role == Latent {
				numbers += v.Members() * v.EventSize()
			}
		}
		if separate && (numbers > most || numbers == most && best != nil && p.size > best.size) {
			best, most = p, numbers
		}
	}
	return best
}

// belongs returns the first plate of v that is nested in the plate named to, or is this plate; nil
// if there is none.
func (v *Variable) belongs(to *Plate) *Plate {
	if to == nil {
		return nil
	}
	if carrier := to.carrier(v.plates); carrier >= 0 {
		return v.plates[carrier]
	}
	return nil
}

// mostMembers returns the largest number of members of any variable of the model.
func (m *Model) mostMembers() int {
	largest := 1
	for _, v := range m.variables {
		largest = max(largest, v.Members())
	}
	return largest
}
