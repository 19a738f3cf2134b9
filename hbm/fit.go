package hbm

import (
	"cmp"
	gocontext "context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// Scopes of the variables of a fit.
const (
	familyScope = "family"
	trainScope  = "train"
	adamScope   = "adam"
)

// secondDecay makes Adam forget large gradients soon. At the start, far from the posterior,
// gradients are many thousand times larger than near it. Their second moments take log(10⁸) / (1 −
// decay) steps to fade, during which steps are too small: 200 instead of the 2,000 of a decay of
// 0.99.
const secondDecay = 0.9

// networkRate is the learning rate of the weights of networks, relative to free encodings and
// affine maps: a change of a weight moves all members at once.
const networkRate = 1. / 20

// checkpointSteps is the number of steps between checkpoints. mostNonFinite is the largest share of
// draws with a density that is not finite between two reports; in the first 100 steps it is a half.
// Chosen by hand.
const (
	checkpointSteps = 500
	mostNonFinite   = 0.01
)

const networkScope = "network"

// Fit trains a variational family on the posterior of the latent variables of a model given data,
// by stochastic gradients of the reduced ELBO (PAVI eq. 6).
//
// If ctx is cancelled, Fit finishes the step in progress, writes a checkpoint if the configuration
// names one, and returns the posterior trained so far with an error that wraps ctx.Err(). Any other
// error comes with a nil posterior. The exception is too many densities that are not finite: then
// the posterior is returned for inspection.
func Fit(ctx gocontext.Context, device *gpu.Device, model *Model, data Values, cfg Config) (*Posterior, error) {
	started := time.Now()
	t, err := newTrainer(ctx, device, model, data, cfg)
	if err != nil {
		return nil, err
	}
	report := reporter{config: &t.config, started: started, since: started, step: t.step}
	saving := checkpoint.NewSchedule(checkpoint.DefaultInterval)
	for t.step < t.config.Steps {
		if err := ctx.Err(); err != nil {
			return t.Posterior, errors.Join(fmt.Errorf("training stopped after %d of %s: %w", t.step, english.Count(t.config.Steps, "step"), err), t.save())
		}
		if t.step > 0 && budget.Passed(t.config.Until) {
			if t.step%t.config.LogEvery != 0 && t.step > 1 {
				if err := report.next(t.step, t.sums); err != nil {
					return t.Posterior, err
				}
			}
			return t.Posterior, t.save()
		}
		if err := t.advance(ctx); err != nil && ctx.Err() != nil {
			continue // the step was given up before it changed anything
		} else if err != nil {
			return nil, fmt.Errorf("training step %d: %w", t.step+1, err)
		}
		t.step++
		if t.step == t.config.Steps || t.step == 1 || t.step%t.config.LogEvery == 0 {
			if err := report.next(t.step, t.sums); err != nil {
				return t.Posterior, err
			}
		}
		if t.step == t.config.Steps || t.step%checkpointSteps == 0 || saving.Due() {
			before := time.Now()
			if err := t.save(); err != nil {
				return t.Posterior, err
			}
			saving.Wrote(time.Since(before))
		}
	}
	return t.Posterior, nil
}

// trainer holds the state of a training run beside its posterior.
type trainer struct {
	*Posterior
	selector *selector
	exec     *context.Exec
	sums     counters
	// simulate makes the data of a step, if the family is amortized over data sets.
	simulate dataSets
	// fingerprint identifies the data of the run.
	fingerprint string
	// fixed are the selection and the first inputs of every step, if each step has all members.
	fixed       *selection
	fixedInputs []any
	fixedCount  int
}

func newTrainer(ctx gocontext.Context, device *gpu.Device, model *Model, data Values, cfg Config) (*trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &trainer{}
	if cfg.Amortize > 0 {
		var err error
		if t.simulate, err = newDataSets(device, model, nil, data, cfg); err != nil {
			return nil, err
		}
		// Encoders take the scale of these data as the usual one.
		if data, err = t.simulate(ctx, nil, "amortize/scale", nil); err != nil {
			return nil, err
		}
	}
	if cfg.Amortize == 0 {
		if err := model.CheckData(data); err != nil {
			return nil, err
		}
	}
	t.fingerprint = fingerprint(model, data)
	p, err := newPosterior(device, model, data, cfg.WithDefaults())
	if err != nil {
		return nil, err
	}
	t.Posterior = p
	if t.selector, err = newSelector(model, cfg.Batch); err != nil {
		return nil, err
	}
	if cfg.Family == Joint && !t.selector.whole() {
		return nil, fmt.Errorf("hbm: family %v takes part in the whole model in each step: got a Batch, want none", Joint)
	}
	p.config.Draws = cmp.Or(p.config.Draws, t.draws())
	if t.exec, err = context.NewExecAny(device.Backend(), p.variables, t.stepGraph); err != nil {
		return nil, err
	}
	if t.selector.whole() && t.simulate == nil {
		t.fixed = t.selector.draw(stream.Rand(cfg.Seed, "plates"))
		t.fixedInputs = t.feed.inputs(t.fixed)
		t.fixedCount = len(t.fixedInputs) - len(p.feed.encodingInputs(t.fixed))
	}
	if cfg.Resume {
		return t, t.restore()
	}
	return t, nil
}

// dataSets makes the data sets of a step for amortization: each from the model of a code, if codes
// are not nil.
type dataSets func(ctx gocontext.Context, codes [][]int32, name string, left map[*Plate][]bool) (Values, error)

// newDataSets simulates a model, or the models of a Target, given the constants among the data.
func newDataSets(device *gpu.Device, model *Model, over *Target, data Values, cfg Config) (dataSets, error) {
	if cfg.Simulate != nil {
		return func(ctx gocontext.Context, codes [][]int32, name string, left map[*Plate][]bool) (Values, error) {
			return cfg.Simulate(ctx, cfg.Amortize, codes, cfg.Seed, name, left)
		}, model.Err()
	}
	var simulator *Simulator
	var err error
	if over != nil {
		simulator, err = over.Simulator(device)
	} else {
		simulator, err = NewSimulator(device, model)
	}
	if err != nil {
		return nil, err
	}
	constants := Values{}
	for _, v := range model.withRole(Constant) {
		constants[v] = data[v]
	}
	return func(ctx gocontext.Context, codes [][]int32, name string, _ map[*Plate][]bool) (Values, error) {
		if over != nil {
			return simulator.DrawModels(ctx, constants, codes, cfg.Seed, name)
		}
		return simulator.DrawSets(ctx, constants, cfg.Amortize, cfg.Seed, name)
	}, nil
}

// DefaultDraws is the default number of draws: a step has manyRows values of its largest latent
// variable, of which members take part, within bounds.
func DefaultDraws(members int) int {
	const manyRows, fewest, most = 1024, 8, 64
	return min(max(manyRows/members, fewest), most)
}

// draws is the number of draws in a step of training.
func (t *trainer) draws() int {
	members := 1
	for _, l := range t.family.latents {
		size := 1
		for _, p := range l.plates {
			size *= t.selector.size(p)
		}
		members = max(members, size)
	}
	return DefaultDraws(members)
}

func (t *trainer) advance(ctx gocontext.Context) error {
	chosen := t.fixed
	var inputs []any
	if chosen != nil {
		inputs = append(t.fixedInputs[:t.fixedCount:t.fixedCount], t.feed.encodingInputs(chosen)...)
	} else {
		random := stream.Rand(t.config.Seed, fmt.Sprintf("plates/%d", t.step))
		chosen = t.selector.draw(random)
		if t.simulate != nil {
			var left map[*Plate][]bool
			if t.config.Thin {
				left = chosen.thin(t.model, random)
			}
			data, err := t.simulate(ctx, nil, fmt.Sprintf("amortize/%d", t.step), left)
			if err != nil {
				return err
			}
			t.feed.data = data
		}
		inputs = t.feed.inputs(chosen)
	}
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return t.exec.Exec(inputs...) })
	if err != nil {
		return err
	}
	for _, e := range t.feed.encodings {
		e.scatter(chosen.rows(e.variable), chosen.counts(e.variable), outputs[:encodingColumns])
		outputs = outputs[encodingColumns:]
	}
	sums := tensors.MustCopyFlatData[float64](outputs[0])
	t.sums.elbo += sums[0]
	t.sums.gradientNorm += sums[1]
	t.sums.nonFinite += sums[2]
	t.sums.skipped += sums[3]
	return nil
}

