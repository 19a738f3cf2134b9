package hbm

import (
	gocontext "context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
)

// encodingsScope holds free encodings in a checkpoint.
const encodingsScope = "encodings"

// Load opens the posterior stored in cfg.Checkpoint by a Fit with the same model, data and
// configuration.
func Load(ctx gocontext.Context, device *gpu.Device, model *Model, data Values, cfg Config) (*Posterior, error) {
	cfg.Resume = true
	t, err := newTrainer(ctx, device, model, data, cfg)
	if err != nil {
		return nil, err
	}
	return t.Posterior, nil
}

// save writes the checkpoint if the configuration names one.
func (t *trainer) save() error {
	if t.config.Checkpoint == "" {
		return nil
	}
	for _, e := range t.feed.encodings {
		if err := e.store(t.variables); err != nil {
			return err
		}
	}
	settings, err := t.settings()
	if err != nil {
		return err
	}
	return checkpoint.WriteVariables(t.config.Checkpoint, t.variables, checkpoint.Info{Step: t.step, Settings: settings})
}

// restore continues from the checkpoint.
func (t *trainer) restore() error {
	settings, err := t.settings()
	if err != nil {
		return err
	}
	if t.step, err = checkpoint.RestoreVariables(t.config.Checkpoint, t.variables, settings); err != nil {
		return err
	}
	for _, e := range t.feed.encodings {
		if err := e.restore(t.variables); err != nil {
			return fmt.Errorf("%s: %w", t.config.Checkpoint, err)
		}
	}
	return nil
}

// settings are the part of the configuration that a resumed run must share with the interrupted
// one: the state after a given step depends on all of it.
func (t *trainer) settings() (json.RawMessage, error) {
	c := t.config
	var variables []string
	for _, v := range t.model.variables {
		variables = append(variables, fmt.Sprintf("%s %v", v.role, v))
	}
	batch := map[string]int{}
	for p, n := range c.Batch {
		batch[p.name] = n
	}
	settings := map[string]any{
		"model": variables, "template": template(t.model), "data": t.fingerprint, "family": c.Family.String(), "encoding": c.Encoding, "products": c.Products, "flow": c.Flow, "batch": batch, "amortize": c.Amortize, "thin": c.Thin, "draws": c.Draws,
		"steps": c.Steps, "learning_rate": c.LearningRate, "seed": c.Seed, "dtype": c.DType.String(), "backend": t.device.String(),
	}
	return json.Marshal(settings)
}

// fingerprint is a digest of the values of variables that are not latent.
func fingerprint(m *Model, data Values) string {
	digest := sha256.New()
	for _, v := range m.variables {
		if v.role != Latent {
			bytes := []byte(v.name)
			for _, value := range data[v] {
				bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(value))
			}
			digest.Write(bytes)
		}
	}
	return fmt.Sprintf("%x", digest.Sum(nil)[:8])
}

var encodingNames = [encodingColumns]string{"value", "first", "second", "steps"}

// scope is the context that stores the encodings.
func (e *encodings) scope(ctx *context.Context) *context.Context {
	return ctx.InAbsPath("/" + encodingsScope + "/" + e.variable.scope()).Checked(false)
}

func (e *encodings) store(ctx *context.Context) error {
	for i, column := range e.columns {
		if err := keep(e.scope(ctx), encodingNames[i], tensors.FromFlatDataAndDimensions(column, e.variable.Members(), e.columnWidth(i))); err != nil {
			return err
		}
	}
	return nil
}

func (e *encodings) restore(ctx *context.Context) error {
	for i := range e.columns {
		column, err := kept[float32](e.scope(ctx), encodingNames[i])
		if err != nil {
			return fmt.Errorf("the encodings of %q: %w", e.variable.name, err)
		}
		if len(column) != len(e.columns[i]) {
			return fmt.Errorf("the encodings of %q: got %d numbers, want %d", e.variable.name, len(column), len(e.columns[i]))
		}
		e.columns[i] = column
	}
	return nil
}

// keep puts a value that is not trained into a variable, and makes the variable if necessary.
func keep(scope *context.Context, name string, value *tensors.Tensor) error {
	if variable := scope.GetVariable(name); variable != nil {
		return variable.SetValue(value)
	}
	scope.VariableWithValue(name, value).SetTrainable(false)
	return nil
}

// kept returns the numbers of a variable.
func kept[T dtypes.Supported](scope *context.Context, name string) ([]T, error) {
	variable := scope.GetVariable(name)
	if variable == nil {
		return nil, fmt.Errorf("the checkpoint does not hold %q", name)
	}
	value, err := variable.Value()
	if err != nil {
		return nil, err
	}
	return tensors.CopyFlatData[T](value)
}
