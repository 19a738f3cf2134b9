package amortize

import (
	gocontext "context"
	"errors"
	"fmt"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// adamScope is the name of the scopes, within the scopes of the variables, that hold the moments of
// Adam.
const adamScope = "adam"

// Fit trains q(m | D) q(θ | m, D) on simulated problems, with new problems in every step. The
// result depends on the seed, but not on the number of processors.
//
// When ctx is cancelled Fit finishes the step in progress, writes the file of the network if
// cfg.Checkpoint names one, and returns the network so far with an error that wraps ctx.Err(). With
// Resume a later call continues, and ends with the same network, to the bit, as a training without
// interruption.
func Fit(ctx gocontext.Context, device *gpu.Device, family Family, cfg Config) (*Network, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	like, err := family.Simulate(stream.Rand(cfg.Seed, "amortize/shape"))
	if err != nil {
		return nil, fmt.Errorf("simulating: %w", err)
	}
	a, err := newNetwork(device, family, cfg, like)
	if err != nil {
		return nil, err
	}
	if cfg.Resume {
		if a.step, err = checkpoint.RestoreVariables(cfg.Checkpoint, a.graphs.Variables, a.settings); err != nil {
			return nil, err
		}
	}
	return a, a.fit(ctx)
}

func (a *Network) fit(ctx gocontext.Context) error {
	cfg := &a.config
	schedule, started := checkpoint.NewSchedule(checkpoint.DefaultInterval), time.Now()
	var info Info
	since := 0
	if err := a.beginBest(); err != nil {
		return err
	}
	for a.step < cfg.Steps {
		if err := ctx.Err(); err != nil {
			return errors.Join(fmt.Errorf("training stopped after %d of %s: %w", a.step, english.Count(cfg.Steps, "step"), err), a.save())
		}
		inputs, err := a.draw(fmt.Sprintf("amortize/%d", a.step), a.step)
		if err != nil {
			return err
		}
		outputs, err := a.graphs.Run("step", a.stepGraph, inputs...)
		if err != nil {
			return fmt.Errorf("training step %d: %w", a.step+1, err)
		}
		a.step++
		since++
		values := tensors.MustCopyFlatData[float64](outputs[0])
		info.Loss += values[0]
		info.GradientNorm += values[1]
		info.Skipped += int(values[2])
		if a.step%max(cfg.Steps/measurements, 1) == 0 || a.step == cfg.Steps {
			if err := a.consider(); err != nil {
				return err
			}
		}
		if a.step == cfg.Steps {
			if err := a.adoptBest(); err != nil {
				return err
			}
		}
		if a.step == 1 || a.step == cfg.Steps || a.step%cfg.LogEvery == 0 {
			info.Loss, info.GradientNorm = info.Loss/float64(since), info.GradientNorm/float64(since)
			info.Step, info.Steps, info.Elapsed = a.step, cfg.Steps, time.Since(started)
			info.Start, info.HeldOut, info.Best, info.BestStep = a.best.start, a.best.last, finiteMean(a.best.losses), a.best.step
			if cfg.Progress != nil {
				cfg.Progress(info)
			}
			if since > 1 && 2*info.Skipped > since {
				return fmt.Errorf("gradients of %d of the last %d steps were not finite: check the densities of the family for overflow", info.Skipped, since)
			}
			info, since = Info{}, 0
		}
		if schedule.Due() || a.step == cfg.Steps {
			writing := time.Now()
			if err := a.save(); err != nil {
				return err
			}
			schedule.Wrote(time.Since(writing))
		}
	}
	return nil
}

// stepGraph builds the graph of one training step. It returns three numbers: the loss, the norm of
// the gradient, and 1 if the step was skipped or 0 if not.
func (a *Network) stepGraph(ctx *vti.Context, inputs []*Node) []*Node {
	cfg := &a.config
	each, surrogate, step := a.objective(ctx, inputs)
	loss, g := train.FiniteMean(each), step.Graph()
	variables := train.VariablesIn(ctx, encoderScope, g)
	for _, scope := range []string{evaluate.FlowScope, evaluate.ModelScope} {
		variables = append(variables, train.VariablesIn(ctx, scope, g)...)
	}
	gradients := Gradient(surrogate, train.ValuesOf(g, variables)...)
	norm := train.GlobalNorm(gradients)
	apply := LogicalAnd(IsFinite(norm), IsFinite(loss))
	gradients = train.ClipByNorm(gradients, norm, cfg.ClipNorm)
	rate := train.LearningRate(step, cfg.LearningRate, cfg.Steps)
	for i, increment := range (train.Adam{}).Increments(ctx, adamScope, variables, gradients, rate, step, apply) {
		variables[i].SetValueGraph(Add(variables[i].ValueGraph(g), increment))
	}
	zero := ScalarZero(g, dtypes.Float64)
	return []*Node{Stack([]*Node{Where(apply, loss, zero), Where(apply, norm, zero), OneMinus(evaluate.Float64(apply))}, 0)}
}
