package regression

import (
	"cmp"
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/run"
)

// runIntegral is [Regression.Run] where nothing needs to be trained.
func (r *Regression) runIntegral(ctx gocontext.Context, device *gpu.Device, cfg Run) (*Result, error) {
	clock, started := run.NewClock(), time.Now()
	if r.integrable() {
		cfg.say("effects are integrated out: draws of standard deviations around their mode")
	} else {
		cfg.say("effects have a normal approximation at their mode: looking for that of standard deviations")
	}
	found, err := r.integrate(ctx, r.effort().asked(cfg, started), cfg.Fit.Seed, cfg.Certify.Progress)
	if err != nil {
		return nil, err
	}
	clock.Certified()
	result := r.newResult(device, cfg.Fit.Seed, MarginalFamily, cfg.Dir)
	if result.Integration = Laplace; r.integrable() {
		result.Integration = ClosedForm
	}
	sample, err := found.fill(ctx, result)
	if err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, r.writeResult(result, sample)
}

// fill judges what was found, puts it and the check of the model into a result, and returns draws.
// Where rounding changes densities, or a finer quadrature over effects, the verdict is lowered.
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
	sortModels(c)
	r.fill(result, c, sample)
	result.ModelCheck, err = r.checkModel(ctx, sample, f.seed)
	return sample, err
}

// sortModels puts the most probable models first.
func sortModels(c *vti.Certificate) {
	slices.SortStableFunc(c.Models, func(a, b vti.ModelEstimate) int { return cmp.Compare(b.Certified, a.Certified) })
}

// sample draws everything: a model and its hyperparameters by their weights, and all effects given
// these.
func (f *integral) sample(ctx gocontext.Context) (*posteriorSample, error) {
	r, d := f.r, f.draws
	if !r.Frame.Response.Conjugate() {
		return r.sample(ctx, f.outerSample(), f.ESS, f.seed)
	}
	rows := r.chooseDraws(d.weight, f.seed)
	s := r.emptySample(len(rows))
	s.moments, s.ess = f.moments, f.ESS
	for _, row := range rows {
		m, at := d.model[row], d.place[row]
		s.codes = append(s.codes, m.code)
		s.logP, s.logQ = append(s.logP, m.logPrior+m.sample.LogDensity[at]), append(s.logQ, m.logPrior+m.sample.LogProposal[at])
	}
	return s, r.fillDraws(ctx, s, f.seed, func(k int, _ []bool, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
		return r.joint().drawAt(d.model[rows[k]], d.place[rows[k]], theta, random)
	})
}

// outerSample are the draws of hyperparameters and outer effects of all models. Draws of outer
// effects for the same hyperparameters are of one group.
func (f *integral) outerSample() vti.WeightedSample {
	var s vti.WeightedSample
	var thetas [][]float64
	for k, weight := range f.draws.weight {
		m, at := f.draws.model[k], f.draws.place[k]
		outer := m.kept[at].outer
		given := m.logPrior + f.r.logPriorOfHyperparameters(m.mask, outer.theta[0])
		for i, share := range outer.share {
			if !(share > 0) {
				continue
			}
			s.Codes, thetas = append(s.Codes, m.code), append(thetas, outer.theta[i])
			s.LogP, s.LogQ = append(s.LogP, given+outer.logP[i]), append(s.LogQ, m.logPrior+m.sample.LogProposal[at]+outer.logQ[i])
			s.Weight, s.Group = append(s.Weight, weight*share), append(s.Group, k)
		}
	}
	s.Theta = mat.NewDense(max(len(thetas), 1), f.r.Dim(), nil)
	for k, theta := range thetas {
		s.Theta.SetRow(k, theta)
	}
	return s
}

// hopelessQuadrature is by how many nats a finer quadrature may change log densities of an answer
// that has not failed.
const hopelessQuadrature = 1

// quadratureLoss is the mean distance of log densities of a few draws from those of a finer rule.
func (r *Regression) quadratureLoss(s vti.WeightedSample, seed uint64) (loss float64) {
	const draws = 8
	own := r.distinct()
	rule, finer := newInnerRule(own, quadratureNodes), newInnerRule(own, finerNodes)
	chosen := weighted.Rows(s.Weight, draws, stream.Rand(seed, "hbm/quadrature"))
	for _, i := range chosen {
		mask, theta := r.space.MaskRow(s.Codes[i], nil), s.Theta.RawRowView(i)
		loss += math.Abs(finer.logDensity(mask, theta)-rule.logDensity(mask, theta)) / float64(len(chosen))
	}
	return loss
}
