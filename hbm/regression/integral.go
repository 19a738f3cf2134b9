package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// integrator integrates all effects out given the hyperparameters h (standard deviations,
// correlations and noise) of a model: in closed form (jointEffects), or by weighted draws from a
// Laplace approximation (laplaceEffects).
type integrator interface {
	// logMarginal approximates log p(y, h | m) for the hyperparameters h in θ, as a smooth function
	// of h; −Inf if it cannot be computed.
	logMarginal(mask []bool, theta []float64) float64
	// estimate returns the logarithm of an unbiased estimate of p(y, h | m), and the results that
	// draws of the effects need.
	estimate(mask []bool, theta []float64, random func() *rand.Rand) (float64, keptEffects)
	// tuneAt returns an integrator whose searches for modes start at the modes given θ.
	tuneAt(mask []bool, theta []float64, random *rand.Rand) integrator
}

// keptEffects holds the results about effects that are stored for a point of hyperparameters, so
// that no density is computed twice. For a gaussian response they are the distribution of all
// effects, without its Cholesky factor, and a draw. For other responses they are draws of the outer
// effects: all but the effects of the grouping with the most effects.
type keptEffects struct {
	conditional *conditional
	drawn       []float64
	outer       outerDraws
}

// modelIntegral is the integral over the hyperparameters of one model.
type modelIntegral struct {
	code     []int32
	mask     []bool
	logPrior float64
	free     []int // the coordinates that are integrated over
	closed   bool  // free is empty, and effects have a closed form
	by       integrator
	proposal *integrate.Proposal // nil if free is empty
	sample   *integrate.Sample
	kept     []keptEffects // effects of each point (draw of hyperparameters) in the sample
	weights  psis.Result
	mended   int // number of times the proposal was mended
}

// integral estimates the posterior by integrals over the hyperparameters of every possible model.
type integral struct {
	r    *Regression
	seed uint64
	list []*modelIntegral
	models.Sum
	draws   *integralDraws
	moments *momentDraws
}

// newIntegral returns an integral that has no draws yet.
func (r *Regression) newIntegral(seed uint64) *integral {
	found := &integral{r: r, seed: seed}
	var by integrator = r.joint()
	if !r.Frame.Response.Conjugate() {
		by = newLaplaceEffects(r.distinct())
	}
	for index, code := range space.All(r.space.cards) {
		if logPrior := r.space.logPrior[index]; !math.IsInf(logPrior, -1) {
			mask := r.space.masks[index]
			m := &modelIntegral{code: slices.Clone(code), mask: mask, logPrior: logPrior, free: r.hyperparameters(mask), by: by, sample: &integrate.Sample{}}
			m.closed = len(m.free) == 0 && r.Frame.Response.Conjugate()
			found.list = append(found.list, m)
		}
	}
	return found
}

// integrate finds the evidence of every model. It integrates over hyperparameters by importance
// sampling.
func (r *Regression) integrate(ctx gocontext.Context, e effort, seed uint64, progress func(done, total int)) (*integral, error) {
	found := r.newIntegral(seed)
	if e.pilots && len(found.list) > 1 {
		if err := found.pilots(ctx, e); err != nil {
			return nil, err
		}
	} else {
		for _, m := range found.list {
			if err := found.drawFirst(ctx, m, e, e.first); err != nil {
				return nil, err
			}
		}
	}
	return found, found.improve(ctx, e, progress)
}

func (f *integral) random(m *modelIntegral, purpose string) *rand.Rand {
	return stream.Rand(f.seed, fmt.Sprintf("hbm/%s/%v", purpose, m.code))
}

// drawFirst finds the proposal of a model, and makes its first draws.
func (f *integral) drawFirst(ctx gocontext.Context, m *modelIntegral, e effort, draws int) error {
	theta, random := make([]float64, f.r.Dim()), f.random(m, "adapt")
	if len(m.free) > 0 {
		var err error
		if m.proposal, err = integrate.Adapt(ctx, f.problem(m, e), random); err != nil {
			return fmt.Errorf("%s: %w", f.r.FormulaOf(m.code), err)
		}
		some := &integrate.Sample{}
		if err := m.proposal.Draw(ctx, some, initialDraws, random); err != nil {
			return err
		}
		m.writeHyperparameters(some.Points[floats.MaxIdx(some.LogDensity)], theta)
	}
	m.by = m.by.tuneAt(m.mask, theta, f.random(m, "near"))
	if err := f.extend(ctx, m, draws, "first"); err != nil {
		return fmt.Errorf("%s: %w", f.r.FormulaOf(m.code), err)
	}
	return nil
}