// stepGraph is one step of training. It returns new columns of encodings, and counter increments.
func (t *trainer) stepGraph(ctx *context.Context, inputs []*Node) []*Node {
	r, columns := t.feed.replica(t.selector, inputs)
	g := r.graph
	stepVariable := ctx.InAbsPath("/"+trainScope).Checked(false).VariableWithValue("step", float64(0)).SetTrainable(false)
	step := AddScalar(stepVariable.ValueGraph(g), 1)
	stepVariable.SetValueGraph(step)
	elbo := t.elbo(ctx, r, t.config.Draws) // [draws] Float64
	finite := IsFinite(elbo)
	loss := Neg(train.FiniteMean(elbo))

	variables := train.VariablesIn(ctx, familyScope, g)
	of := train.ValuesOf(g, variables)
	for _, own := range columns {
		of = append(of, own[encodingValue])
	}
	gradients := Gradient(loss, of...)
	norm := train.GlobalNorm(gradients)
	apply := IsFinite(norm)

	rate := train.LearningRate(step, t.config.LearningRate, t.config.Steps)
	increments := train.Adam{SecondDecay: secondDecay}.Increments(ctx, adamScope, variables, gradients[:len(variables)], rate, step, apply)
	for i, increment := range increments {
		if strings.Contains(variables[i].Scope(), "/"+networkScope+"/") {
			increment = MulScalar(increment, networkRate)
		}
		variables[i].SetValueGraph(Add(variables[i].ValueGraph(g), increment))
	}
	var outputs []*Node
	for i, own := range columns {
		outputs = append(outputs, updateEncodings(own, gradients[len(variables)+i], rate, apply)...)
	}
	nonFinite := ReduceAllSum(ConvertDType(LogicalNot(finite), dtypes.Float64))
	skipped := OneMinus(ConvertDType(apply, dtypes.Float64))
	return append(outputs, Stack([]*Node{Neg(loss), Where(apply, norm, ZerosLike(norm)), nonFinite, skipped}, 0))
}

