package vti

import (
	gocontext "context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// stepGraph builds the graph of one training step, which changes variables. inputs holds the inputs
// of a BatchedFlow. For learners (a q(m) with its own rule, or a surrogate) it returns codes [B,S],
// rewards [B], the result of the function movement, and whether to learn (1 or 0).
func (t *trainer) stepGraph(ctx *Context, g *Graph, inputs []*Node) []*Node {
	cfg, target := &t.config, t.Target
	sp := target.Space()

	uniforms := stream.Uniform(ctx, g, cfg.Seed, "codes", shapes.Make(dtypes.Float64, cfg.Batch, len(sp.Cards())))
	codes := cfg.Models.Sample(ctx.In(evaluate.ModelScope), uniforms)
	amortized, isAmortized := t.Flow.(AmortizedFlow)
	if isAmortized {
		codes = amortized.Codes(inputs)
	}
	logQ, logJoint := t.densities(ctx, codes, inputs)
	logH := Sub(logQ, logJoint)
	logModel := cfg.Models.LogProb(ctx.In(evaluate.ModelScope), codes)
	logPrior := ConvertDType(evaluate.LogPrior(target, codes), dtypes.Float64)
	logH64 := ConvertDType(logH, dtypes.Float64)
	loss := Add(logH64, Sub(logModel, logPrior)) // for each draw; the VTI paper, eq. 10

	// Both gradients come from one sweep: the score-function loss takes its rewards as constants,
	// and the flow's loss does not contain the parameters of q(m).
	stepVariable := ctx.InAbsPath("/"+trainScope).VariableWithValue("step", float64(0)).SetTrainable(false)
	step := AddScalar(stepVariable.ValueGraph(g), 1)
	stepVariable.SetValueGraph(step)
	now := t.scheduleOf(ctx, step)
	power := now.power(cfg.Tempering)
	flowLoss := train.FiniteMean(evaluate.Float64(Sub(logQ, Mul(logJoint, ConvertDType(power, logJoint.DType())))))
	// the part of log h that the loss of q(m) leaves out while evidences have a power below 1
	held := Mul(logH64, OneMinus(now.annealed(cfg.Annealing)))
	var scoreLoss, nonFinite *Node
	modelRows := 1 // number of rows of a model
	if grouped, ok := cfg.Models.(GroupedModels); ok {
		modelRows = grouped.Rows()
		scoreLoss, nonFinite, loss = grouped.ScoreLoss(ctx.In(evaluate.ModelScope), codes, Sub(logH64, held))
		loss = Add(loss, ReduceSum(Reshape(held, -1, modelRows), 1))
	} else {
		scoreLoss, nonFinite = t.scoreLoss(ctx, codes, Sub(loss, held), logModel)
	}
	flowVariables := train.VariablesIn(ctx, evaluate.FlowScope, g)
	modelVariables := train.VariablesIn(ctx, evaluate.ModelScope, g)
	values, rows := train.ValuesOf(g, append(flowVariables, modelVariables...)), make([]*Node, len(flowVariables))
	tables, hasTables := t.Flow.(TableFlow)
	for i, variable := range flowVariables {
		if hasTables {
			if touched, used := tables.Used(variable.ScopeAndName()); touched != nil {
				rows[i], values[i] = touched, used
			}
		}
	}
	gradients := Gradient(Add(flowLoss, scoreLoss), values...)
	flowGradients, modelGradients := gradients[:len(flowVariables)], gradients[len(flowVariables):]

	norm := train.GlobalNorm(flowGradients)
	apply := IsFinite(norm) // otherwise the whole step is skipped
	if len(modelGradients) > 0 {
		apply = LogicalAnd(apply, IsFinite(train.GlobalNorm(modelGradients)))
	}
	flowGradients = train.ClipByNorm(flowGradients, norm, cfg.ClipNorm)
	increments := train.Adam{SecondDecay: cfg.SecondDecay, Rows: rows}.Increments(ctx, adamScope, flowVariables, flowGradients, now.rate(cfg.LearningRate), step, apply)
	for i, increment := range increments {
		if hasTables {
			increments[i] = MulScalar(increment, tables.Pace(flowVariables[i].ScopeAndName()))
		}
		flowVariables[i].SetValueGraph(train.Advance(flowVariables[i].ValueGraph(g), rows[i], increments[i]))
	}
	update := modelUpdate{modelVariables, modelGradients, codes, logModel, step, now.rate(cfg.ModelStep), apply}
	learns := GreaterOrEqual(power, OnesLike(power))
	if isAmortized { // without a change of q(m)
		learns = Const(g, false)
	} else if cfg.holds() {
		learns = LogicalAnd(learns, train.Released(ctx.InAbsPath("/"+trainScope), evaluate.Float64(logH), now.step, now.steps))
	}
	update.rate = Mul(evaluate.Float64(learns), update.rate)
	entropy := t.updateModels(ctx.In(evaluate.ModelScope), update)

	sums := ctx.InAbsPath("/"+trainScope).VariableWithValue("sums", make([]float64, numCounters)).SetTrainable(false)
	total := Add(sums.ValueGraph(g), Stack([]*Node{
		train.FiniteMean(loss), Where(apply, norm, ZerosLike(norm)), evaluate.Float64(nonFinite), OneMinus(evaluate.Float64(apply)), MulScalar(entropy, modelRows),
	}, 0))
	sums.SetValueGraph(total)
	if len(t.learners()) == 0 {
		return nil
	}
	return []*Node{codes, Neg(evaluate.Float64(logH)), movement(flowGradients, increments, apply), evaluate.Float64(learns)}
}

// densities draws parameters θ for models m and returns log q(θ | m) and log p(y, θ | m) [B].
func (t *trainer) densities(ctx *Context, codes *Node, inputs []*Node) (logQ, logJoint *Node) {
	if len(inputs) > 0 {
		return t.Flow.(BatchedFlow).Densities(ctx.In(evaluate.FlowScope), codes, inputs)
	}
	sp := t.Target.Space()
	z := stream.Normal(ctx, codes.Graph(), t.config.Seed, "noise", shapes.Make(t.config.DType, t.config.Batch, sp.Dim()))
	_, logQ, logJoint = t.PushGraph(ctx, codes, sp.Mask(codes), z, t.DType)
	return logQ, logJoint
}

// movement returns the size of the change of the loss of the flow in a step, to first order, in
// nats: |Σ gradient·increment|.
func movement(gradients, increments []*Node, apply *Node) *Node {
	change := ScalarZero(apply.Graph(), dtypes.Float64)
	for i, gradient := range gradients {
		change = Add(change, evaluate.Float64(ReduceAllSum(Mul(gradient, increments[i]))))
	}
	return Where(apply, Abs(change), ZerosLike(change))
}

// counters holds sums over all steps since the start of training. Sums, unlike averages, need no
// reset, and continue when a run is resumed.
type counters struct {
	loss, gradientNorm, nonFinite, skipped, entropy float64
}

const numCounters = 5

// counters reads the running sums from the device.
func (t *trainer) counters() (counters, error) {
	variable := t.Variables.GetVariableByScopeAndName("/"+trainScope, "sums")
	if variable == nil || !variable.HasValue() {
		return counters{}, nil
	}
	value, err := variable.Value()
	if err != nil {
		return counters{}, err
	}
	sums, err := tensors.CopyFlatData[float64](value)
	if err != nil {
		return counters{}, err
	}
	return counters{sums[0], sums[1], sums[2], sums[3], sums[4]}, nil
}

// All state that a step changes is in variables: weights, moments of Adam, states of random
// generators, the number of the step, and running sums. A launch passes the buffers of the
// variables to the device, which may overwrite them. Only the outputs for learners are copied back.
// Reports and checkpoints read variables when they are due.

// compile prepares the graphs of training. They are compiled when they are first run.
func (t *trainer) compile() (err error) {
	backend := t.Device.Backend()
	if _, batched := t.Flow.(BatchedFlow); batched {
		t.exec, err = context.NewExecAny(backend, t.Variables, func(ctx *Context, inputs []*Node) []*Node {
			return t.stepGraph(ctx, inputs[0].Graph(), inputs)
		})
		return err
	}
	step := func(ctx *Context, g *Graph) []*Node { return t.stepGraph(ctx, g, nil) }
	if t.exec, err = context.NewExec(backend, t.Variables, step); err != nil {
		return err
	}
	// A Learner gets the outputs of every step, so that a launch has one step.
	if t.config.StepsPerLaunch == 1 || len(t.learners()) > 0 {
		return nil
	}
	// There are no loops in graphs: a graph of several steps has a copy of the step for each, which
	// reads the variables that the previous copy changed.
	t.several, err = context.NewExec(backend, t.Variables, func(ctx *Context, g *Graph) []*Node {
		for range t.config.StepsPerLaunch {
			step(ctx, g)
		}
		return nil
	})
	return err
}

// batch returns the inputs of the next step that the processor (host) computes, for a BatchedFlow.
func (t *trainer) batch(ctx gocontext.Context) ([]any, error) {
	if batched, ok := t.Flow.(BatchedFlow); ok {
		return batched.Batch(ctx, t.Device, t.step)
	}
	return nil, nil
}

// launch takes the next step, or several if nothing is due between them.
func (t *trainer) launch(inputs []any) error {
	exec, steps := t.exec, 1
	if t.several != nil && t.undisturbed(t.config.StepsPerLaunch) {
		exec, steps = t.several, t.config.StepsPerLaunch
	}
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(inputs...) })
	if err != nil {
		return t.Explain(err)
	}
	if err := t.learn(outputs); err != nil {
		return err
	}
	// at once, because the garbage collector does not count memory of the device
	for _, output := range outputs {
		if err := output.FinalizeAll(); err != nil {
			return fmt.Errorf("freeing what was learned from: %w", err)
		}
	}
	t.step += steps
	return nil
}