// keptEffectDraws bounds the number of drawn effects that a model stores, some tens of megabytes.
// The effects of further draws are computed again when needed, unless this takes long
// (jointEffects.dear).
const keptEffectDraws = 1 << 20

// improve adds draws until evidences and moments are as accurate as the effort e requires, or until
// the largest number of draws or the time limit in e is reached.
func (f *integral) improve(ctx gocontext.Context, e effort, progress func(done, total int)) error {
	for round := 0; ; round++ {
		f.combine()
		if progress != nil {
			progress(f.Draws, e.most*len(f.list))
		}
		known := f.LogEvidenceSE <= e.se && f.ESS >= e.ess
		tails := known && (f.KHat > psis.Reliable || f.Missed > verdict.DoubtfulMissed)
		more := f.mostUncertain(e.most, tails)
		if e.time.Over() {
			more = nil
		}
		if len(more) == 0 || known && !tails {
			f.draws = f.weighted()
			if f.r.Frame.Response.Conjugate() {
				var err error
				if f.moments, err = f.exactMoments(ctx); err != nil {
					return err
				}
			}
			if len(more) == 0 || !e.sharp || f.moments == nil || f.moments.sharp(f.r.effectCount()+len(f.r.sdNames)) {
				return nil
			}
		}
		for _, m := range more {
			n := len(m.sample.Points)
			if e.sharp && m.mended < mends && m.weights.K > mendedK && m.proposal != nil {
				m.mended++
				if err := f.refine(ctx, m, fmt.Sprintf("mended/%d", m.mended)); err != nil {
					return err
				}
			}
			if !e.sharp {
				n /= 2
			}
			if err := f.extend(ctx, m, min(n, e.most-len(m.sample.Points)), fmt.Sprintf("integrate/%d", round)); err != nil {
				return err
			}
		}
	}
}

// extend makes n more draws of the hyperparameters of a model. A model without hyperparameters
// whose effects have a closed form gets one draw in all.
func (f *integral) extend(ctx gocontext.Context, m *modelIntegral, n int, purpose string) (err error) {
	first := len(m.sample.Points)
	if m.closed {
		n = 1 - first
	}
	if n <= 0 {
		return nil
	}
	random := f.random(m, purpose)
	m.kept = append(m.kept, make([]keptEffects, n)...)
	estimate := func(i int, h []float64) (logEstimate float64) {
		stream := func() *rand.Rand { return f.random(m, fmt.Sprintf("effects/%d", i)) }
		if joint := f.r.joint(); f.r.Frame.Response.Conjugate() && !joint.dear && i*joint.effects > keptEffectDraws {
			stream = nil
		}
		logEstimate, m.kept[i] = m.by.estimate(m.mask, m.writeHyperparameters(h, make([]float64, f.r.Dim())), stream)
		return logEstimate
	}
	if m.proposal != nil {
		err = m.proposal.Estimate(ctx, m.sample, n, random, estimate)
	} else {
		m.sample.Points, m.sample.LogProposal = append(m.sample.Points, make([][]float64, n)...), append(m.sample.LogProposal, make([]float64, n)...)
		err = m.sample.Evaluate(ctx, estimate)
	}
	m.weights = psis.Smooth(m.sample.LogWeights())
	return err
}

// restart drops all draws of a model, before draws from another proposal.
func (m *modelIntegral) restart(proposal *integrate.Proposal) {
	m.proposal, m.sample, m.kept = proposal, &integrate.Sample{}, nil
}

// The proposal of a model is refined while the k̂ of its weights, the shape of their tail, is above
// mendedK, but at most mends times.
const (
	mends   = 6
	mendedK = 0.3
)

// writeHyperparameters writes hyperparameters into coordinates θ and returns θ.
func (m *modelIntegral) writeHyperparameters(h, theta []float64) []float64 {
	for i, j := range m.free {
		theta[j] = h[i]
	}
	return theta
}

func (m *modelIntegral) evidence() models.Evidence {
	if m.closed {
		return models.Closed(m.weights.LogMean)
	}
	return models.FromWeights(m.weights)
}

