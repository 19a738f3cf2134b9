package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
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

// weighedModels are the models of a selection weighed by draws of a family of plates.
type weighedModels struct {
	r         *Regression
	posterior *hbm.Posterior
	index     []int // of each model, among all
	logPrior  []float64
	evidence  []models.Evidence
	draws     []plateDraws
	models.Sum
}

// settled reports whether more draws of a model would change no probability by more than
// notableModel: its weights can be relied on, and its part of the errors is small.
func (w *weighedModels) settled(k int) bool {
	e := w.evidence[k]
	return e.KHat <= verdict.DoubtfulKHat && w.Probability[k]*math.Max(e.SE, psis.TailShare(e.KHat, e.Draws)) <= notableModel
}

// weigh estimates the evidence of one of the models.
func (w *weighedModels) weigh(ctx gocontext.Context, k int, cfg hbm.CertifyConfig) error {
	c, err := w.posterior.In(w.index[k]).Certify(ctx, cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", w.r.FormulaOf(w.draws[k].code), err)
	}
	if own := w.draws[k].certificate; own != nil && c.Late && c.Draws < own.Draws {
		return nil // the time was over: what is known already tells more
	}
	w.draws[k].certificate, w.evidence[k] = c, c.Evidence()
	return nil
}

// weighModels weighs every model that the prior allows.
func (r *Regression) weighModels(ctx gocontext.Context, posterior *hbm.Posterior, cfg hbm.CertifyConfig) (*weighedModels, error) {
	w := &weighedModels{r: r, posterior: posterior}
	glance := cfg
	glance.Until = time.Time{} // any answer needs these
	if cfg.Draws == 0 {
		glance.Draws = glancePlateDraws
	}
	for index, code := range r.codes() {
		if logPrior := r.space.logPrior[index]; !math.IsInf(logPrior, -1) {
			w.draws, w.evidence = append(w.draws, plateDraws{code: code}), append(w.evidence, models.Evidence{})
			w.logPrior, w.index = append(w.logPrior, logPrior), append(w.index, index)
			if err := w.weigh(ctx, len(w.index)-1, glance); err != nil {
				return nil, err
			}
		}
	}
	w.Sum = models.Combine(w.logPrior, w.evidence)
	if cfg.Draws > 0 {
		return w, nil
	}
	matters := func(k int) bool { return mayMatter(w.evidence[k], w.Probability[k]) && !w.settled(k) }
	for _, stage := range []struct {
		draws  int
		chosen func(k int) bool
	}{
		{pilotPlateDraws, func(k int) bool { return !(w.Probability[k] < math.Exp(-hopelessNats)) }},
		{notablePlateDraws, func(k int) bool { return mayMatter(w.evidence[k], w.Probability[k]*math.Exp(missedNats)) }},
		{fewPlateDraws, matters},
		{0, func(k int) bool { return matters(k) && w.draws[k].certificate.Verdict != vti.Trusted }},
	} {
		more := cfg
		more.Draws = stage.draws
		for k := range w.index {
			if (more.Draws == 0 || w.evidence[k].Draws < more.Draws) && stage.chosen(k) {
				if err := w.weigh(ctx, k, more); err != nil {
					return nil, err
				}
			}
		}
		w.Sum = models.Combine(w.logPrior, w.evidence)
	}
	return w, nil
}

// certificate is the judged certificate of all models, in their order.
func (w *weighedModels) certificate() *vti.Certificate {
	codes := make([][]int32, len(w.draws))
	for k, d := range w.draws {
		codes[k] = d.code
	}
	return models.CertificateOf(codes, w.logPrior, w.evidence)
}

// answerChoice is answer for a selection of terms.
func (p *PlateModel) answerChoice(ctx gocontext.Context, posterior *hbm.Posterior, certify hbm.CertifyConfig, result *Result, clock *run.Clock) error {
	r := p.regression
	w, err := r.weighModels(ctx, posterior, certify)
	if err != nil {
		return err
	}
	c := w.certificate()
	j := verdict.Judgement{Verdict: c.Verdict, Reasons: c.Reasons}
	q, elbo, covered := posterior.Q(), 0.0, 0.0
	for k := range c.Models {
		m := &c.Models[k]
		m.Q, w.draws[k].probability = q[w.index[k]], m.Certified
		if m.Certified <= 10*notableModel {
			continue
		}
		if own := w.draws[k].certificate; own.Verdict != vti.Trusted && !w.settled(k) {
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
