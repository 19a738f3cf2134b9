package vti

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/space"
)

// Config holds the settings of Fit. Its zero value suits a few dozen coordinates and up to a
// million models.
type Config struct {
	// Flow holds the settings of the flow q(θ | m). Fit fills in Dim and Features. If Precision is
	// nil, Fit fills in Precision and Linear from the curvature of the log density at a mode of the
	// largest model. Precision is then the full matrix for up to cosmic.MaxCoupledDim coordinates,
	// and otherwise a diagonal.
	Flow cosmic.Config
	// Backbone, if not nil, is q(θ | m) instead of Flow; for instance, a flow for plates of package
	// hbm. A checkpoint is accepted only if the String method of its Backbone, if there is one,
	// returned the same text. A fit with a Backbone begins with IdentityStart, because a pilot run
	// would favour the models that the untrained Backbone happens to fit.
	Backbone Flow
	// Models is q(m). nil stands for a table of logits of all models, which starts at the prior;
	// with more than modeldist.DefaultLimit models, for a masked network, which starts uniform.
	Models ModelDistribution
	// Steps is the number of training steps; 0 stands for 2,000. All defaults of Config suit tables
	// of data with some tens of rows and predictors.
	Steps int
	// Until, if not zero, is the time at which Fit ends after the step in progress.
	Until time.Time
	// FirstRound, if not 0, is the number of steps of the first of several rounds. Each round is
	// twice as long as the round before and restarts the learning rate and the tempering. The last
	// round ends at Steps. 0 stands for a single round.
	FirstRound int
	// Batch is the number of (m, z) pairs in a step; 0 stands for 1,024.
	Batch int
	// LearningRate is the largest learning rate of Adam for the flow. The rate rises to it in a
	// short warm-up and then falls to zero along a cosine. 0 stands for 0.003.
	LearningRate float64
	// SecondDecay is the decay rate of the second moments of Adam for the flow; 0 stands for 0.999.
	// Use a smaller number if gradients are far larger at the start than later.
	SecondDecay float64
	// ModelStep is the learning rate of q(m); 0 stands for 0.1.
	ModelStep float64
	// InformationGain is the largest change of the entropy of q(m) in one step, in nats (the VTI
	// paper, appendix D.2); 0 stands for 0.01. +Inf stands for no limit.
	InformationGain float64
	// Tempering is the fraction of the steps, at the start of each round, during which the flow is
	// trained on a flattened target, p(y, θ | m) to a power that rises from 0.1 to 1, while q(m)
	// stays unchanged. The flow is then wide at first and finds modes that a flow fitted to a
	// single mode never draws, and q(m) does not learn from poorly fitted parameters. 0 means no
	// tempering, which suits posteriors with one mode per model.
	Tempering float64
	// Annealing is the fraction of the steps, at the start of each round, during which q(m) follows
	// p(m) times a power of the evidence of m, as estimated by the flow. The power rises from 0 to
	// 1. Annealing prevents q(m) from settling on models that it draws before the flow is trained.
	// It suits large spaces without a warm start. 0 means no annealing.
	Annealing float64
	// ControlVariate reduces the variance of the score-function gradient of q(m). The zero value is
	// LeaveOneOut.
	ControlVariate ControlVariate
	// Begin, if not nil, is the starting point of the fit, such as the answer of an amortized
	// network; Flow, Models and Start are then ignored.
	Begin *Beginning
	// Start selects the flow and the q(m) with which the fit starts.
	Start Start
	// LearnAtOnce lets q(m) learn from the first step. If it is false, a q(m) that begins at the
	// prior stays there while the losses of all models still fall together, which shows that the
	// flow is still improving for all of them.
	LearnAtOnce bool
	// Warm, if not nil, replaces the pilot run. It draws models to which q(m) is fitted by maximum
	// likelihood before the first step, such as models of chains on a simpler posterior. If Models
	// is a GroupedModels, a model is the concatenation of the codes of all its rows.
	Warm func(random *rand.Rand) []int32
	// StepsPerLaunch is the number of steps that are compiled into one graph; 0 stands for 1. The
	// graph is used if no report, checkpoint or pilot run is due between its steps. More steps save
	// launches of graphs, which matters for short steps on a GPU, but take proportionally longer to
	// compile.
	StepsPerLaunch int
	// ClipNorm is the largest norm of the gradient of the flow; larger gradients are scaled down to
	// it. 0 stands for 50.
	ClipNorm float64
	// Seed is the root of every random stream.
	Seed uint64
	// DType is the float type of flow and target: Float32 or Float64. The zero value stands for
	// Float32.
	DType dtypes.DType
	// MaxNonFinite is the largest fraction of draws with a non-finite log density between two
	// reports; 0 stands for 0.01. With a larger fraction Fit returns an error. In the first 100
	// steps the limit is one half.
	MaxNonFinite float64

	// LogEvery is the number of steps between calls of Progress; 0 stands for 100.
	LogEvery int
	// Progress, if not nil, is called after the first, every LogEvery-th and the last step.
	Progress func(Info)
	// Checkpoint is the name of the file that holds the state of training. If it is "" no file is
	// written.
	Checkpoint string
	// CheckpointEvery is the number of steps between checkpoints; 0 stands for 500. The last step
	// is always stored.
	CheckpointEvery int
	// CheckpointInterval is the longest time between checkpoints, whatever the number of steps. The
	// first of them is due after two seconds, and the following at intervals that double up to
	// CheckpointInterval. It changes no result. 0 stands for 30 s, and a negative number for no
	// checkpoints by time.
	CheckpointInterval time.Duration
	// Resume continues from the state in Checkpoint instead of starting anew.
	Resume bool
}

