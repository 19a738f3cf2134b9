package vti

import (
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
)

// Start selects the starting point of a fit.
type Start int

const (
	// PilotStart: the flow is its anchor, and q(m) the result of a pilot run with it (pilot.go).
	PilotStart Start = iota
	// AnchorStart: the flow is its anchor, and q(m) stays at its start, which is p(m) for a table.
	AnchorStart
	// IdentityStart, as in the paper: the flow is the identity, and q(m) stays at its start.
	IdentityStart
)

var starts = enum.New[Start]("start", "pilot", "anchor", "identity")

// String returns the name.
func (s Start) String() string { return starts.String(s) }

// MarshalText writes the name.
func (s Start) MarshalText() ([]byte, error) { return starts.Marshal(s) }

// UnmarshalText reads the text of MarshalText.
func (s *Start) UnmarshalText(text []byte) error { return starts.Unmarshal(text, s) }

// Beginning is a q(m) q(θ | m) from which a fit starts instead of the prior and the anchor, such as
// the answer of a network for many data sets (package amortize).
type Beginning struct {
	// LogModels is log q(m) of all models, in the order of their index.
	LogModels []float64
	// Flow is the family of q(θ | m), and Weights holds its variables.
	Flow    cosmic.Config
	Weights *context.Context
}

// models returns q(m) as a table, without the models that log p(m) excludes.
func (b *Beginning) models(cards []int, logPrior []float64) (ModelDistribution, error) {
	logits := make([]float64, len(b.LogModels))
	for i, value := range b.LogModels {
		logits[i] = value
		if logPrior != nil && !finite(logPrior[i]) {
			logits[i] = logPrior[i]
		}
	}
	return modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: logits})
}

// copyWeights copies the weights of the flow into the variables of a fit that has none.
func (b *Beginning) copyWeights(into *context.Context) error {
	for variable := range b.Weights.InAbsPath("/" + evaluate.FlowScope).IterVariablesInScope() {
		clone, err := evaluate.Clone(variable)
		if err != nil {
			return err
		}
		into.InAbsPath(variable.Scope()).Checked(false).VariableWithValue(variable.Name(), clone).SetTrainable(variable.Trainable)
	}
	return nil
}
