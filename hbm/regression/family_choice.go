package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
)

// Draws of each model before it is known which matter: of all; of those that are then less than
// hopelessNats below the best; of those that may matter (mayMatter) where evidences are too small
// by missedNats; and of those that may, and are not known well enough (settled). Then those that
// are not trusted so get as many as a single model. Chosen by hand.
const (
	glancePlateDraws  = 64
	pilotPlateDraws   = 250
	notablePlateDraws = 1000
	fewPlateDraws     = 8000
)

// settled reports whether more draws of a model would change no probability by more than
// notableModel: its weights can be relied on, and its part of the errors is small.
func settled(m vti.ModelEstimate) bool {
	return m.KHat <= verdict.DoubtfulKHat && m.Certified*math.Max(m.LogEvidenceSE, psis.TailShare(m.KHat, m.Draws)) <= notableModel
}

// weighedModels are the models of a selection weighed by draws of a family of plates.
type weighedModels struct {
	posterior *hbm.Posterior
	index     []int // of each model, among all
	models    []*modelIntegral
	logPrior  []float64
	draws     []plateDraws
}

// weigh estimates the evidence of one of the models.
func (w *weighedModels) weigh(ctx gocontext.Context, k int, cfg hbm.CertifyConfig) error {
	c, err := w.posterior.In(w.index[k]).Certify(ctx, cfg)
	if err != nil {
		return err
	}
	if own := w.draws[k].certificate; own != nil && c.Late && c.Draws < own.Draws {
		return nil // the time was over: what is known already tells more
	}
	w.draws[k].certificate = c
	w.models[k].sample = &integrate.Sample{Points: make([][]float64, c.Draws)}
	w.models[k].weights = psis.Result{K: c.KHat, ESS: c.ESS, LogMean: c.LogEvidence, LogMeanSE: c.LogEvidenceSE, NonFinite: c.NonFinite, N: c.Draws}
	return nil
}

// weighModels weighs every model that the prior allows.
func (r *Regression) weighModels(ctx gocontext.Context, posterior *hbm.Posterior, cfg hbm.CertifyConfig) (*weighedModels, *vti.Certificate, error) {
	w := &weighedModels{posterior: posterior}
	glance := cfg
	glance.Until = time.Time{} // any answer needs these
	if cfg.Draws == 0 {
		glance.Draws = glancePlateDraws
	}
	for index, code := range r.codes() {
		logPrior := r.space.logPrior[index]
		if math.IsInf(logPrior, -1) {
			continue
		}
		w.models, w.draws = append(w.models, &modelIntegral{code: code, mask: r.space.masks[index]}), append(w.draws, plateDraws{code: code})
		w.logPrior, w.index = append(w.logPrior, logPrior), append(w.index, index)
		if err := w.weigh(ctx, len(w.models)-1, glance); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.FormulaOf(code), err)
		}
	}
	c := r.certificateOf(w.models, w.logPrior)
	if cfg.Draws > 0 {
		return w, c, nil
	}
	again := func(draws int, chosen func(k int, m vti.ModelEstimate) bool) error {
		more := cfg
		more.Draws = draws
		for k, m := range c.Models {
			if (draws == 0 || m.Draws < draws) && chosen(k, m) {
				if err := w.weigh(ctx, k, more); err != nil {
					return fmt.Errorf("%s: %w", r.FormulaOf(m.Code), err)
				}
			}
		}
		c = r.certificateOf(w.models, w.logPrior)
		return nil
	}
	for _, stage := range []struct {
		draws  int
		chosen func(k int, m vti.ModelEstimate) bool
	}{
		{pilotPlateDraws, func(_ int, m vti.ModelEstimate) bool { return !(m.Certified < math.Exp(-hopelessNats)) }},
		{notablePlateDraws, func(_ int, m vti.ModelEstimate) bool {
			m.Certified *= math.Exp(missedNats)
			return mayMatter(m)
		}},
		{fewPlateDraws, func(_ int, m vti.ModelEstimate) bool { return mayMatter(m) && !settled(m) }},
		{0, func(k int, m vti.ModelEstimate) bool {
			return mayMatter(m) && !settled(m) && w.draws[k].certificate.Verdict != vti.Trusted
		}},
	} {
		if err := again(stage.draws, stage.chosen); err != nil {
			return nil, nil, err
		}
	}
	return w, c, nil
}

// answerChoice is answer for a selection of terms.
func (p *PlateModel) answerChoice(ctx gocontext.Context, posterior *hbm.Posterior, certify hbm.CertifyConfig, result *Result, clock *run.Clock) error {
	r := p.regression
	w, c, err := r.weighModels(ctx, posterior, certify)
	if err != nil {
		return err
	}
	j := verdict.Judgement{Verdict: c.Verdict, Reasons: c.Reasons}
	q, elbo, covered := posterior.Q(), 0.0, 0.0
	for k := range c.Models {
		m := &c.Models[k]
		m.Q, w.draws[k].probability = q[w.index[k]], m.Certified
		if m.Certified <= 10*notableModel {
			continue
		}
		if own := w.draws[k].certificate; own.Verdict != vti.Trusted && !settled(*m) {
			j.Lower(own.Verdict, "%s: %s", r.FormulaOf(m.Code), strings.Join(own.Reasons, "; "))
		}
		own, _, err := posterior.In(w.index[k]).ELBO(ctx, elboDraws, "elbo")
		if err != nil {
			return err
		}
		elbo += m.Certified * (own + w.logPrior[k] - math.Log(m.Certified))
		covered += m.Certified
	}
	elbo = elbo/covered + math.Log(covered) // of the models that were looked at
	c.Verdict, c.Reasons = j.Verdict, j.Reasons
	result.ELBO, result.Steps, result.Weights = figure(elbo+r.logJacobian), posterior.Steps(), posterior.Weights()
	sample, err := p.sample(ctx, w.draws, c.ESS, *result.Seed)
	if err != nil {
		return err
	}
	sortModels(c)
	r.fill(result, c, sample)
	return r.finishFamily(ctx, result, sample, c.ESS, clock)
}
