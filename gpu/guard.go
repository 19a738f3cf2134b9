package gpu

import (
	"reflect"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// guard wraps a backend. It refuses computations whose data and variables alone exceed the memory
// of the device before anything is sent to it, and turns errors of the backend into a Failure.
type guard struct {
	backends.Backend
	device string // the name of the device in messages
	memory uint64 // bytes of the card, 0 if not known
}

// failure returns err as a Failure, or nil if err is nil.
func (g *guard) failure(err error, held uint64) error {
	if err == nil {
		return nil
	}
	return asFailure(err, g.device, held, g.memory)
}

// room returns an error if the number of bytes held exceeds the memory of the card.
func (g *guard) room(held uint64) error {
	if f := (&Failure{Device: g.device, OutOfMemory: true, Held: held, Memory: g.memory}); f.tooLarge() {
		return f
	}
	return nil
}

// BufferFromFlatData sends data to the device.
func (g *guard) BufferFromFlatData(device backends.DeviceNum, flat any, shape shapes.Shape) (backends.Buffer, error) {
	size := uint64(shape.Memory())
	if err := g.room(size); err != nil {
		return nil, err
	}
	buffer, err := g.Backend.BufferFromFlatData(device, flat, shape)
	return buffer, g.failure(err, size)
}

// BufferToFlatData reads data from the device.
func (g *guard) BufferToFlatData(buffer backends.Buffer, flat any) error {
	return g.failure(g.Backend.BufferToFlatData(buffer, flat), 0)
}

// Builder returns a builder that counts the memory of a computation, and builds gradients of matrix
// products as matrix products.
func (g *guard) Builder(name string) backends.Builder {
	return &guardedBuilder{Builder: newContracting(g.Backend.Builder(name)), guard: g}
}

// guardedBuilder is a builder that counts the bytes of constants, such as the data of a likelihood,
// and of parameters.
type guardedBuilder struct {
	backends.Builder
	guard *guard
	held  uint64
}

func (b *guardedBuilder) hold(shape shapes.Shape) error {
	b.held += uint64(shape.Memory())
	return b.guard.room(b.held)
}

// Constant adds a constant, and counts its bytes.
func (b *guardedBuilder) Constant(flat any, dims ...int) (backends.Op, error) {
	// the backend refuses everything that is not a slice
	if values := reflect.TypeOf(flat); values != nil && values.Kind() == reflect.Slice {
		if err := b.hold(shapes.Make(dtypes.FromGoType(values.Elem()), dims...)); err != nil {
			return nil, err
		}
	}
	return b.Builder.Constant(flat, dims...)
}

// Parameter adds an input, and counts its bytes.
func (b *guardedBuilder) Parameter(name string, shape shapes.Shape, sharding *backends.ShardingSpec) (backends.Op, error) {
	if err := b.hold(shape); err != nil {
		return nil, err
	}
	return b.Builder.Parameter(name, shape, sharding)
}

// Compile compiles the computation.
func (b *guardedBuilder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	executable, err := b.Builder.Compile(outputs, shardings)
	if err != nil {
		return nil, b.guard.failure(err, b.held)
	}
	return &guardedExecutable{executable, b.guard, b.held}, nil
}

type guardedExecutable struct {
	backends.Executable
	guard *guard
	held  uint64
}

// Execute runs the computation.
func (e *guardedExecutable) Execute(inputs []backends.Buffer, donate []bool, device backends.DeviceNum) ([]backends.Buffer, error) {
	outputs, err := e.Executable.Execute(inputs, donate, device)
	return outputs, e.guard.failure(err, e.held)
}
