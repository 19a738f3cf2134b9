package vti

import (
	gocontext "context"
	"errors"
	"fmt"
	"time"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// Fit trains q(m) q(θ | m) on the target by stochastic gradients of eq. 10: pathwise for the flow,
// score-function for q(m).
//
// When ctx is cancelled Fit finishes the step in progress, writes a checkpoint if the configuration
// names one, and returns the posterior trained so far together with an error that wraps ctx.Err().
// Any other error comes with a nil posterior, except too many non-finite densities, where the
// posterior is returned for inspection. Whatever goes wrong, a device that is lost in the middle of
// a step included, the file of the last checkpoint stays as it was written.
func Fit(ctx gocontext.Context, device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	started := time.Now()
	t, err := newTrainer(device, target, cfg)
	if err != nil {
		return nil, err
	}
	posterior := t.posterior
	report := reporter{config: &posterior.config, started: started, since: started, step: posterior.step}
	if report.before, err = t.counters(); err != nil {
		return nil, err
	}
	for posterior.step < posterior.config.Steps {
		if err := ctx.Err(); err != nil {
			return posterior, errors.Join(fmt.Errorf("training stopped after %d of %d steps: %w", posterior.step, posterior.config.Steps, err), t.save(), t.settle())
		}
		if posterior.step == t.lookStep() {
			if err := t.look(ctx); err != nil {
				return posterior, err
			}
		}
		if err := t.launch(); err != nil {
			return nil, fmt.Errorf("training step %d: %w", posterior.step+1, err)
		}
		last := posterior.step == posterior.config.Steps
		if last {
			if err := t.settle(); err != nil {
				return nil, err
			}
		}
		if t.reportAfter(posterior.step) {
			now, err := t.counters()
			if err != nil {
				return nil, err
			}
			if err := report.next(posterior.step, now); err != nil {
				return posterior, err
			}
		}
		if t.saveAfter(posterior.step) {
			if err := t.save(); err != nil {
				return posterior, err
			}
		}
	}
	return posterior, nil
}

// Load opens the posterior stored in cfg.Checkpoint by a Fit with the same target and
// configuration.
func Load(device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	cfg.Resume = true
	t, err := newTrainer(device, target, cfg)
	if err != nil {
		return nil, err
	}
	return t.posterior, t.settle()
}

// trainer takes the steps of a fit.
type trainer struct {
	posterior *Posterior
	exec      *context.Exec        // one step
	several   *context.Exec        // Config.StepsPerLaunch steps; nil if that is one
	control   *modeldist.Surrogate // of the control variate, if it is SurrogateMean
	logPrior  []float64            // log p of every model, then
}

func newTrainer(device *gpu.Device, target Target, cfg Config) (*trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	posterior := &Posterior{device: device, target: target, variables: context.New().Checked(false)}
	sp := target.Space()
	var err error
	t := &trainer{posterior: posterior}
	if cfg.Models == nil || cfg.ControlVariate == SurrogateMean {
		if t.logPrior, err = logPriors(device, target); err != nil {
			return nil, err
		}
	}
	if cfg.Models == nil {
		if cfg.Models, err = modeldist.NewCategorical(sp.Cards(), modeldist.CategoricalConfig{LogPrior: t.logPrior}); err != nil {
			return nil, err
		}
	}
	if cfg.ControlVariate == SurrogateMean {
		if t.control, err = newControl(cfg.Models); err != nil {
			return nil, err
		}
	}
	cfg.Flow.Dim, cfg.Flow.Features = sp.Dim(), space.FeatureDimOf(sp)
	cfg.Flow.Seed = cfg.Seed
	_, ownQuadratics := target.(QuadraticTarget)
	if masker, ok := sp.(space.RowMasker); ok && !ownQuadratics && !cfg.Resume && cfg.Flow.Precision == nil && cfg.Flow.Linear == nil {
		code, mask := largestModel(masker)
		if cfg.Flow.Precision, cfg.Flow.Linear, err = laplace(device, target, code, mask); err != nil {
			return nil, fmt.Errorf("evaluating the target: %w", err)
		}
	}
	flow, err := cosmic.New(cfg.Flow)
	if err != nil {
		return nil, err
	}
	// sizes filled in: should a default change, an old checkpoint is refused with a reason
	cfg.Flow = flow.Config()
	posterior.config, posterior.flow = cfg, flow
	if posterior.settings, err = cfg.settings(device.String(), sp.Cards()); err != nil {
		return nil, err
	}
	if cfg.Resume {
		if posterior.step, err = RestoreCheckpoint(cfg.Checkpoint, posterior.variables, posterior.settings); err != nil {
			return nil, err
		}
	}
	if err := t.begin(); err != nil {
		return nil, err
	}
	return t, t.compile()
}

// save writes the checkpoint if the configuration names one.
func (t *trainer) save() error {
	p := t.posterior
	if p.config.Checkpoint == "" {
		return nil
	}
	for _, l := range t.learners() {
		if err := l.Store(l.ctx); err != nil {
			return err
		}
	}
	return WriteCheckpoint(p.config.Checkpoint, p.variables, p.step, p.settings)
}

// largestModel finds, site by site, the outcome that switches on most coordinates.
func largestModel(sp space.RowMasker) (code []int32, mask []bool) {
	cards := sp.Cards()
	code, mask = make([]int32, len(cards)), make([]bool, sp.Dim())
	for site, card := range cards {
		best, most := int32(0), -1
		for outcome := range int32(card) {
			code[site] = outcome
			active := 0
			for _, on := range sp.MaskRow(code, mask) {
				if on {
					active++
				}
			}
			if active > most {
				best, most = outcome, active
			}
		}
		code[site] = best
	}
	return code, sp.MaskRow(code, mask)
}

// logPriors evaluates log p(m) of every model in the order of its index, in chunks. It returns nil,
// for a uniform start, if the models cannot be listed.
func logPriors(device *gpu.Device, target Target) ([]float64, error) {
	cards := target.Space().Cards()
	count, ok := space.CountCodes(cards)
	if !ok || count > modeldist.DefaultLimit {
		return nil, nil
	}
	exec, err := NewExec(device.Backend(), func(index *Node) *Node {
		return toFloat64(target.LogPrior(space.Codes(cards, index)))
	})
	if err != nil {
		return nil, err
	}
	chunk := min(count, 1<<14)
	index, values := make([]int32, chunk), make([]float64, 0, count)
	for start := 0; start < count; start += chunk {
		for i := range index {
			index[i] = int32(min(start+i, count-1))
		}
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(index) })
		if err != nil {
			return nil, fmt.Errorf("evaluating the prior over models: %w", err)
		}
		values = append(values, tensors.MustCopyFlatData[float64](outputs[0])[:min(chunk, count-start)]...)
	}
	return values, nil
}

