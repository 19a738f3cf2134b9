package cosmic

import (
	"cmp"
	"errors"
	"fmt"
)

// Config describes a flow. Dim is required. A zero in another field stands for its default.
type Config struct {
	Dim int `json:"dim,omitempty"` // D, the number of coordinates of all models together
	// Features is the number C of columns of feats, the features of a model. If it is 0, the
	// networks read no features and feats is nil.
	Features int  `json:"features,omitempty"`
	Kind     Kind `json:"kind"` // Affine by default

	// Layers is the number of autoregressive layers, 5 by default. For Diagonal it is the number of
	// hidden layers of the MLP, 2 by default.
	Layers int `json:"layers"`
	Blocks int `json:"blocks"` // residual blocks per autoregressive layer, 2 by default; unused by Diagonal
	Hidden int `json:"hidden"` // units per hidden layer, 32 by default
	Bins   int `json:"bins"`   // bins of a spline, 8 by default, at least 2; unused by the other kinds

	// Encoder lists the widths of the layers of a ReLU network that maps feats to the inputs shared
	// by all layers of the flow. If it is nil, the layers read feats directly.
	Encoder []int `json:"encoder,omitempty"`

	// Embedding selects the features that are indices into a learned table.
	Embedding Embedding `json:"embedding,omitzero"`

	// Precision H is a symmetric positive definite matrix, row-major [Dim, Dim]. Linear b has
	// length Dim; nil stands for zeros. They give the flow an anchor, a fixed last map after which
	// an untrained flow is the normal distribution N(μ_A, H_AA⁻¹) with H_AA μ_A = b_A, for a model
	// with active coordinates A, in the coordinates and units of theta. Take H and b from the
	// quadratic -½ θᵀHθ + bᵀθ that approximates the log density of the model with all coordinates.
	// If Precision is nil there is no anchor, and an untrained flow is the identity. A diagonal H
	// sets location and scale but no dependence, and costs nothing; any other H needs Dim ≤
	// MaxCoupledDim.
	//
	// H and b are stored as variables that are not trained. A context that already has them, such
	// as one restored from a checkpoint, keeps its own.
	Precision []float64 `json:"precision,omitempty"`
	Linear    []float64 `json:"linear,omitempty"`

	// Placement makes the flow a part of a larger flow; Features is then ignored. It is nil if the
	// flow is not part of another flow.
	Placement *Placement `json:"placement,omitempty"`

	Seed uint64 `json:"seed,omitempty"` // seed of the initial weights
}

// DiagonalMLP returns the diagonal Gaussian of the VTI paper: an MLP with 5 hidden layers of 256
// units.
func DiagonalMLP(dim, features int) Config {
	return Config{Dim: dim, Features: features, Kind: Diagonal, Layers: 5, Hidden: 256}
}

// Affine55 returns Affine(5,5) of the VTI paper: five layers of five blocks with 16 hidden units.
func Affine55(dim, features int) Config {
	return Config{Dim: dim, Features: features, Kind: Affine, Layers: 5, Blocks: 5, Hidden: 16}
}

// Spline46 returns Spline(4,6) of the VTI paper: four layers of six blocks with 512 hidden units,
// and splines of ten bins.
func Spline46(dim, features int) Config {
	return Config{Dim: dim, Features: features, Kind: Spline, Layers: 4, Blocks: 6, Hidden: 512, Bins: 10}
}

// maxBins is the largest number of bins of a spline. With more bins, equal bins could be smaller
// than the smallest allowed bin.
const maxBins = 256

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	if err := kindNames.Check(c.Kind); err != nil {
		return fmt.Errorf("cosmic: %w", err)
	}
	switch {
	case c.Dim < 1:
		return fmt.Errorf("cosmic: got Dim %d, want at least 1", c.Dim)
	case c.Features < 0:
		return fmt.Errorf("cosmic: got Features %d, want 0 or more", c.Features)
	case c.Layers < 1:
		return fmt.Errorf("cosmic: got Layers %d, want 1 or more", c.Layers)
	case c.Blocks < 1:
		return fmt.Errorf("cosmic: got Blocks %d, want 1 or more", c.Blocks)
	case c.Hidden < 2:
		return fmt.Errorf("cosmic: got Hidden %d, want at least 2", c.Hidden)
	case c.Bins < 2 || c.Bins > maxBins:
		return fmt.Errorf("cosmic: got Bins %d, want 2 to %d", c.Bins, maxBins)
	case len(c.Encoder) > 0 && c.Features == 0:
		return fmt.Errorf("cosmic: got Encoder %v and Features 0, want Features above 0 for it to encode", c.Encoder)
	}
	for i, width := range c.Encoder {
		if width < 1 {
			return fmt.Errorf("cosmic: got Encoder[%d] = %d, want 1 or more", i, width)
		}
	}
	if err := errors.Join(c.Embedding.validate(c.Features), c.Placement.validate(c.Dim)); err != nil {
		return err
	}
	return c.validateQuadratic()
}

// WithDefaults returns c with its zero sizes replaced by their defaults.
func (c Config) WithDefaults() Config {
	layers := 5
	if c.Kind == Diagonal {
		layers = 2
	}
	c.Layers, c.Blocks = cmp.Or(c.Layers, layers), cmp.Or(c.Blocks, 2)
	c.Hidden, c.Bins = cmp.Or(c.Hidden, 32), cmp.Or(c.Bins, 8)
	return c
}

func (c Config) context() int {
	if n := len(c.Encoder); n > 0 {
		return c.Encoder[n-1]
	}
	return c.Embedding.context(c.Features)
}
