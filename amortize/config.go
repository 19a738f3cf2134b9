package amortize

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/enum"
)

// Objective is what Fit minimises, averaged over data sets.
type Objective int

const (
	// ForwardKL is KL(p ‖ q), from simulated models and parameters: robust, without a density.
	ForwardKL Objective = iota
	// ReverseKL is KL(q ‖ p), by draws of q: eq. 6 of the paper on exchangeable data sets, with the
	// score function for models. Data may come from anywhere.
	ReverseKL
	// BothKL is the mean of ForwardKL and ReverseKL.
	BothKL
)

var objectives = enum.New[Objective]("objective", "forward", "reverse", "both")

// String returns "forward", "reverse" or "both".
func (o Objective) String() string { return objectives.String(o) }

// UnmarshalText reads the name.
func (o *Objective) UnmarshalText(text []byte) error { return objectives.Unmarshal(text, o) }

// Config configures Fit. The zero value is a good default for problems of up to ten parameters.
type Config struct {
	// Flow is the family of q(θ | m, D); Fit sets Dim and Features. Zero stands for a diagonal map
	// of two layers of 64 before the anchor of the problem.
	Flow cosmic.Config
	// Hidden is the width of the network of q(m | D); 0 stands for 64.
	Hidden    int
	Objective Objective
	// Steps is the number of training steps; 0 stands for 2,000.
	Steps int
	// Batch is the number of data sets of a step; 0 stands for 64.
	Batch int
	// Draws is the number of draws of q for each data set of a step, unused by ForwardKL; 0 stands
	// for 4. With several models it is at least 2, for control variates among them.
	Draws int
	// LearningRate is the largest step of Adam; 0 stands for 0.002.
	LearningRate float64
	// ClipNorm bounds the norm of the gradient; 0 stands for 20.
	ClipNorm float64
	// Seed is the root of every random stream.
	Seed uint64

	// LogEvery is the number of steps between calls of Progress; 0 stands for 100.
	LogEvery int
	// Progress, if not nil, is called after the first step, every LogEvery steps and the last.
	Progress func(Info)
	// Checkpoint names the file of the network, finished or not; "" writes none.
	Checkpoint string
	// Resume continues from the state in Checkpoint.
	Resume bool
}

// Info is a report of Fit. Averages are over the steps since the previous report.
type Info struct {
	Step, Steps int
	// Loss is the mean objective, up to a constant of the family, in nats.
	Loss float64
	// GradientNorm is the mean norm before clipping; Skipped counts gradients not finite.
	GradientNorm float64
	Skipped      int
	// Start, HeldOut and Best are mean objectives on held-out problems: before training, at the
	// last measurement (at most a twentieth of all steps ago), and under the best weights so far,
	// from BestStep steps. Training ends with the best weights.
	Start, HeldOut, Best float64
	BestStep             int
	// Elapsed is the time since Fit was called.
	Elapsed time.Duration
}

// Validate returns an error for the first field out of range.
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