// reporter turns running sums into the averages of Info.
type reporter struct {
	config         *Config
	started, since time.Time
	step           int
	before         counters
}

// next reports the interval that ends at step with sums now, and fails when too many draws of the
// interval were not finite.
func (r *reporter) next(step int, now counters) error {
	steps := float64(step - r.step)
	clock := time.Now()
	nonFinite := now.nonFinite - r.before.nonFinite
	info := Info{
		Step: step, Steps: r.config.Steps, Loss: (now.loss - r.before.loss) / steps, Entropy: (now.entropy - r.before.entropy) / steps,
		GradientNorm: (now.gradientNorm - r.before.gradientNorm) / steps,
		NonFinite:    int(nonFinite), SkippedSteps: int(now.skipped - r.before.skipped),
		Elapsed: clock.Sub(r.started), StepsPerSecond: steps / clock.Sub(r.since).Seconds(),
	}
	if r.config.Progress != nil {
		r.config.Progress(info)
	}
	draws, limit := steps*float64(r.config.Batch), train.NonFiniteLimit(step, r.config.Steps, r.config.MaxNonFinite)
	if nonFinite > limit*draws {
		return fmt.Errorf("%d of %d draws between steps %d and %d had a log density that is not finite (limit %g): "+
			"check the target for overflow, or that its density is positive wherever its parameters are real",
			int(nonFinite), int(draws), r.step, step, limit)
	}
	r.since, r.step, r.before = clock, step, now
	return nil
}
