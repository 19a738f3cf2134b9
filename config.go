package vti

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/space"
)

// Config says how Fit trains. The zero value is a good default for a few dozen coordinates and up
// to a million models.
type Config struct {
	// Flow is the family of q(θ | m). Fit fills in Dim and Features and, when Precision is nil,
	// Precision and Linear from the curvature of the log density at a mode of the largest model: of
	// all pairs of coordinates up to cosmic.MaxCoupledDim of them, of each coordinate for itself
	// above.
	Flow cosmic.Config
	// Backbone is q(θ | m) in place of Flow, which is then not read, such as a family of plates of
	// package hbm. Its String, if it has that method, is part of what checkpoints are held against.
	// It begins with IdentityStart: a pilot run would choose the models that it happens to fit.
	Backbone Flow
	// Models is q(m); nil stands for a table of logits over all models, which starts at the prior,
	// and beyond modeldist.DefaultLimit of them for a masked network, which starts uniform.
	Models ModelDistribution
	// Steps is the number of training steps; 0 stands for 2,000. This and the other defaults that
	// name no source were chosen by hand, on tables of some tens of rows and predictors.
	Steps int
	// Until, if not zero, is when Fit ends, with the step in progress, however many there are to
	// be.
	Until time.Time
	// FirstRound, if not 0, is the number of steps of the first of several rounds. Each is twice as
	// long as the one before, and the learning rate and tempering start anew with it; the last ends
	// with Steps. 0 stands for a single round.
	FirstRound int
	// Batch is the number of (m, z) pairs in a step; 0 stands for 1,024.
	Batch int
	// LearningRate is the largest step of Adam on the flow, reached after a short warm-up and then
	// lowered to zero along a cosine; 0 stands for 0.003.
	LearningRate float64
	// ModelStep scales the step on q(m); 0 stands for 0.1.
	ModelStep float64
	// InformationGain bounds the change of the entropy of q(m) in one step, in nats (D.2); 0 stands
	// for 0.01. +Inf turns the control off.
	InformationGain float64
	// Tempering is the share of the steps during which the flow is trained on a flattened target,
	// log η times a power that rises from 0.1 to 1, while q(m) stays as it is. A flow that starts
	// wide finds modes that one fitted to a single mode never draws, and q(m) does not choose
	// models before their parameters are fitted. 0 means none: right for posteriors with one mode
	// per model.
	Tempering float64
	// Annealing is the share of the steps during which q(m) follows p(m) Z_m to a power that rises
	// from 0 to 1, Z_m being what the flow says of the evidence of m. It holds q(m) back until the
	// flow has moved, and from settling on the models that it happens to find first: right for
	// spaces of models that are not listed, without a warm start. 0 means none.
	Annealing float64
	// ControlVariate reduces the variance of the score-function gradient of q(m); the zero value is
	// LeaveOneOut.
	ControlVariate ControlVariate
	// Begin, if not nil, is the starting point of the fit: Flow, Models and Start are then not
	// read.
	Begin *Beginning
	// Start says what the flow and q(m) are before the first step.
	Start Start
	// LearnAtOnce lets q(m) learn from the first step. Without, one that begins at the prior is
	// held there until the losses of models have stopped falling together (train.Released).
	LearnAtOnce bool
	// Warm, if not nil, draws models that q(m) learns by maximum likelihood before the first step,
	// in place of a pilot run: models that chains on a simpler posterior visit, for instance. Those
	// of GroupedModels are the codes of all rows of one, one after the other.
	Warm func(random *rand.Rand) []int32
	// StepsPerLaunch is the number of steps that are compiled into one graph, where no report,
	// checkpoint or pilot run comes between them; 0 stands for 1. More save the time between
	// launches, which counts on a GPU when steps are short, and take as many times longer to
	// compile.
	StepsPerLaunch int
	// ClipNorm bounds the joint norm of the flow's gradient; 0 stands for 50.
	ClipNorm float64
	// Seed is the root of every random stream.
	Seed uint64
	// DType is the float type of the flow and the target: Float32 (the zero value stands for it) or
	// Float64.
	DType dtypes.DType
	// MaxNonFinite is the largest share of draws with a non-finite log density that is tolerated
	// between two log points; above it Fit returns an error. 0 stands for 0.01. In the first 100
	// steps up to half may be so.
	MaxNonFinite float64

	// LogEvery is the number of steps between calls of Progress; 0 stands for 100.
	LogEvery int
	// Progress, if not nil, is called after the first step, every LogEvery steps and after the
	// last.
	Progress func(Info)
	// Checkpoint names the file that holds the state of training; "" writes none.
	Checkpoint string
	// CheckpointEvery is the number of steps between checkpoints; 0 stands for 500. The last step
	// is always stored.
	CheckpointEvery int
	// CheckpointInterval is the longest time between checkpoints, whatever the steps: they are due
	// after two seconds and then at intervals that double up to it. It changes no number. 0 stands
	// for 30 s; a negative one leaves it at CheckpointEvery.
	CheckpointInterval time.Duration
	// Resume continues from the state in Checkpoint instead of starting anew.
	Resume bool
}

