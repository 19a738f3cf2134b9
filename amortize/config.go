package amortize

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/enum"
)

// Objective is a divergence between q(m, θ | D) and the posterior p(m, θ | D). Fit minimises the
// mean of the divergence over data sets D.
type Objective int

const (
	// ForwardKL is KL(p ‖ q), estimated from simulated models, parameters and data sets. It is
	// robust, and needs no density.
	ForwardKL Objective = iota
	// ReverseKL is KL(q ‖ p), estimated from draws of q (eq. 6 of the VTI paper, for many data
	// sets), with score-function gradients for q(m | D). Data sets need not come from the prior.
	ReverseKL
	// BothKL is the mean of ForwardKL and ReverseKL.
	BothKL
)

var objectives = enum.New[Objective]("objective", "forward", "reverse", "both")

// String returns "forward", "reverse" or "both".
func (o Objective) String() string { return objectives.String(o) }

// UnmarshalText reads the name that String returns.
func (o *Objective) UnmarshalText(text []byte) error { return objectives.Unmarshal(text, o) }

// Config configures Fit. The zero value is a good default for problems with up to ten parameters. D
// stands for a data set.
type Config struct {
	// Flow is the family of flows for q(θ | m, D). Fit sets Dim and Features. The zero value stands
	// for a diagonal map, computed by two hidden layers of width 64, followed by the affine map to
	// the quadratic approximation of the problem (Problem.Precision).
	Flow cosmic.Config
	// Hidden is the width of the hidden layers of the network for q(m | D); 0 stands for 64.
	Hidden int
	// Objective is the divergence that training minimises.
	Objective Objective
	// Steps is the number of training steps; 0 stands for 2,000.
	Steps int
	// Batch is the number of data sets of a step; 0 stands for 64.
	Batch int
	// Draws is the number of draws of q for each data set of a step; 0 stands for 4. ForwardKL does
	// not use it. With several models it must be at least 2, because the mean over the other draws
	// of a data set is the control variate of each draw.
	Draws int
	// LearningRate is the largest learning rate of Adam; 0 stands for 0.002.
	LearningRate float64
	// ClipNorm is the norm above which gradients are scaled down to it; 0 stands for 20.
	ClipNorm float64
	// Seed is the seed of all random numbers.
	Seed uint64

	// LogEvery is the number of steps between calls of Progress; 0 stands for 100.
	LogEvery int
	// Progress, if not nil, is called after the first step, after every LogEvery steps and after
	// the last step.
	Progress func(Info)
	// Checkpoint is the name of the file of the network, during training and after it. If it is ""
	// no file is written.
	Checkpoint string
	// Resume continues training from the state in Checkpoint.
	Resume bool
}

// Info is a report of Fit. Averages are over the steps since the previous report.
type Info struct {
	// Step is the number of steps taken, and Steps the number of steps of the whole training.
	Step, Steps int
	// Loss is the mean of the objective in nats, up to a constant that depends only on the family.
	Loss float64
	// GradientNorm is the mean norm of the gradient before clipping. Skipped is the number of steps
	// that were skipped because their gradient was not finite.
	GradientNorm float64
	Skipped      int
	// Start, HeldOut and Best are means of the objective over held-out problems. Start is the mean
	// before training, HeldOut the mean at the last measurement (at most a twentieth of all steps
	// ago), and Best the mean with the best weights so far, which are the weights after BestStep
	// steps. Training ends with the best weights.
	Start, HeldOut, Best float64
	BestStep             int
	// Elapsed is the time since Fit was called.
	Elapsed time.Duration
}

// Validate returns an error that names the first field outside its range, or nil.
func (c Config) Validate() error {
	for _, field := range []struct {
		name  string
		value float64
	}{
		{"Hidden", float64(c.Hidden)}, {"Steps", float64(c.Steps)}, {"Batch", float64(c.Batch)}, {"Draws", float64(c.Draws)},
		{"LearningRate", c.LearningRate}, {"ClipNorm", c.ClipNorm}, {"LogEvery", float64(c.LogEvery)},
	} {
		if field.value < 0 || math.IsNaN(field.value) || math.IsInf(field.value, 0) {
			return fmt.Errorf("amortize.Config: got %s %g, want a number that is not negative", field.name, field.value)
		}
	}
	switch {
	case c.Objective < ForwardKL || c.Objective > BothKL:
		return fmt.Errorf("amortize.Config: got Objective %d, want one of %v", int(c.Objective), objectives.List())
	case c.Resume && c.Checkpoint == "":
		return fmt.Errorf("amortize.Config: got Resume without Checkpoint, want the file to go on from")
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Hidden, c.Steps, c.Batch = cmp.Or(c.Hidden, 64), cmp.Or(c.Steps, 2000), cmp.Or(c.Batch, 64)
	c.Draws, c.LogEvery = cmp.Or(c.Draws, 4), cmp.Or(c.LogEvery, 100)
	c.LearningRate = cmp.Or(c.LearningRate, 2e-3)
	c.ClipNorm = cmp.Or(c.ClipNorm, 20)
	if c.Flow.Kind == cosmic.Affine && c.Flow.Layers == 0 {
		c.Flow = cosmic.Config{Kind: cosmic.Diagonal, Layers: 2, Hidden: 64}
	}
	return c
}