func (f *integral) problem(m *modelIntegral, e effort) integrate.Problem {
	p := e.problem
	p.PerRound *= len(m.free) + 1
	p.LogDensity = func(h []float64) float64 {
		return m.by.logMarginal(m.mask, m.writeHyperparameters(h, make([]float64, f.r.Dim())))
	}
	p.Centre, p.Width, p.LogScales = make([]float64, len(m.free)), make([]float64, len(m.free)), f.r.logScales(m)
	for i, j := range m.free {
		// the coordinate τ of a standard deviation: −2 is a hundredth of its unit, 2 twice its unit
		p.Width[i] = 2
		if c := f.r.coordinates[j]; c.sd > 0 {
			p.Centre[i], p.Width[i] = c.mean, c.sd
		}
	}
	return p
}

// logScales returns a function that computes the logarithms of the standard deviations among the
// hyperparameters h of a model, or nil if there are none. The posterior variances of effects, and
// of standard deviations, are in proportion to the squares of these standard deviations. The
// function leaves out standard deviations whose prior has no second moment, because with few groups
// their posterior has no second moment either.
func (r *Regression) logScales(m *modelIntegral) func(h []float64) []float64 {
	var places []int
	for i, j := range m.free {
		c := r.coordinates[j]
		if c.kind == noiseCoordinate || c.kind == sdCoordinate && c.prior != HalfCauchySD {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return nil
	}
	return func(h []float64) []float64 {
		scales := make([]float64, len(places))
		for k, i := range places {
			if scales[k] = h[i]; r.coordinates[m.free[i]].kind == sdCoordinate {
				scales[k], _ = scaleRatio(h[i])
			}
		}
		return scales
	}
}

// evidences returns the log prior probabilities and the current evidences of the models.
func (f *integral) evidences() (logPrior []float64, evidence []models.Evidence) {
	for _, m := range f.list {
		logPrior, evidence = append(logPrior, m.logPrior), append(evidence, m.evidence())
	}
	return logPrior, evidence
}

// combine sums the current evidences of the models.
func (f *integral) combine() { f.Sum = models.Combine(f.evidences()) }

// mostUncertain lists the models for which more draws reduce the error of the answer most. It
// leaves out models that have the largest allowed number of draws, the argument most. The
// contribution of a model to the error is its probability times the larger of two numbers: the
// standard error of its log evidence, and the inverse root of its effective number of draws. If
// tails is true, the contribution is its probability times the share of its posterior that weights
// may have missed. It lists models with at least half of the largest contribution.
func (f *integral) mostUncertain(most int, tails bool) (list []*modelIntegral) {
	parts := make([]float64, len(f.list))
	for k, m := range f.list {
		if !m.closed && len(m.sample.Points) < most {
			parts[k] = f.Probability[k] * math.Max(m.weights.LogMeanSE, 1/math.Sqrt(math.Max(m.weights.ESS, 1)))
			if tails {
				parts[k] = f.Probability[k] * psis.TailShare(m.weights.K, m.weights.N)
			}
			if math.IsNaN(parts[k]) {
				parts[k] = 1
			}
		}
	}
	largest := slices.Max(parts)
	for k, part := range parts {
		if part > 0 && part >= largest/2 {
			list = append(list, f.list[k])
		}
	}
	return list
}

// A model may matter if its probability may be above notableModel, within three standard errors of
// its log evidence. A log evidence whose k̂ is unreliable may be too small by hiddenEvidence nats.
// A larger number would cost draws of improbable models.
const (
	notableModel   = 1e-3
	hiddenEvidence = 4
)

// mayMatter reports whether a model may matter, by its current evidence and probability.
func mayMatter(evidence models.Evidence, probability float64) bool {
	highest := math.Log(probability) + 3*evidence.SE
	if evidence.KHat > verdict.DoubtfulKHat {
		highest += hiddenEvidence
	}
	return highest > math.Log(notableModel) || math.IsNaN(highest)
}

// certificate returns the certificate of the evidences of all models, without a sample.
func (f *integral) certificate() *vti.Certificate {
	logPrior, evidence := f.evidences()
	return models.CertificateOf(apply.To(f.list, func(m *modelIntegral) []int32 { return m.code }), logPrior, evidence)
}

// integralDraws holds all weighted draws of all models together.
type integralDraws struct {
	weight []float64
	model  []*modelIntegral // the model of each draw
	place  []int            // the index of each draw in the sample of its model
}

// weighted collects the draws with positive weight.
func (f *integral) weighted() *integralDraws {
	d := &integralDraws{}
	for k, m := range f.list {
		total := logsum.Of(m.weights.LogWeights)
		for i, l := range m.weights.LogWeights {
			if w := f.Probability[k] * math.Exp(l-total); w > 0 {
				d.weight, d.model, d.place = append(d.weight, w), append(d.model, m), append(d.place, i)
			}
		}
	}
	return d
}
