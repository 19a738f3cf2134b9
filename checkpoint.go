package vti

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/checkpoint"
)

// checkpointFormat is that of the files that hold trained variables. The payload is the values of
// the variables in the header's order. The step number and every random state are variables or
// header fields, so a run that starts from a checkpoint takes exactly the steps that the
// interrupted one would have taken.
var checkpointFormat = checkpoint.Format{Name: "vti checkpoint", Magic: "vti.post", Version: 1}

// checkpointHeader describes the content of a checkpoint file.
type checkpointHeader struct {
	Version   int                  `json:"version"`
	Step      int                  `json:"step"`
	Settings  json.RawMessage      `json:"settings"`
	Plan      json.RawMessage      `json:"plan,omitempty"` // of Solve
	Variables []checkpointVariable `json:"variables"`
}

type checkpointVariable struct {
	Scope     string `json:"scope"`
	Name      string `json:"name"`
	DType     string `json:"dtype"`
	Dims      []int  `json:"dims"`
	Trainable bool   `json:"trainable"`
}

// CheckpointInfo is the description in a checkpoint file.
type CheckpointInfo struct {
	// Step is the number of training steps taken.
	Step int
	// Settings are the settings of the run that wrote the file, as JSON.
	Settings json.RawMessage

	plan json.RawMessage // of Solve
}

// ReadCheckpointInfo reads and verifies the file at path and returns its description.
func ReadCheckpointInfo(path string) (CheckpointInfo, error) {
	var header checkpointHeader
	if _, err := checkpointFormat.Read(path, &header); err != nil {
		return CheckpointInfo{}, err
	}
	return CheckpointInfo{Step: header.Step, Settings: header.Settings, plan: header.Plan}, nil
}

// WriteCheckpoint stores every variable of ctx that has a value in the file at path, with the
// number of steps taken and the settings of the run, a JSON object.
func WriteCheckpoint(path string, ctx *context.Context, step int, settings json.RawMessage) error {
	return writeCheckpoint(path, ctx, checkpointHeader{Step: step, Settings: settings})
}

// writeCheckpoint is WriteCheckpoint with a header to which it adds the variables.
func writeCheckpoint(path string, ctx *context.Context, header checkpointHeader) error {
	header.Version = checkpointFormat.Version
	var payload bytes.Buffer
	for variable := range ctx.IterVariables() {
		if !variable.HasValue() {
			continue
		}
		value, err := variable.Value()
		if err != nil {
			return fmt.Errorf("checkpoint: reading variable %s: %w", variable.ScopeAndName(), err)
		}
		header.Variables = append(header.Variables, checkpointVariable{
			Scope: variable.Scope(), Name: variable.Name(), DType: variable.DType().String(),
			Dims: variable.Shape().Dimensions, Trainable: variable.Trainable,
		})
		if err := value.ConstBytes(func(data []byte) { payload.Write(data) }); err != nil {
			return fmt.Errorf("checkpoint: reading variable %s: %w", variable.ScopeAndName(), err)
		}
	}
	return checkpointFormat.Write(path, header, func(w io.Writer) error {
		_, err := payload.WriteTo(w)
		return err
	})
}

// RestoreCheckpoint creates the variables of the file in ctx, which must be empty, and returns the
// step. The settings of the file must equal those given: a checkpoint continues only the run that
// it was written by.
func RestoreCheckpoint(path string, ctx *context.Context, settings json.RawMessage) (step int, err error) {
	var header checkpointHeader
	payload, err := checkpointFormat.Read(path, &header)
	if err != nil {
		return 0, err
	}
	if err := checkpoint.CheckSettings(path, header.Settings, settings); err != nil {
		return 0, err
	}
	defer func() {
		if p := recover(); p != nil { // GoMLX panics on names and shapes that cannot be
			err = fmt.Errorf("%s: damaged checkpoint: %v", path, p)
		}
	}()
	for _, variable := range header.Variables {
		dtype, err := dtypes.DTypeString(variable.DType)
		if err != nil {
			return 0, fmt.Errorf("%s: variable %s%s: %w", path, variable.Scope, variable.Name, err)
		}
		shape := shapes.Make(dtype, variable.Dims...)
		size := int(shape.Memory())
		if size < 0 || size > len(payload) {
			return 0, fmt.Errorf("%s: damaged checkpoint: variable %s/%s needs %d bytes, %d are left", path, variable.Scope, variable.Name, size, len(payload))
		}
		value := tensors.FromShape(shape)
		if err := value.MutableBytes(func(data []byte) { copy(data, payload[:size]) }); err != nil {
			return 0, fmt.Errorf("%s: variable %s/%s: %w", path, variable.Scope, variable.Name, err)
		}
		payload = payload[size:]
		ctx.InAbsPath(variable.Scope).Checked(false).VariableWithValue(variable.Name, value).SetTrainable(variable.Trainable)
	}
	if len(payload) != 0 {
		return 0, fmt.Errorf("%s: damaged checkpoint: %d bytes left over", path, len(payload))
	}
	return header.Step, nil
}

// save writes the checkpoint if the configuration names one.
func (t *trainer) save() error {
	if t.config.Checkpoint == "" {
		return nil
	}
	started := time.Now()
	for _, l := range t.learners() {
		if err := l.Store(l.ctx); err != nil {
			return err
		}
	}
	header := checkpointHeader{Step: t.step, Settings: t.settings}
	if t.plan != nil {
		var err error
		if header.Plan, err = json.Marshal(t.plan); err != nil {
			return fmt.Errorf("checkpoint: encoding the plan: %w", err)
		}
	}
	if err := writeCheckpoint(t.config.Checkpoint, t.Variables, header); err != nil {
		return err
	}
	if t.schedule != nil {
		t.schedule.Wrote(time.Since(started))
	}
	return nil
}