// undisturbed reports whether no report, checkpoint or pilot run is due before the last of the
// given number of steps.
func (t *trainer) undisturbed(steps int) bool {
	for step := t.step + 1; step < t.step+steps; step++ {
		if t.reportAfter(step) || t.saveAfter(step) || step == t.pilotStep() {
			return false
		}
	}
	return t.step+steps <= t.round.last
}

// pilot carries out the pilot run that is due. Before it the state is saved in the checkpoint,
// since a pilot run that is stopped or fails leaves q(m) partly fitted.
func (t *trainer) pilot(ctx gocontext.Context) error {
	if t.step > 0 {
		if err := t.save(); err != nil {
			return err
		}
	}
	if t.config.Start != PilotStart {
		return nil
	}
	return pilotRun(ctx, t.evaluator)
}

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
	info := checkpoint.Info{Step: t.step, Settings: t.settings}
	if t.plan != nil {
		var err error
		if info.Plan, err = json.Marshal(t.plan); err != nil {
			return fmt.Errorf("checkpoint: encoding the plan: %w", err)
		}
	}
	if err := checkpoint.WriteVariables(t.config.Checkpoint, t.Variables, info); err != nil {
		return err
	}
	if t.schedule != nil {
		t.schedule.Wrote(time.Since(started))
	}
	return nil
}
