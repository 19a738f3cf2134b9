package vti

import (
	"cmp"
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

// Config configures Fit. Its zero value suits a few dozen coordinates and up to a million models.
type Config struct {
	// Flow is the family of q(θ | m). Fit fills in Dim and Features. If Precision is nil, it fills
	// in Precision and Linear from the curvature of the log density at a mode of the largest model:
	// over all pairs of up to cosmic.MaxCoupledDim coordinates, otherwise for each coordinate.
	Flow cosmic.Config
	// Backbone is q(θ | m) in place of Flow, which is then ignored: a family of plates of package
	// hbm, for instance. Checkpoints must match its String method, if any. It begins with
	// IdentityStart: a pilot run would choose the models that it happens to fit.
	Backbone Flow
	// Models is q(m). nil stands for a table of logits over all models, which starts at the prior,
	// or beyond modeldist.DefaultLimit models for a masked network, which starts uniform.
	Models ModelDistribution
	// Steps is the number of training steps; 0 stands for 2,000. Defaults without a source suit
	// tables of some tens of rows and predictors.
	Steps int
	// Until, if not zero, is the time at which Fit ends after the step in progress.
	Until time.Time
	// FirstRound, if not 0, is the number of steps of the first of several rounds. Each round is
	// twice as long as the one before and starts the learning rate and the tempering anew; the last
	// ends with Steps. 0 stands for a single round.
	FirstRound int
	// Batch is the number of (m, z) pairs in a step; 0 stands for 1,024.
	Batch int
	// LearningRate is the largest step of Adam on the flow. It follows a short warm-up and falls to
	// zero along a cosine. 0 stands for 0.003.
	LearningRate float64
	// SecondDecay is the decay rate of the second moments of Adam on the flow; 0 stands for 0.999.
	// Gradients that are far larger at the start than later need a faster one.
	SecondDecay float64
	// ModelStep scales the step on q(m); 0 stands for 0.1.
	ModelStep float64
	// InformationGain bounds the change of the entropy of q(m) in one step, in nats (D.2); 0 stands
	// for 0.01. +Inf turns the control off.
	InformationGain float64
	// Tempering is the share of the steps during which the flow is trained on a flattened target,
	// log η times a power that rises from 0.1 to 1, while q(m) stays unchanged. A flow that starts
	// wide finds modes that a flow fitted to a single mode never draws, and q(m) waits for fitted
	// parameters. 0 means none: right for posteriors with one mode per model.
	Tempering float64
	// Annealing is the share of the steps during which q(m) follows p(m) Z_m to a power that rises
	// from 0 to 1, where Z_m is the flow's estimate of the evidence of m. It keeps q(m) from
	// settling on the models that it happens to find before the flow has moved: right for large
	// spaces without a warm start. 0 means none.
	Annealing float64
	// ControlVariate reduces the variance of q(m)'s score-function gradient; zero is LeaveOneOut.
	ControlVariate ControlVariate
	// Begin, if not nil, is the starting point of the fit; Flow, Models and Start are then ignored.
	Begin *Beginning
	// Start selects the flow and q(m) before the first step.
	Start Start
	// LearnAtOnce lets q(m) learn from the first step. Without it, a q(m) that begins at the prior
	// stays there until the losses of the models have stopped falling together (train.Released).
	LearnAtOnce bool
	// Warm, if not nil, replaces the pilot run: it draws models that q(m) learns by maximum
	// likelihood before the first step, such as models of chains on a simpler posterior. A model of
	// GroupedModels is the codes of all its rows in order.
	Warm func(random *rand.Rand) []int32
	// StepsPerLaunch is the number of steps compiled into one graph, used where no report,
	// checkpoint or pilot run comes between them; 0 stands for 1. More steps save launches, which
	// matters on a GPU with short steps, and compile for proportionally longer.
	StepsPerLaunch int
	// ClipNorm bounds the joint norm of the flow's gradient; 0 stands for 50.
	ClipNorm float64
	// Seed is the root of every random stream.
	Seed uint64
	// DType is the float type of flow and target: Float32 (also for the zero value) or Float64.
	DType dtypes.DType
	// MaxNonFinite is the largest share of draws with a non-finite log density between two reports,
	// a half in the first 100 steps; above it Fit returns an error. 0 stands for 0.01.
	MaxNonFinite float64

	// LogEvery is the number of steps between calls of Progress; 0 stands for 100.
	LogEvery int
	// Progress, if not nil, is called after the first, every LogEvery-th and the last step.
	Progress func(Info)
	// Checkpoint names the file that holds the state of training; "" writes none.
	Checkpoint string
	// CheckpointEvery is the number of steps between checkpoints; 0 stands for 500. The last step
	// is always stored.
	CheckpointEvery int
	// CheckpointInterval is the longest time between checkpoints, whatever the steps. They are due
	// after two seconds and then at intervals that double up to it. It changes no result. 0 stands
	// for 30 s; with a negative value only CheckpointEvery counts.
	CheckpointInterval time.Duration
	// Resume continues from the state in Checkpoint instead of starting anew.
	Resume bool
}

// Info is a report of a training run. Averages are over the steps since the previous report.
type Info struct {
	Step, Steps int
	// Loss is the average of log h + log q(m) − log p(m): an estimate of −ELBO, in nats (eq. 10).
	Loss float64
	// Entropy is the entropy of q(m), in nats.
	Entropy float64
	// GradientNorm is the average norm of the flow's gradient before clipping.
	GradientNorm float64
	// NonFinite counts draws whose log density was not finite; they are left out of every average.
	NonFinite int
	// SkippedSteps counts steps whose gradient was not finite; they change nothing.
	SkippedSteps int
	// Elapsed is the time since the start of Fit, StepsPerSecond the speed since the last report.
	Elapsed        time.Duration
	StepsPerSecond float64
}

// Validate reports the first field out of its range.
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
	if !(c.SecondDecay >= 0 && c.SecondDecay < 1) {
		return fmt.Errorf("vti.Config: got SecondDecay %g, want a rate of at least 0 and below 1", c.SecondDecay)
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

func (c Config) withDefaults() Config {
	c.Steps = cmp.Or(c.Steps, 2000)
	c.Batch = cmp.Or(c.Batch, 1024)
	c.LearningRate = cmp.Or(c.LearningRate, 3e-3)
	c.ModelStep = cmp.Or(c.ModelStep, 0.1)
	c.InformationGain = cmp.Or(c.InformationGain, 0.01)
	c.ClipNorm = cmp.Or(c.ClipNorm, 50)
	c.DType = cmp.Or(c.DType, dtypes.Float32)
	c.MaxNonFinite = cmp.Or(c.MaxNonFinite, 0.01)
	c.StepsPerLaunch = cmp.Or(c.StepsPerLaunch, 1)
	c.LogEvery = cmp.Or(c.LogEvery, 100)
	c.CheckpointEvery = cmp.Or(c.CheckpointEvery, 500)
	c.CheckpointInterval = cmp.Or(c.CheckpointInterval, checkpoint.DefaultInterval)
	return c
}

// settings returns the fields that a resumed run must share with the interrupted one, on which the
// state after a given step depends.
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
	if c.SecondDecay > 0 {
		settings["second_decay"] = c.SecondDecay
	}
	return json.Marshal(settings)
}

// checkSize returns an error if training needs more memory than the machine has: four numbers for
// each weight (value, gradient and two moments of Adam), and the gradient's needs for each draw of
// a batch. The configuration has its defaults and the sizes of the flow filled in.
func (c Config) checkSize(sp space.Space) error {
	size := float64(c.DType.Size())
	if c.Backbone != nil {
		return nil // which has its own limits
	}
	numbers := c.Flow.RowNumbers() + float64(sp.Dim()) // and z
	rows := float64(c.Batch) * (size*numbers + 8*float64(len(sp.Cards())))
	subject := fmt.Sprintf("vti.Config: Batch %d with a flow of %s of %d hidden units", c.Batch, english.Count(c.Flow.Layers, "layer"), c.Flow.Hidden)
	return memory.Check(subject, 4*size*c.Flow.Weights()+rows)
}

// ControlVariate is the term subtracted from the losses in the score-function gradient of q(m) (eq.
// 18, 19). None biases the gradient.
type ControlVariate int

const (
	// LeaveOneOut subtracts from each loss the mean of the other losses of its batch.
	LeaveOneOut ControlVariate = iota
	// Running subtracts the moving average of the previous batches (D.1).
	Running
	// SurrogateMean subtracts a diagonal surrogate's expectation for each model, adds its exact
	// gradient, and applies LeaveOneOut to the rest. It needs a table q(m).
	SurrogateMean
	// NoControl subtracts nothing.
	NoControl
)

var controlVariates = enum.New[ControlVariate]("control variate", "leave-one-out", "mean", "surrogate", "none")

// String returns the name.
func (c ControlVariate) String() string { return controlVariates.String(c) }

// MarshalText writes the name.
func (c ControlVariate) MarshalText() ([]byte, error) { return controlVariates.Marshal(c) }

// UnmarshalText reads the text of MarshalText.
func (c *ControlVariate) UnmarshalText(text []byte) error {
	return controlVariates.Unmarshal(text, c)
}
