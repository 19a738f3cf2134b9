package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/run"
)

// runIntegral implements [Regression.Run] without training.
func (r *Regression) runIntegral(ctx gocontext.Context, device *gpu.Device, cfg Run) (*Result, error) {
	clock := run.NewClock()
	if r.integrable() {
		run.Silent(cfg.Status)("effects are integrated out: draws of standard deviations around their mode")
	} else {
		run.Silent(cfg.Status)("effects have a normal approximation at their mode: looking for that of standard deviations")
	}
	found, err := r.integrate(ctx, r.effort().asked(cfg), cfg.Fit.Seed, cfg.Certify.Progress)
	if err != nil {
		return nil, err
	}
	clock.Certified()
	result := r.newResult(device, cfg.Fit.Seed, MarginalFamily, cfg.Dir)
	result.Integration = r.integration()
	sample, err := found.fill(ctx, result)
	if err != nil {
		return nil, err
	}
	return result, r.writeResult(result, sample, clock)
}

// integration returns the name of the method by which effects are integrated out.
func (r *Regression) integration() string {
	if r.integrable() {
		return ClosedForm
	}
	return Laplace
}

// fill judges the integral, writes it and the check of the model to a result, and returns draws. It
// lowers the verdict if rounding errors are large, or a finer quadrature changes densities.
func (f *integral) fill(ctx gocontext.Context, result *Result) (*posteriorSample, error) {
	r, c := f.r, f.certificate()
	sample, err := f.sample(ctx)
	if err != nil {
		return nil, err
	}
	if sample.rough > verdict.DoubtfulMissed {
		verdict.Lower(&c.Verdict, &c.Reasons, verdict.Doubtful, "the noise is so small compared with the effects that rounding changes the log density of %.0f%% of the draws by more than %g", 100*sample.rough, roughRounding)
	}
	if !r.Frame.Response.Conjugate() {
		loss := r.quadratureLoss(f.outerSample(), f.seed)
		if !(loss <= tolerableEvidence) {
			lowered := verdict.Doubtful
			if !(loss <= hopelessQuadrature) {
				lowered = verdict.Failed
			}
			verdict.Lower(&c.Verdict, &c.Reasons, lowered, "a finer quadrature over the effects by %s changes log densities by %.2g", r.inner.Name, loss)
		}
		defer func() { r.noteLoss(loss, result) }()
	}
	c.Sort()
	return sample, r.fill(ctx, result, c, sample)
}

// sample draws a model and its hyperparameters by their weights, and all effects given these.
func (f *integral) sample(ctx gocontext.Context) (*posteriorSample, error) {
	r, d := f.r, f.draws
	if !r.Frame.Response.Conjugate() {
		return r.sample(ctx, r.drawsOf(f.outerSample(), f.ESS, f.seed), f.seed)
	}
	return r.sample(ctx, weightedDraws{
		weight: d.weight, ess: f.ESS, moments: f.moments,
		model: func(at int) ([]int32, float64, float64) {
			m, place := d.model[at], d.place[at]
			return m.code, m.logPrior + m.sample.LogDensity[place], m.logPrior + m.sample.LogProposal[place]
		},
		draw: func(at int, _ []bool, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
			return r.joint().drawAt(d.model[at], d.place[at], theta, random)
		},
	}, f.seed)
}

// outerSample returns the draws of hyperparameters and outer effects of all models. Draws of outer
// effects for the same hyperparameters form one group.
func (f *integral) outerSample() vti.WeightedSample {
	var s vti.WeightedSample
	var thetas [][]float64
	for k, weight := range f.draws.weight {
		m, at := f.draws.model[k], f.draws.place[k]
		outer := m.kept[at].outer
		logPrior := m.logPrior + f.r.logPriorOfHyperparameters(m.mask, outer.theta[0])
		for i, share := range outer.share {
			if !(share > 0) {
				continue
			}
			s.Codes, thetas = append(s.Codes, m.code), append(thetas, outer.theta[i])
			s.LogP, s.LogQ = append(s.LogP, logPrior+outer.logP[i]), append(s.LogQ, m.logPrior+m.sample.LogProposal[at]+outer.logQ[i])
			s.Weight, s.Group = append(s.Weight, weight*share), append(s.Group, k)
		}
	}
	s.Theta = mat.NewDense(max(len(thetas), 1), f.r.Dim(), nil)
	for k, theta := range thetas {
		s.Theta.SetRow(k, theta)
	}
	return s
}

