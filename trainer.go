package vti

import (
	gocontext "context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// trainer takes the steps of a fit.
type trainer struct {
	*evaluator
	config   Config               // defaults filled in
	settings json.RawMessage      // of the checkpoint
	step     int                  // steps taken
	schedule *checkpoint.Schedule // of checkpoints by time; nil without them

	exec       *context.Exec        // one step
	several    *context.Exec        // Config.StepsPerLaunch steps; nil if that is one
	control    *modeldist.Surrogate // of the control variate, if it is SurrogateMean
	tablePrior []float64            // log p of every model, then
}

func newTrainer(ctx gocontext.Context, device *gpu.Device, target Target, cfg Config) (*trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	sp := target.Space()
	var err error
	t := &trainer{}
	if cfg.Models == nil || cfg.ControlVariate == SurrogateMean {
		if t.tablePrior, err = logPriors(device, target); err != nil {
			return nil, err
		}
	}
	if cfg.Models == nil {
		if cfg.Models, err = modeldist.NewCategorical(sp.Cards(), modeldist.CategoricalConfig{LogPrior: t.tablePrior}); err != nil {
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
	sized := cfg
	sized.Flow = cfg.Flow.WithDefaults()
	if err := sized.checkSize(sp); err != nil {
		return nil, err
	}
	_, ownQuadratics := target.(QuadraticTarget)
	if masker, ok := sp.(space.RowMasker); ok && !ownQuadratics && !cfg.Resume && cfg.Flow.Precision == nil && cfg.Flow.Linear == nil {
		code, mask := largestModel(masker)
		if cfg.Flow.Precision, cfg.Flow.Linear, err = laplace(ctx, device, target, code, mask); err != nil {
			return nil, fmt.Errorf("evaluating the target: %w", err)
		}
	}
	flow, err := cosmic.New(cfg.Flow)
	if err != nil {
		return nil, err
	}
	// sizes filled in: should a default change, an old checkpoint is refused with a reason
	cfg.Flow = flow.Config()
	t.config = cfg
	t.evaluator = &evaluator{
		device: device, target: target, flow: flow, models: cfg.Models, variables: context.New().Checked(false),
		dtype: cfg.DType, batch: cfg.Batch, seed: cfg.Seed,
	}
	if t.settings, err = cfg.settings(device.String(), sp.Cards()); err != nil {
		return nil, err
	}
	if cfg.Resume {
		if t.step, err = RestoreCheckpoint(cfg.Checkpoint, t.variables, t.settings); err != nil {
			return nil, err
		}
	}
	if cfg.Checkpoint != "" && cfg.CheckpointInterval > 0 {
		t.schedule = checkpoint.NewSchedule(cfg.CheckpointInterval)
	}
	if err := t.begin(); err != nil {
		return nil, err
	}
	return t, t.compile()
}

// posterior is what is trained so far.
func (t *trainer) posterior() *Posterior { return &Posterior{evaluator: t.evaluator, steps: t.step} }

// save writes the checkpoint if the configuration names one.
func (t *trainer) save() error {
	if t.config.Checkpoint == "" {
		return nil
	}
	started := time.Now()
	for _, l := range t.learners() {
		if err := l.Store(l.ctx); err != nil {
			return err
		}
	}
	if err := WriteCheckpoint(t.config.Checkpoint, t.variables, t.step, t.settings); err != nil {
		return err
	}
	t.schedule.Wrote(time.Since(started))
	return nil
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
