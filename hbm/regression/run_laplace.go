package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/run"
)

// Draws of the hyperparameters of a model whose response is not gaussian, each with a few of
// the outer effects: first, and at most; they double until the log evidence has the standard
// error, and the sample the effective size, that is wanted, and its tail is known. Chosen by hand:
// evidences to a thirtieth of a nat, standard deviations to 2.5 percent.
const (
	laplaceFirstDraws = 1 << 10
	laplaceMostDraws  = 1 << 16
	laplacePairs      = 2       // of draws of the outer effects for each
	laplaceNumbers    = 1 << 26 // kept, of all draws of a model
	laplaceSE         = 0.03
	laplaceESS        = 1 << 10
	// pairs of draws of the outer effects for each: as many as bring the relative variance of their
	// mean weight below laplaceVariance, which laplacePilot pairs tell, and at most
	laplaceMostPairs = 8
	laplacePilot     = 48
	laplaceVariance  = 0.1
	// of draws in a round of the adaptation, for each hyperparameter and one more: each finds modes
	laplacePerRound = 40
	// nats by which a finer quadrature may change log densities of an answer that has not failed
	hopelessQuadrature = 1
)

// outerDraws are draws of the outer effects for one of the hyperparameters.
type outerDraws struct {
	theta      [][]float64 // coordinates
	logP, logQ []float64   // of the coordinates beside the hyperparameters, given these
	share      []float64   // of the weight of all
}

// weighable reports whether the effects of a response that is not gaussian are drawn from a Laplace
// approximation without training. Where the density of a row is not log-concave the effects of the
// population may have several modes; with one grouping a flow is trained then.
func (r *Regression) weighable() bool {
	kind := r.Frame.Response
	if kind.Conjugate() || len(r.groups) == 0 || len(r.groups) == 1 && !kind.LogConcave() || len(r.space.masks) > exactModels {
		return false
	}
	for _, mask := range r.space.masks {
		if len(r.hyperparameters(mask))-len(r.Frame.cutNames())-r.sticks(mask) > exactHyperparameters {
			return false
		}
	}
	return r.joint().symbolic.Work() <= exactWork
}

// weigh finds the evidence of every model that the prior allows by importance sampling over its
// hyperparameters and outer effects.
func (r *Regression) weigh(ctx gocontext.Context, e effort, seed uint64, progress func(done, total int)) (*integral, error) {
	l := newLaplaceEffects(r.distinct())
	most := r.mostLaplaceDraws()
	var models []*modelIntegral
	var logPrior []float64
	for index, code := range r.codes() {
		if math.IsInf(r.space.logPrior[index], -1) {
			continue
		}
		m := &modelIntegral{code: code, mask: r.space.masks[index], sample: &integrate.Sample{}}
		m.free = r.hyperparameters(m.mask)
		models, logPrior = append(models, m), append(logPrior, r.space.logPrior[index])
	}
	if len(models) == 1 {
		if _, err := l.begin(ctx, models[0], laplaceFirstDraws, seed); err != nil {
			return nil, fmt.Errorf("%s: %w", r.FormulaOf(models[0].code), err)
		}
	} else if err := l.pilots(ctx, models, logPrior, seed); err != nil {
		return nil, err
	}
	for round := 0; ; round++ {
		c := r.certificateOf(models, logPrior)
		if progress != nil {
			progress(c.Draws, most*len(models))
		}
		more := r.mostUncertain(models, c, most)
		if len(more) == 0 || e.late() || c.LogEvidenceSE <= e.se && c.ESS >= e.ess && c.Missed() <= verdict.DoubtfulMissed {
			return &integral{models: models, certificate: c, draws: drawsOf(models, c)}, nil
		}
		for _, k := range more {
			m := models[k]
			random := stream.Rand(seed, fmt.Sprintf("hbm/integrate/%v/%d", m.code, round))
			if err := m.extend(ctx, min(len(m.sample.Points), most-len(m.sample.Points)), random); err != nil {
				return nil, err
			}
		}
	}
}

// mostLaplaceDraws bounds the draws of the hyperparameters of a model.
func (r *Regression) mostLaplaceDraws() int {
	return max(laplaceFirstDraws, min(laplaceMostDraws, laplaceNumbers/(2*laplaceMostPairs*r.Dim())))
}