// Info is a report of a training run. Averages are over the steps since the previous
// report.
type Info struct {
	Step, Steps int
	// Loss is the average of log h + log q(m) − log p(m): an estimate of −ELBO, in nats (eq. 10).
	Loss float64
	// Entropy is that of q(m), in nats.
	Entropy float64
	// GradientNorm is the average norm of the flow's gradient before clipping.
	GradientNorm float64
	// NonFinite counts draws whose log density was not finite; they are left out of every average.
	NonFinite int
	// SkippedSteps counts steps whose gradient was not finite; they change nothing.
	SkippedSteps int
	// Elapsed is the time since Fit was called, and StepsPerSecond the speed since the previous
	// report.
	Elapsed        time.Duration
	StepsPerSecond float64
}

// Validate reports the first field that is out of its range.
func (c Config) Validate() error {
	for _, field := range []struct {
		name  string
		value float64
	}{
		{"Steps", float64(c.Steps)}, {"FirstRound", float64(c.FirstRound)}, {"Batch", float64(c.Batch)}, {"LearningRate", c.LearningRate}, {"ModelStep", c.ModelStep},
		{"InformationGain", c.InformationGain}, {"ClipNorm", c.ClipNorm}, {"MaxNonFinite", c.MaxNonFinite},
		{"LogEvery", float64(c.LogEvery)}, {"StepsPerLaunch", float64(c.StepsPerLaunch)}, {"CheckpointEvery", float64(c.CheckpointEvery)},
	} {
		if field.value < 0 || math.IsNaN(field.value) {
			return fmt.Errorf("vti.Config: got %s %g, want a number that is not negative", field.name, field.value)
		}
	}
	if !(c.Tempering >= 0 && c.Tempering < 1) {
		return fmt.Errorf("vti.Config: got Tempering %g, want a share of the steps, at least 0 and below 1", c.Tempering)
	}
	if !(c.Annealing >= 0 && c.Annealing <= 1) {
		return fmt.Errorf("vti.Config: got Annealing %g, want a share of the steps", c.Annealing)
	}
	if c.DType != dtypes.InvalidDType && c.DType != dtypes.Float32 && c.DType != dtypes.Float64 {
		return fmt.Errorf("vti.Config: got DType %s, want Float32 or Float64", c.DType)
	}
	if err := errors.Join(controlVariates.Check(c.ControlVariate), starts.Check(c.Start)); err != nil {
		return fmt.Errorf("vti.Config: %w", err)
	}
	if c.Resume && c.Checkpoint == "" {
		return fmt.Errorf("vti.Config: got Resume without Checkpoint, want the file to continue from")
	}
	return nil
}

