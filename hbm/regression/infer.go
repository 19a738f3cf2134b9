package regression

import (
	gocontext "context"
	"path/filepath"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// inferSelection implements Infer for a selection of terms. The evidences of models come from
// integrals or, if these would need training (see [Regression.Trains]), from weighted draws of the
// trained family.
func (r *Regression) inferSelection(ctx gocontext.Context, device *gpu.Device, cfg InferRun, above [][]int, clock *run.Clock) (*Result, error) {
	path := filepath.Join(cfg.Model, rundir.PosteriorFile)
	info, err := checkpoint.ReadInfo(path)
	if err != nil {
		return nil, err
	}
	result := r.newResult(device, cfg.Seed, cfg.Fit.Family.String(), cfg.Dir)
	result.Command, result.Steps = InferCommand, info.Step
	if !r.Trains() {
		return result, r.answerIntegral(ctx, result, clock)
	}
	beginning, err := vti.ReadBeginning(path)
	if err != nil {
		return nil, err
	}
	sample, err := r.openSelection(ctx, device, beginning, FamilyRun{Fit: cfg.Fit, Certify: cfg.Certify}, above, result)
	if err != nil {
		return nil, err
	}
	return result, r.finishInfer(result, sample, clock)
}

// answerIntegral answers by integrals, which need no training.
func (r *Regression) answerIntegral(ctx gocontext.Context, result *Result, clock *run.Clock) error {
	e := r.effort()
	if r.Options.Select { // a single model takes only a second in any case
		e = e.opened()
	}
	found, err := r.integrate(ctx, e, *result.Seed, nil)
	if err != nil {
		return err
	}
	result.Integration = r.integration()
	sample, err := found.fill(ctx, result)
	if err != nil {
		return err
	}
	return r.finishInfer(result, sample, clock)
}

func (r *Regression) finishInfer(result *Result, sample *posteriorSample, clock *run.Clock) error {
	r.lowerUnlike(result, sample)
	clock.Certified()
	return r.writeResult(result, sample, clock)
}

// lowerUnlike makes an amortized answer at most doubtful if its table is unlike training tables.
func (r *Regression) lowerUnlike(result *Result, s *posteriorSample) {
	c := result.Certificate
	const unlike = "the table is unlike those that were simulated for training: "
	switch check := result.ModelCheck; {
	case check != nil && check.Verdict == modelcheck.Poor:
		verdict.Lower(&c.Verdict, &c.Reasons, verdict.Doubtful, unlike+"the model check is poor")
	case r.improbable(s, *result.Seed):
		verdict.Lower(&c.Verdict, &c.Reasons, verdict.Doubtful, unlike+"it is more, or less, probable than all responses drawn anew")
	}
}

// improbable reports whether the observed response is unlike all responses that the posterior
// predicts. For each posterior draw it compares the log density of the observed response with the
// log density of a response simulated from the draw (the deviance as a discrepancy; Gelman, Meng
// and Stern 1996). The response is improbable if its density is the larger of the two for all
// draws, for example if a predictor separates two labels perfectly, or the smaller for all draws.
// At most a fraction 4 / MinDraws of tables simulated from the model is improbable (Meng 1994).
func (r *Regression) improbable(s *posteriorSample, seed uint64) bool {
	kept := s.predictors
	if kept == nil || len(kept.eta) == 0 {
		return false
	}
	random := stream.Rand(seed, "hbm/unlike")
	y, replicate := distinct.At(r.y, kept.rows), make([]float64, len(kept.rows))
	above, below := 0, 0
	for draw := range modelcheck.MinDraws {
		eta, response := kept.eta[draw%len(kept.eta)], kept.responses[draw%len(kept.eta)]
		for k := range replicate {
			replicate[k] = response.Draw(eta[k], response.sigma, random)
		}
		switch difference := likelihood.LogDensityAt(response.Row, y, nil, eta, response.sigma) - likelihood.LogDensityAt(response.Row, replicate, nil, eta, response.sigma); {
		case difference > 0:
			above++
		case difference < 0:
			below++
		}
	}
	return above == modelcheck.MinDraws || below == modelcheck.MinDraws
}