// Info is a report of a training run. Averages are over the steps since the previous report.
type Info struct {
	// Step is the number of steps taken, and Steps the total number.
	Step, Steps int
	// Loss is the average of log q(θ | m) − log p(y, θ | m) + log q(m) − log p(m): an estimate of
	// the negative ELBO, in nats (the VTI paper, eq. 10).
	Loss float64
	// Entropy is the entropy of q(m), in nats.
	Entropy float64
	// GradientNorm is the average norm of the gradient of the flow before clipping.
	GradientNorm float64
	// NonFinite is the number of draws whose log density was not finite. They are left out of every
	// average.
	NonFinite int
	// SkippedSteps is the number of steps whose gradient was not finite. Such steps change nothing.
	SkippedSteps int
	// Elapsed is the time since the start of Fit, and StepsPerSecond the number of steps per second
	// since the previous report.
	Elapsed        time.Duration
	StepsPerSecond float64
}

// Validate returns an error that names the first field outside its range, or nil.
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

// settings returns the fields on which the state of training depends. A resumed run must have the
// same fields as the interrupted run.
func (c Config) settings(backend string, cards []int) (json.RawMessage, error) {
	flow := c.Flow
	flow.Precision, flow.Linear = nil, nil // the checkpoint holds these as variables
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
	if c.Backbone != nil {
		settings["flow"] = fmt.Sprintf("%T %[1]v", c.Backbone)
	}
	for name, value := range map[string]any{
		"annealing": c.Annealing, "first_round": c.FirstRound, "identity": c.Start == IdentityStart, "learn_at_once": c.LearnAtOnce, "second_decay": c.SecondDecay,
	} {
		if !reflect.ValueOf(value).IsZero() { // other checkpoints do not have these settings
			settings[name] = value
		}
	}
	return json.Marshal(settings)
}

// checkSize returns an error if training needs more memory than the machine has. It counts four
// numbers for each weight (value, gradient and two moments of Adam), and the numbers that the
// gradient needs for each draw of a batch. Defaults and sizes of the flow must be set.
func (c Config) checkSize(sp space.Space) error {
	size := float64(c.DType.Size())
	if c.Backbone != nil {
		return nil // a Backbone has its own limits
	}
	numbers := c.Flow.RowNumbers() + float64(sp.Dim()) // the numbers of the flow for one draw, and z
	rows := float64(c.Batch) * (size*numbers + 8*float64(len(sp.Cards())))
	subject := fmt.Sprintf("vti.Config: Batch %d with a flow of %s of %d hidden units", c.Batch, english.Count(c.Flow.Layers, "layer"), c.Flow.Hidden)
	return memory.Check(subject, 4*size*c.Flow.Weights()+rows)
}

// ControlVariate selects the term that is subtracted from the losses in the score-function gradient
// of q(m) (the VTI paper, eq. 18 and 19). No choice biases the gradient.
type ControlVariate int

const (
	// LeaveOneOut subtracts from each loss the mean of the other losses of its batch.
	LeaveOneOut ControlVariate = iota
	// Running subtracts the moving average of the losses of previous batches (the VTI paper,
	// appendix D.1).
	Running
	// SurrogateMean subtracts the expected loss of each model under a surrogate, which estimates
	// the reward (negative loss) of each model. It adds the exact gradient of the subtracted term,
	// and applies LeaveOneOut to the difference. It needs a q(m) that is a table of all models.
	SurrogateMean
	// NoControl subtracts nothing.
	NoControl
)

var controlVariates = enum.New[ControlVariate]("control variate", "leave-one-out", "mean", "surrogate", "none")

// String returns the name.
func (c ControlVariate) String() string { return controlVariates.String(c) }

// MarshalText writes the text of String.
func (c ControlVariate) MarshalText() ([]byte, error) { return controlVariates.Marshal(c) }

// UnmarshalText reads the text of MarshalText.
func (c *ControlVariate) UnmarshalText(text []byte) error {
	return controlVariates.Unmarshal(text, c)
}