// withDefaults returns the configuration with every zero replaced by its default.
func (c Config) withDefaults() Config {
	setDefault(&c.Steps, 2000)
	setDefault(&c.Batch, 1024)
	setDefault(&c.LearningRate, 3e-3)
	setDefault(&c.ModelStep, 0.1)
	setDefault(&c.InformationGain, 0.01)
	setDefault(&c.ClipNorm, 50)
	setDefault(&c.DType, dtypes.Float32)
	setDefault(&c.MaxNonFinite, 0.01)
	setDefault(&c.StepsPerLaunch, 1)
	setDefault(&c.LogEvery, 100)
	setDefault(&c.CheckpointEvery, 500)
	setDefault(&c.CheckpointInterval, checkpoint.DefaultInterval)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// settings are the fields that a resumed run must share with the interrupted one: all that the
// state after a given step depends on.
func (c Config) settings(backend string, cards []int) (json.RawMessage, error) {
	flow := c.Flow
	flow.Precision, flow.Linear = nil, nil // variables of the checkpoint
	models := fmt.Sprintf("%T", c.Models)
	if described, ok := c.Models.(fmt.Stringer); ok {
		models = described.String()
	}
	settings := map[string]any{
		"control_variate": c.ControlVariate.String(), "from_prior": c.Start != PilotStart,
		"flow": flow, "models": models, "cards": cards, "steps": c.Steps, "batch": c.Batch, "learning_rate": c.LearningRate,
		"model_step": c.ModelStep, "information_gain": fmt.Sprint(c.InformationGain), "tempering": c.Tempering, "clip_norm": fmt.Sprint(c.ClipNorm), "seed": c.Seed,
		"dtype": c.DType.String(), "backend": backend,
	}
	if c.Annealing > 0 {
		settings["annealing"] = c.Annealing
	}
	if c.FirstRound > 0 {
		settings["first_round"] = c.FirstRound
	}
	if c.Backbone != nil {
		settings["flow"] = fmt.Sprintf("%T %[1]v", c.Backbone)
	}
	if c.Start == IdentityStart {
		settings["identity"] = true
	}
	if c.LearnAtOnce {
		settings["learn_at_once"] = true
	}
	return json.Marshal(settings)
}

// checkSize refuses a configuration, defaults and the sizes of the flow filled in, whose training
// needs more memory than the machine has: for each weight its value, its gradient and two moments
// of Adam; for each draw of a batch all that its gradient needs.
func (c Config) checkSize(sp space.Space) error {
	size := float64(c.DType.Size())
	if c.Backbone != nil {
		return nil // which has its own limits
	}
	numbers := c.Flow.RowNumbers() + float64(sp.Dim()) // and z
	rows := float64(c.Batch) * (size*numbers + 8*float64(len(sp.Cards())))
	what := fmt.Sprintf("vti.Config: Batch %d with a flow of %s of %d hidden units", c.Batch, english.Count(c.Flow.Layers, "layer"), c.Flow.Hidden)
	return memory.Check(what, 4*size*c.Flow.Weights()+rows)
}

// ControlVariate says what is subtracted from the losses in the score-function gradient of q(m)
// (eq. 18, 19). None of them biases it.
type ControlVariate int

const (
	// LeaveOneOut subtracts from each loss the mean of the others of its batch.
	LeaveOneOut ControlVariate = iota
	// Running subtracts the moving average of the batches before (D.1).
	Running
	// SurrogateMean subtracts what a diagonal surrogate expects of each model, adds the exact
	// gradient of that expectation, and subtracts the mean of the others of the batch from what is
	// left. It needs a table q(m).
	SurrogateMean
	// NoControl subtracts nothing.
	NoControl
)

var controlVariates = enum.New[ControlVariate]("control variate", "leave-one-out", "mean", "surrogate", "none")

// String returns the name.
func (c ControlVariate) String() string { return controlVariates.String(c) }

// MarshalText writes the name.
func (c ControlVariate) MarshalText() ([]byte, error) { return controlVariates.Marshal(c) }

// UnmarshalText reads what MarshalText wrote.
func (c *ControlVariate) UnmarshalText(text []byte) error {
	return controlVariates.Unmarshal(text, c)
}
