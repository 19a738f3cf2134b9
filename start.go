package vti

import (
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
)

// Start says what a fit starts from.
type Start int

const (
	// PilotStart: the flow is its anchor, a normal approximation, and q(m) what a pilot run with
	// that flow finds (pilot.go).
	PilotStart Start = iota
	// AnchorStart: the flow is its anchor, and q(m) stays at its own start, which is p(m) for a
	// table.
	AnchorStart
	// IdentityStart, as in the paper: the flow is the identity, without any anchor, and q(m) stays
	// at its own start.
	IdentityStart
)

var starts = enum.New[Start]("start", "pilot", "anchor", "identity")

// String returns the name.
func (s Start) String() string { return starts.String(s) }

// MarshalText writes the name.
func (s Start) MarshalText() ([]byte, error) { return starts.Marshal(s) }

// UnmarshalText reads what MarshalText wrote.
func (s *Start) UnmarshalText(text []byte) error { return starts.Unmarshal(text, s) }

// Beginning is q(m) q(θ | m) that a fit starts from instead of the prior and its own anchor, as a
// network for many data sets says it of one (package amortize).
type Beginning struct {
	// LogModels is log q(m) of all models, in the order of their index.
	LogModels []float64
	// Flow is the family of q(θ | m), and Weights holds its variables.
	Flow    cosmic.Config
	Weights *context.Context
}

// models is q(m), as a table, where log p(m) of the same models does not exclude them.
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

// copyWeights puts the weights of the flow into the variables of a fit that has none.
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
