package vti

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	mlcontext "github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/laplace"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// Fit trains q(m) q(θ | m) on the target by stochastic gradients of the ELBO (the VTI paper, eq.
// 10): pathwise gradients for the flow, and score-function gradients for q(m).
//
// When ctx is cancelled Fit finishes the step in progress, writes a checkpoint if the configuration
// names one, and returns the current posterior with an error that wraps ctx.Err(). If too many
// densities are not finite it returns an error and the posterior, for inspection. With any other
// error the posterior is nil. Errors do not change the last checkpoint, not even the loss of the
// device within a step.
func Fit(ctx context.Context, device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	started := time.Now()
	t, err := newTrainer(ctx, device, target, cfg, true)
	if err != nil {
		return nil, err
	}
	posterior, err := t.fit(ctx, started)
	if !errors.As(err, new(badStart)) || !t.anchored {
		return posterior, err
	}
	// The normal approximation at the mode of the largest model, from which the flow started, does
	// not suit the other models or is too narrow for the float type. Start from the standard normal
	// instead.
	if t, err = newTrainer(ctx, device, target, cfg, false); err != nil {
		return nil, err
	}
	return t.fit(ctx, started)
}

// fit takes all remaining steps. started is the time when Fit began.
func (t *trainer) fit(ctx context.Context, started time.Time) (*Posterior, error) {
	for t.step < t.config.Steps && !t.late() {
		if posterior, err := t.train(ctx, t.config.roundAfter(t.step), started, true); err != nil {
			return posterior, err
		}
	}
	return t.posterior(), nil
}

func (t *trainer) late() bool { return t.step > 0 && budget.Passed(t.config.Until) }

// train takes the remaining steps of the given round, counted from 0. If pilot is true q(m) gets a
// warm start in the first round.
func (t *trainer) train(ctx context.Context, round int, started time.Time, pilot bool) (*Posterior, error) {
	if err := t.beginRound(round); err != nil {
		return nil, err
	}
	if err := t.MakeDeferred(); err != nil {
		return nil, err
	}
	t.Untrained = false
	report := reporter{config: &t.config, last: t.round.last, started: started, since: started, step: t.step}
	var err error
	if report.before, err = t.counters(); err != nil {
		return nil, err
	}
	for t.step < t.round.last {
		if err := ctx.Err(); err != nil {
			return t.posterior(), errors.Join(fmt.Errorf("training stopped after %d of %s: %w", t.step, english.Count(t.round.last, "step"), err), t.save(), t.settle())
		}
		if pilot && round == 0 && t.step == t.pilotStep() {
			if err := t.pilot(ctx); err != nil {
				return t.posterior(), err
			}
		}
		inputs, err := t.batch(ctx)
		if err != nil && ctx.Err() != nil {
			continue // the launch of the step failed before it changed anything
		}
		if err == nil {
			err = t.launch(inputs)
		}
		if err != nil {
			return nil, fmt.Errorf("training step %d: %w", t.step+1, err)
		}
		last := t.step == t.round.last || t.late()
		if last {
			if err := t.settle(); err != nil {
				return nil, err
			}
		}
		if last || t.reportAfter(t.step) {
			now, err := t.counters()
			if err != nil {
				return nil, err
			}
			if err := report.reportInterval(t.step, now); err != nil {
				return t.posterior(), err
			}
		}
		if last || t.saveAfter(t.step) || t.schedule.Due() {
			if err := t.save(); err != nil {
				return t.posterior(), err
			}
		}
		if last {
			break
		}
	}
	return t.posterior(), nil
}

// Load opens the posterior that Fit stored in cfg.Checkpoint for the same target and configuration.
func Load(device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	cfg.Resume = true
	t, err := newTrainer(context.Background(), device, target, cfg, true)
	if err != nil {
		return nil, err
	}
	return t.posterior(), t.settle()
}

// Open returns the starting point of cfg as a posterior, without training. With cfg.Begin it is the
// answer of an amortized network for the target's data set.
func Open(ctx context.Context, device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	t, err := newTrainer(ctx, device, target, cfg, true)
	if err != nil {
		return nil, err
	}
	return t.posterior(), nil
}

