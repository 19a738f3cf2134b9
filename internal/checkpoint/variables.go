package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// variablesFormat is the format of the files that hold trained variables. The payload holds the
// values of the variables in the order of the header. The step number and the state of every random
// generator are variables or fields of the header. A run that starts from a checkpoint therefore
// takes exactly the steps of the interrupted run.
var variablesFormat = Format{Name: "vti checkpoint", Magic: "vti.post", Version: 1}

// variablesHeader describes the content of a file of variables.
type variablesHeader struct {
	Version   int             `json:"version"`
	Step      int             `json:"step"`
	Settings  json.RawMessage `json:"settings"`
	Plan      json.RawMessage `json:"plan,omitempty"` // progress of vti.Solve
	Variables []savedVariable `json:"variables"`
}

type savedVariable struct {
	Scope     string `json:"scope"`
	Name      string `json:"name"`
	DType     string `json:"dtype"`
	Dims      []int  `json:"dims"`
	Trainable bool   `json:"trainable"`
}

// Info describes a file of trained variables.
type Info struct {
	// Step is the number of training steps taken.
	Step int
	// Settings are the settings of the run that wrote the file, as JSON.
	Settings json.RawMessage
	// Plan is the progress of vti.Solve; nil if the run is not a run of Solve.
	Plan json.RawMessage
}

// ReadInfo reads and verifies the file of variables at path and returns its description.
func ReadInfo(path string) (Info, error) {
	var header variablesHeader
	_, err := variablesFormat.Read(path, &header)
	return Info{header.Step, header.Settings, header.Plan}, err
}

// WriteVariables stores info and every variable of ctx that has a value in the file at path.
func WriteVariables(path string, ctx *context.Context, info Info) error {
	header := variablesHeader{Version: variablesFormat.Version, Step: info.Step, Settings: info.Settings, Plan: info.Plan}
	var payload bytes.Buffer
	for variable := range ctx.IterVariables() {
		if !variable.HasValue() {
			continue
		}
		value, err := variable.Value()
		if err != nil {
			return fmt.Errorf("checkpoint: reading variable %s: %w", variable.ScopeAndName(), err)
		}
		header.Variables = append(header.Variables, savedVariable{
			Scope: variable.Scope(), Name: variable.Name(), DType: variable.DType().String(),
			Dims: variable.Shape().Dimensions, Trainable: variable.Trainable,
		})
		if err := value.ConstBytes(func(data []byte) { payload.Write(data) }); err != nil {
			return fmt.Errorf("checkpoint: reading variable %s: %w", variable.ScopeAndName(), err)
		}
	}
	return variablesFormat.Write(path, header, func(w io.Writer) error {
		_, err := payload.WriteTo(w)
		return err
	})
}

// RestoreVariables creates the variables of the file in ctx, which must be empty, and returns the
// number of training steps taken. The settings in the file must equal the given ones
// ([CheckSettings]).
func RestoreVariables(path string, ctx *context.Context, settings json.RawMessage) (step int, err error) {
	var header variablesHeader
	payload, err := variablesFormat.Read(path, &header)
	if err != nil {
		return 0, err
	}
	if err := CheckSettings(path, header.Settings, settings); err != nil {
		return 0, err
	}
	defer func() {
		if p := recover(); p != nil { // GoMLX panics on invalid names and shapes
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