// counters are sums over all steps so far.
type counters struct{ elbo, gradientNorm, nonFinite, skipped float64 }

// reporter turns running sums into the averages of Info.
type reporter struct {
	config         *Config
	started, since time.Time
	step           int
	before         counters
}

// next reports the interval up to step, with sums now. It fails if too many draws were not finite.
func (r *reporter) next(step int, now counters) error {
	steps, clock := float64(step-r.step), time.Now()
	nonFinite := now.nonFinite - r.before.nonFinite
	if r.config.Progress != nil {
		r.config.Progress(vti.Info{
			Step: step, Steps: r.config.Steps, Loss: (r.before.elbo - now.elbo) / steps, Entropy: math.NaN(), GradientNorm: (now.gradientNorm - r.before.gradientNorm) / steps,
			NonFinite: int(nonFinite), SkippedSteps: int(now.skipped - r.before.skipped),
			Elapsed: clock.Sub(r.started), StepsPerSecond: steps / clock.Sub(r.since).Seconds(),
		})
	}
	draws, limit := steps*float64(r.config.Draws), train.NonFiniteLimit(step, r.config.Steps, mostNonFinite)
	if nonFinite > limit*draws {
		return fmt.Errorf("hbm: %d of %d draws between steps %d and %d had a density that is not finite (limit %g): "+
			"the scales of the data and of the priors may be far apart, or the family far from what the posterior is like: try another", int(nonFinite), int(draws), r.step, step, limit)
	}
	r.since, r.step, r.before = clock, step, now
	return nil
}