// newTrainer prepares a fit. If anchor is true, a flow starts from the normal approximation at a
// mode of the largest model, unless cfg sets Precision and Linear or lets the flow start as the
// identity. If anchor is false, the flow starts from the standard normal.
func newTrainer(ctx context.Context, device *gpu.Device, target Target, cfg Config, anchor bool) (*trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	switch {
	case cfg.Start != PilotStart:
	case cfg.Backbone != nil:
		cfg.Start = IdentityStart
	case cfg.Warm != nil:
		cfg.Start = AnchorStart
	}
	sp := target.Space()
	t := &trainer{}
	if err := t.chooseModels(device, target, &cfg); err != nil {
		return nil, err
	}
	if grouped, ok := cfg.Models.(GroupedModels); ok && cfg.Batch%grouped.Rows() != 0 {
		return nil, fmt.Errorf("vti.Config: got Batch %d, want a multiple of the %d rows that a model takes", cfg.Batch, grouped.Rows())
	}
	cfg.Flow.Dim, cfg.Flow.Features = sp.Dim(), space.FeatureDimOf(sp)
	if cfg.Begin == nil {
		cfg.Flow.Seed = cfg.Seed
	}
	sized := cfg
	sized.Flow = cfg.Flow.WithDefaults()
	if err := sized.checkSize(sp); err != nil {
		return nil, err
	}
	if _, ownQuadratics := target.(QuadraticTarget); anchor && !ownQuadratics && cfg.Start != IdentityStart {
		if err := t.anchor(ctx, device, target, &cfg); err != nil {
			return nil, err
		}
	}
	flow := cfg.Backbone
	if flow == nil {
		created, err := cosmic.New(cfg.Flow)
		if err != nil {
			return nil, err
		}
		// the flow's configuration with defaults set, so that a checkpoint made with other defaults
		// is refused with a reason
		flow, cfg.Flow = created, created.Config()
	}
	t.config = cfg
	t.evaluator = newEvaluator(&evaluate.Evaluator{
		Graphs: evaluate.Graphs{Device: device, Variables: mlcontext.New().Checked(false)},
		Target: target, Flow: flow, Models: cfg.Models, DType: cfg.DType, Batch: cfg.Batch, Seed: cfg.Seed,
		NoQuadratics: cfg.Start == IdentityStart,
	})
	var err error
	if t.settings, err = cfg.settings(device.String(), sp.Cards()); err != nil {
		return nil, err
	}
	if cfg.Begin != nil && !cfg.Resume {
		if err := cfg.Begin.copyWeights(t.Variables, cfg.Backbone); err != nil {
			return nil, err
		}
	}
	if cfg.Resume {
		if t.step, err = checkpoint.RestoreVariables(cfg.Checkpoint, t.Variables, t.settings); err != nil {
			return nil, err
		}
	}
	if cfg.Checkpoint != "" && cfg.CheckpointInterval > 0 {
		t.schedule = checkpoint.NewSchedule(cfg.CheckpointInterval)
	}
	if err := t.beginLearners(); err != nil {
		return nil, err
	}
	if cfg.Warm != nil && !cfg.Resume {
		if err := fitModels(ctx, t.evaluator, cfg.Warm); err != nil {
			return nil, err
		}
	}
	return t, t.compile()
}

// chooseModels sets cfg.Models to the q(m) of cfg.Begin, if cfg has a Begin. Otherwise, if
// cfg.Models is nil, it sets a table at the prior or, for too many models, a network. It also
// prepares the prior of a table and the control variate.
func (t *trainer) chooseModels(device *gpu.Device, target Target, cfg *Config) (err error) {
	cards := target.Space().Cards()
	if cfg.Begin != nil {
		cfg.Models, cfg.Flow, cfg.Start = nil, cfg.Begin.Flow, AnchorStart
	}
	if cfg.Models == nil || cfg.ControlVariate == SurrogateMean {
		if t.tablePrior, err = evaluate.LogPriors(device, target); err != nil {
			return err
		}
	}
	if cfg.Begin != nil {
		if cfg.Models, err = cfg.Begin.models(cards, t.tablePrior); err != nil {
			return err
		}
	}
	if cfg.Models == nil {
		if count, ok := space.CountCodes(cards); ok && count <= modeldist.DefaultLimit {
			cfg.Models, err = modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: t.tablePrior})
		} else {
			cfg.Models, err = modeldist.NewAutoregressive(cards, modeldist.AutoregressiveConfig{Seed: cfg.Seed})
		}
		if err != nil {
			return err
		}
	}
	if cfg.ControlVariate == SurrogateMean {
		t.control, err = newControl(cfg.Models)
	}
	return err
}

// anchor sets Precision and Linear of the flow to the normal approximation at a mode of the largest
// model, if a mode is found and cfg does not set them.
func (t *trainer) anchor(ctx context.Context, device *gpu.Device, target Target, cfg *Config) error {
	masker, ok := target.Space().(space.RowMasker)
	if !ok || cfg.Backbone != nil || cfg.Begin != nil || cfg.Resume || cfg.Flow.Precision != nil || cfg.Flow.Linear != nil {
		return nil
	}
	code, mask := evaluate.LargestModel(masker)
	if dim := len(mask); slices.Contains(mask, true) && dim <= laplace.MaxDim {
		found, err := Laplace(ctx, device, target, [][]int32{code}, make([]float64, dim))
		if err != nil {
			return fmt.Errorf("evaluating the target: %w", err)
		}
		cfg.Flow.Precision, cfg.Flow.Linear = found[0].Precision, found[0].Linear
	}
	t.anchored = cfg.Flow.Precision != nil
	return nil
}

func (t *trainer) posterior() *Posterior { return &Posterior{evaluator: t.evaluator, steps: t.step} }
