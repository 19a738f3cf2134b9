package amortize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/evaluate"
)

// Settings holds the description of a network in its file: the settings of its family as JSON, the
// configuration of its training, and the number of steps taken.
type Settings struct {
	// Family holds the settings of the family, and Flow the family of flows.
	Family json.RawMessage `json:"family"`
	Flow   cosmic.Config   `json:"flow"`
	// The fields from Hidden to Seed are as in Config.
	Hidden       int     `json:"hidden"`
	Objective    string  `json:"objective"`
	Steps        int     `json:"steps"`
	Batch        int     `json:"batch"`
	Draws        int     `json:"draws"`
	LearningRate float64 `json:"learning_rate"`
	ClipNorm     float64 `json:"clip_norm"`
	Seed         uint64  `json:"seed"`
	// Taken is the number of steps taken so far.
	Taken int `json:"-"`
}

// Config returns the configuration of the training.
func (s *Settings) Config() (Config, error) {
	cfg := Config{Flow: s.Flow, Hidden: s.Hidden, Steps: s.Steps, Batch: s.Batch, Draws: s.Draws, LearningRate: s.LearningRate, ClipNorm: s.ClipNorm, Seed: s.Seed}
	return cfg, cfg.Objective.UnmarshalText([]byte(s.Objective))
}

// Read reads and verifies the file of a network and returns its description.
func Read(path string) (*Settings, error) {
	info, err := checkpoint.ReadInfo(path)
	if err != nil {
		return nil, err
	}
	s := &Settings{Taken: info.Step}
	decoder := json.NewDecoder(bytes.NewReader(info.Settings))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil || s.Family == nil {
		return nil, fmt.Errorf("%s: not the file of an amortized network, want a file that vti amortize wrote", path)
	}
	return s, nil
}

// Load opens the network in the file at path for its family. The argument like is any problem of
// the family, and determines the shapes of arrays.
func Load(device *gpu.Device, family Family, like *Problem, path string) (*Network, error) {
	s, err := Read(path)
	if err != nil {
		return nil, err
	}
	cfg, unknown := s.Config()
	if err := errors.Join(unknown, cfg.Validate()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	known := *like
	sp := family.Space()
	if known.Code == nil { // a problem whose true model is unknown
		known.Code, known.Theta = make([]int32, len(sp.Cards())), make([]float64, sp.Dim())
	}
	a, err := newNetwork(device, family, cfg.withDefaults(), &known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if a.step, err = checkpoint.RestoreVariables(path, a.graphs.Variables, a.settings); err != nil {
		return nil, err
	}
	return a, a.adoptBest()
}

func (a *Network) save() error {
	if a.config.Checkpoint == "" {
		return nil
	}
	if err := errors.Join(
		a.setVariable("/"+bestScope, "losses", tensors.FromFlatDataAndDimensions(a.best.losses, len(a.best.losses))),
		a.setVariable("/"+bestScope, "where", tensors.FromFlatDataAndDimensions([]float64{a.best.start, float64(a.best.step), a.best.last}, 3)),
	); err != nil {
		return err
	}
	return checkpoint.WriteVariables(a.config.Checkpoint, a.graphs.Variables, checkpoint.Info{Step: a.step, Settings: a.settings})
}

func (a *Network) copyWeights(from, to string) error {
	for _, scope := range []string{encoderScope, evaluate.FlowScope, evaluate.ModelScope} {
		for _, variable := range slices.Collect(a.graphs.Variables.InAbsPath(from + "/" + scope).IterVariablesInScope()) {
			clone, err := evaluate.Clone(variable)
			if err != nil {
				return err
			}
			if err := a.setVariable(to+variable.Scope()[len(from):], variable.Name(), clone); err != nil {
				return err
			}
		}
	}
	return nil
}

// setVariable sets the value of a variable. A variable that it creates is not trainable.
func (a *Network) setVariable(scope, name string, value *tensors.Tensor) error {
	ctx := a.graphs.Variables.InAbsPath(scope).Checked(false)
	if variable := ctx.GetVariable(name); variable != nil {
		return variable.SetValue(value)
	}
	ctx.VariableWithValue(name, value).SetTrainable(false)
	return nil
}

func (a *Network) adoptBest() error { return a.copyWeights("/"+bestScope, "") }