// notableQuadrature is the mean change of log densities by a finer quadrature, in nats, above which
// a note is added to the result. Above hopelessQuadrature the verdict is failed.
const (
	notableQuadrature  = 0.02
	hopelessQuadrature = 1
)

// finerNodes holds the numbers of nodes of the finer rules that check the rules of quadratureNodes.
var finerNodes = [mostPerLevel + 1]int{1, 25, 14, 8, 7}

// quadratureLoss returns the mean absolute difference between a few log densities and their values
// by a finer quadrature rule.
func (r *Regression) quadratureLoss(s vti.WeightedSample, seed uint64) (loss float64) {
	const draws = 8
	distinct := r.distinct()
	rule, finer := newInnerRule(distinct, quadratureNodes), newInnerRule(distinct, finerNodes)
	chosen := weighted.Rows(s.Weight, draws, stream.Rand(seed, "hbm/quadrature"))
	for _, i := range chosen {
		mask, theta := r.space.MaskRow(s.Codes[i], nil), s.Theta.RawRowView(i)
		loss += math.Abs(finer.logDensity(mask, theta)-rule.logDensity(mask, theta)) / float64(len(chosen))
	}
	return loss
}

// noteLoss adds a note if a finer quadrature changes log densities notably.
func (r *Regression) noteLoss(loss float64, result *Result) {
	if !(loss < notableQuadrature) {
		result.Notes = append(result.Notes, fmt.Sprintf("a finer quadrature over the effects by %s changes log densities by %.2g: log evidences are that uncertain beside their standard errors", r.inner.Name, loss))
	}
}

// These are tolerances for the difference between an approximation and the exact integral, after
// subtraction of four standard errors. A larger difference counts against the approximation.
// tolerableEvidence is for log evidences, in nats, tolerableShift for means, in posterior standard
// deviations, and tolerableSpread for the relative difference of standard deviations.
// tolerableEvidence is a quarter of the standard error of a log evidence above which an answer is
// doubtful (verdict.DoubtfulEvidenceSE).
const (
	tolerableEvidence = 0.05
	tolerableShift    = 0.1
	tolerableSpread   = 0.1
)

// compareExact compares the answer of an approximation with integrals from independent draws, if
// the regression needs no training ([Regression.Trains] is false). It lowers the verdict if the two
// differ. Weights cannot show that no draw comes near a part of the posterior. A mean-field family
// misses parts if effects depend on each other.
func (r *Regression) compareExact(ctx gocontext.Context, result *Result) error {
	if !r.integrable() {
		return nil
	}
	found, err := r.integrate(ctx, r.effort(), *result.Seed, nil)
	if err != nil {
		return err
	}
	c := found.certificate()
	if c.Verdict != vti.Trusted {
		return nil
	}
	sample, err := found.sample(ctx)
	if err != nil {
		return err
	}
	exact := &Result{}
	r.fillSample(exact, sample)
	lower := func(format string, args ...any) {
		verdict.Lower(&result.Certificate.Verdict, &result.Certificate.Reasons, verdict.Failed, format, args...)
	}
	difference := float64(*result.LogEvidence) - (c.LogEvidence + r.logJacobian)
	if beyond := math.Abs(difference) - 4*math.Hypot(float64(*result.LogEvidenceSE), c.LogEvidenceSE); !(beyond <= tolerableEvidence) {
		lower("the log evidence differs from the exact integral by %.2g, more than its errors allow", difference)
	}
	draws := float64(len(sample.codes))
	relative := math.Sqrt(1/math.Max(float64(result.Certificate.ESS), 1) + 1/draws) // standard error of a mean, in standard deviations
	want, got := slices.Concat(exact.Effects, exact.SDs), slices.Concat(result.Effects, result.SDs)
	for k, w := range want {
		// For a normal posterior, the relative error of a standard deviation is the variable
		// relative divided by √2. It is larger for a skewed posterior.
		shift, spread := math.Abs(float64(got[k].Mean-w.Mean))/float64(w.SD), math.Abs(float64(got[k].SD/w.SD)-1)
		if shift-4*relative > tolerableShift || spread-4*relative > tolerableSpread {
			lower("%s is %.4g ± %.2g, but %.4g ± %.2g by exact integration", w.Name, float64(got[k].Mean), float64(got[k].SD), float64(w.Mean), float64(w.SD))
		}
	}
	return nil
}
