package vti

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
)

// Start selects the starting point of a fit.
type Start int

const (
	// PilotStart: the flow starts at the normal approximation at a mode of the largest model (its
	// anchor), and q(m) at the result of a pilot run.
	PilotStart Start = iota
	// AnchorStart: the flow starts at its anchor, and there is no pilot run. A table q(m) starts at
	// p(m).
	AnchorStart
	// IdentityStart: the flow starts as the identity, as in the VTI paper, and there is no pilot
	// run.
	IdentityStart
)

var starts = enum.New[Start]("start", "pilot", "anchor", "identity")

// String returns the name.
func (s Start) String() string { return starts.String(s) }

// MarshalText writes the text of String.
func (s Start) MarshalText() ([]byte, error) { return starts.Marshal(s) }

// UnmarshalText reads the text of MarshalText.
func (s *Start) UnmarshalText(text []byte) error { return starts.Unmarshal(text, s) }

// Beginning is a q(m) q(θ | m) from which a fit starts, such as the answer of a network for many
// data sets (package amortize).
type Beginning struct {
	// LogModels holds log q(m) of all models, in the order of their index; nil stands for the
	// prior.
	LogModels []float64
	// Flow holds the settings of the flow q(θ | m), if Config.Backbone is nil. Weights holds the
	// variables of the flow or the Backbone.
	Flow    cosmic.Config
	Weights *context.Context

	backbone string // description of the Backbone of the weights; "" if unknown
}

// ReadBeginning returns the Beginning (Posterior.Beginning) of a posterior with a Backbone that Fit
// stored in the checkpoint at path.
func ReadBeginning(path string) (*Beginning, error) {
	info, err := checkpoint.ReadInfo(path)
	if err != nil {
		return nil, err
	}
	b := &Beginning{Weights: context.New().Checked(false)}
	var stored struct{ Flow string } // the field that Config.settings writes
	if err := json.Unmarshal(info.Settings, &stored); err != nil {
		return nil, fmt.Errorf("%s: want a checkpoint of a fit with a Backbone: %w", path, err)
	}
	_, b.backbone, _ = strings.Cut(stored.Flow, " ")
	_, err = checkpoint.RestoreVariables(path, b.Weights, info.Settings)
	return b, err
}

// models returns q(m) as a table, without the models that the prior excludes.
func (b *Beginning) models(cards []int, logPrior []float64) (ModelDistribution, error) {
	if b.LogModels == nil {
		return modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: logPrior})
	}
	logits := make([]float64, len(b.LogModels))
	for i, value := range b.LogModels {
		logits[i] = value
		if logPrior != nil && !finite(logPrior[i]) {
			logits[i] = logPrior[i]
		}
	}
	return modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: logits})
}

// copyWeights copies the variables of the flow into a fit, which has none yet.
func (b *Beginning) copyWeights(into *context.Context, backbone Flow) error {
	if !strings.HasPrefix(b.backbone, fmt.Sprint(backbone)) && b.backbone != "" {
		return fmt.Errorf("vti.Config.Begin: got weights of %s, want %v", b.backbone, backbone)
	}
	for variable := range b.Weights.InAbsPath("/" + evaluate.FlowScope).IterVariablesInScope() {
		clone, err := evaluate.Clone(variable)
		if err != nil {
			return err
		}
		into.InAbsPath(variable.Scope()).Checked(false).VariableWithValue(variable.Name(), clone).SetTrainable(variable.Trainable)
	}
	return nil
}
