package made

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"

	"github.com/transdim/vti/internal/memory"
)

// Activation is the non-linear function of the hidden units of a network.
type Activation int

const (
	ReLU      Activation = iota // max(x, 0)
	LeakyReLU                   // max(x, 0.01 x)
)

// String returns the name of the activation.
func (a Activation) String() string {
	switch a {
	case ReLU:
		return "ReLU"
	case LeakyReLU:
		return "LeakyReLU"
	}
	return fmt.Sprintf("Activation(%d)", int(a))
}

// leak is the slope of LeakyReLU below zero, as in the published networks.
const leak = 0.01

// Apply returns the activation of x, elementwise.
func (a Activation) Apply(x *graph.Node) *graph.Node {
	if a == LeakyReLU {
		return activations.LeakyReluWithAlpha(x, leak)
	}
	return activations.Relu(x)
}

// Config describes a network. Inputs, Hidden and Heads have no useful zero value.
type Config struct {
	Inputs     int        // D, at least 1
	Context    int        // C, columns of the conditioning input; 0: unconditioned
	Hidden     int        // H, at least 1, and at least 2 where Inputs > 1
	Blocks     int        // residual blocks after the first layer; 0: none
	Activation Activation // ReLU by default
	// Heads gives, for each head, the number of outputs of each input. Head h has Heads[h][0]
	// columns for input 0, then Heads[h][1] columns for input 1, and so on.
	Heads [][]int
	Seed  uint64 // root seed of the initial values
}

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	switch {
	case c.Inputs < 1:
		return fmt.Errorf("made: got %d Inputs, want at least 1", c.Inputs)
	case c.Context < 0:
		return fmt.Errorf("made: got Context %d, want 0 or more", c.Context)
	case c.Hidden < min(c.Inputs, 2):
		return fmt.Errorf("made: got Hidden %d, want at least %d for %d inputs", c.Hidden, min(c.Inputs, 2), c.Inputs)
	case c.Blocks < 0:
		return fmt.Errorf("made: got %d Blocks, want 0 or more", c.Blocks)
	case c.Activation != ReLU && c.Activation != LeakyReLU:
		return fmt.Errorf("made: unknown Activation %v", c.Activation)
	case len(c.Heads) == 0:
		return fmt.Errorf("made: Heads is empty: the network has no output")
	}
	for h, outputs := range c.Heads {
		if len(outputs) != c.Inputs {
			return fmt.Errorf("made: Heads[%d] lists %d inputs, want %d", h, len(outputs), c.Inputs)
		}
		total := 0
		for i, n := range outputs {
			if n < 0 {
				return fmt.Errorf("made: Heads[%d][%d] is negative: %d", h, i, n)
			}
			total += n
		}
		if total == 0 {
			return fmt.Errorf("made: Heads[%d] has no outputs", h)
		}
	}
	return nil
}

// Network is the architecture of a residual MADE. Its weights are variables of a GoMLX context.
type Network struct {
	cfg     Config
	degrees []int // [H], sorted
}

// New returns the network that cfg describes, or an error if cfg is not valid or the weights do not
// fit into memory.
func New(cfg Config) (*Network, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	hidden := float64(cfg.Hidden)
	// least is a lower bound of the memory of the weights in bytes, 4 each, without the heads.
	least := 4 * hidden * (float64(cfg.Inputs+cfg.Context) + 2*float64(cfg.Blocks)*hidden)
	if err := memory.Check(fmt.Sprintf("made: a network of %d hidden units", cfg.Hidden), least); err != nil {
		return nil, err
	}
	return &Network{cfg: cfg, degrees: degrees(cfg.Inputs, cfg.Hidden)}, nil
}