// begin finds the proposal of a model and how many pairs of outer effects its estimates need, and
// makes its first draws. It returns what models nearby may start from.
func (l *laplaceEffects) begin(ctx gocontext.Context, m *modelIntegral, draws int, seed uint64) (*neighbour, error) {
	best := &highest{value: math.Inf(-1)}
	logDensity := func(mask []bool, theta []float64) float64 {
		value := l.logMarginal(mask, theta)
		best.see(value, theta)
		return value
	}
	problem := integrate.Problem{Noise: closeOuter / 10, PerRound: laplacePerRound * (len(m.free) + 1)}
	if err := l.r.adapt(ctx, m, problem, logDensity, 0, seed); err != nil {
		return nil, err
	}
	if best.theta == nil { // no hyperparameters
		best.theta = make([]float64, l.r.Dim())
	}
	of := l.near(m, best.theta, seed)
	return of, m.extend(ctx, draws, stream.Rand(seed, fmt.Sprintf("hbm/first/%v", m.code)))
}

// near makes a model estimate its density by searches that start at the mode given the
// hyperparameters in θ, with as many pairs as estimates need there.
func (l *laplaceEffects) near(m *modelIntegral, theta []float64, seed uint64) *neighbour {
	of := &neighbour{free: m.free, proposal: m.proposal, effects: l.from(m.mask, theta)}
	of.pairs = of.effects.pairsAt(m.mask, theta, stream.Rand(seed, fmt.Sprintf("hbm/pairs/%v", m.code)))
	of.estimates(m, seed)
	return of
}

// highest is where the largest of some values was seen, by any goroutine.
type highest struct {
	lock  sync.Mutex
	value float64
	theta []float64
}

func (h *highest) see(value float64, theta []float64) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if value > h.value {
		h.value, h.theta = value, slices.Clone(theta)
	}
}

// pairsAt is the number of pairs that estimates need, by some at the hyperparameters in θ.
func (l *laplaceEffects) pairsAt(mask []bool, theta []float64, random *rand.Rand) int {
	p, ok := l.given(mask, theta)
	if !ok {
		return laplaceMostPairs
	}
	weights := make([]float64, laplacePilot)
	for k := range weights {
		weights[k] = math.Exp(p.logWeight(l.noise(random)) - p.logDensity)
	}
	mean, sd := stat.MeanStdDev(weights, nil)
	pairs := math.Ceil(sd * sd / (mean * mean * laplaceVariance))
	if !(pairs < laplaceMostPairs) {
		return laplaceMostPairs
	}
	return max(1, int(pairs))
}

// logWeight is the logarithm of the mean weight of a pair.
func (p *outerProposal) logWeight(z []float64) float64 {
	pair := p.pair(z)
	return logsum.Of([]float64{pair[0].logP - pair[0].logQ, pair[1].logP - pair[1].logQ}) - math.Ln2
}

// logMarginal is about log p(y, h | m) for the hyperparameters h in θ, by the same normal numbers
// wherever it is asked for, so that it is smooth; −Inf where it cannot be computed.
func (l *laplaceEffects) logMarginal(mask []bool, theta []float64) float64 {
	p, ok := l.given(mask, theta)
	if !ok {
		return math.Inf(-1)
	}
	return p.logWeight(l.noise(stream.Rand(0, "hbm/outer"))) + l.r.logPriorOfHyperparameters(mask, theta)
}

// estimate is an unbiased estimate of p(y, h | m), as a logarithm, from pairs of draws of the outer
// effects.
func (l *laplaceEffects) estimate(m *modelIntegral, h []float64, pairs int, random *rand.Rand) (float64, outerDraws) {
	theta := m.at(h, make([]float64, l.r.Dim()))
	p, ok := l.given(m.mask, theta)
	if !ok {
		return math.Inf(-1), outerDraws{}
	}
	var draws outerDraws
	for range pairs {
		for _, d := range p.pair(l.noise(random)) {
			at := slices.Clone(theta)
			p.outerTheta(d.v, m.mask, at)
			logNormal, logScale := p.unused(d.v, m.mask)
			draws.theta = append(draws.theta, at)
			draws.logP, draws.logQ = append(draws.logP, d.logP-logNormal-logScale), append(draws.logQ, d.logQ-logNormal-logScale)
			draws.share = append(draws.share, d.logP-d.logQ)
		}
	}
	total := logsum.Of(draws.share)
	for k, logWeight := range draws.share {
		draws.share[k] = math.Exp(logWeight - total)
	}
	return total - math.Log(float64(len(draws.share))) + l.r.logPriorOfHyperparameters(m.mask, theta), draws
}

// weightedSample are the draws of hyperparameters and outer effects of all models.
func (r *Regression) weightedSample(found *integral) vti.WeightedSample {
	var s vti.WeightedSample
	d := found.draws
	var thetas [][]float64
	for k, weight := range d.weight {
		m, at := d.models[d.model[k]], d.place[k]
		outer, logPrior := m.outer[at], r.space.logPrior[r.index(m.code)]
		given := logPrior + r.logPriorOfHyperparameters(m.mask, outer.theta[0])
		for i, share := range outer.share {
			if !(share > 0) {
				continue
			}
			s.Codes, thetas = append(s.Codes, m.code), append(thetas, outer.theta[i])
			s.LogP, s.LogQ = append(s.LogP, given+outer.logP[i]), append(s.LogQ, logPrior+m.sample.LogProposal[at]+outer.logQ[i])
			// draws of the outer effects share the hyperparameters
			s.Weight, s.Group = append(s.Weight, weight*share), append(s.Group, k)
		}
	}
	s.Theta = mat.NewDense(max(len(thetas), 1), r.Dim(), nil)
	for k, theta := range thetas {
		s.Theta.SetRow(k, theta)
	}
	return s
}

// runLaplace is [Regression.Run] for a response that is not gaussian: nothing is trained.
func (r *Regression) runLaplace(ctx gocontext.Context, device *gpu.Device, cfg Run) (*Result, error) {
	clock, started := run.NewClock(), time.Now()
	cfg.say("effects have a normal approximation at their mode: looking for that of standard deviations")
	found, err := r.weigh(ctx, effort{se: laplaceSE, ess: laplaceESS}.asked(cfg, started), cfg.Fit.Seed, cfg.Certify.Progress)
	if err != nil {
		return nil, err
	}
	clock.Certified()
	result := r.newResult(device, cfg.Fit.Seed, MarginalFamily, cfg.Dir)
	result.Integration = Laplace
	sample, err := r.fillWeighed(ctx, found, result)
	if err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, r.writeResult(result, sample)
}

// fillWeighed puts what weigh has found, once it is judged, and the check of the model into a
// result, and returns draws. Where a finer quadrature differs the verdict is lowered.
func (r *Regression) fillWeighed(ctx gocontext.Context, found *integral, result *Result) (*posteriorSample, error) {
	c, seed := found.certificate, *result.Seed
	c.Sample = r.weightedSample(found)
	sample, err := r.sample(ctx, c.Sample, c.ESS, seed)
	if err != nil {
		return nil, err
	}
	loss := r.quadratureLoss(c.Sample, seed)
	if !(loss <= tolerableEvidence) {
		lowered := verdict.Doubtful
		if !(loss <= hopelessQuadrature) {
			lowered = verdict.Failed
		}
		verdict.Lower(&c.Verdict, &c.Reasons, lowered, "a finer quadrature over the effects by %s changes log densities by %.2g", r.inner.Name, loss)
	}
	sortModels(c)
	r.fill(result, c, sample)
	r.noteLoss(loss, result)
	result.ModelCheck, err = r.checkModel(ctx, sample, seed)
	return sample, err
}

// quadratureLoss is the mean distance of log densities of a few draws from those of a finer rule.
func (r *Regression) quadratureLoss(s vti.WeightedSample, seed uint64) (loss float64) {
	const draws = 8
	own := r.distinct()
	rule, finer := newInnerRule(own, quadratureNodes), newInnerRule(own, finerNodes)
	chosen := weighted.Rows(s.Weight, draws, stream.Rand(seed, "hbm/quadrature"))
	for _, i := range chosen {
		theta := s.Theta.RawRowView(i)
		mask := r.space.MaskRow(s.Codes[i], nil)
		loss += math.Abs(finer.logDensity(mask, theta)-rule.logDensity(mask, theta)) / float64(len(chosen))
	}
	return loss
}

// logDensity is log p(y | θ) with the inner effects integrated out, without the constants of the
// response.
func (l *innerRule) logDensity(mask []bool, theta []float64) (sum float64) {
	p := l.point(l.r.factorAt(l.r.inner, mask, theta), l.r.responseAt(mask, theta))
	p.eta = l.r.predictorAt(mask, theta)
	for level := range l.members {
		rows, q := l.members[level], len(l.r.inner.Columns)
		sum += p.integral(level, l.r.startOf(rows, distinct.At(p.eta, rows), func(k int) []float64 { return p.unit[rows[k]*q:][:q] }, p.given))
	}
	return sum
}
