package testkit

import (
	"strings"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Watched is a backend that wraps another, counts launches and transfers, and can be made to fail.
// It keeps its buffers to itself, as a card does, even where the backend behind shares memory with
// the host. Not for use by several goroutines.
type Watched struct {
	backends.Backend
	// BeforeLaunch, if not nil, is called with the name of every computation before it runs; the
	// launch returns its error.
	BeforeLaunch func(name string) error
	// Launches counts executions; ToHost and ToDevice transfers; BytesToHost the bytes to the host.
	Launches, ToHost, ToDevice int
	BytesToHost                int
	// Compiled lists the names of the compiled computations.
	Compiled []string
	// Donated counts the inputs handed over in the last launch, and Kept the others.
	Donated, Kept int
}

// Reset sets all counts to zero.
func (w *Watched) Reset() {
	*w = Watched{Backend: w.Backend, BeforeLaunch: w.BeforeLaunch}
}

// HasSharedBuffers is false.
func (w *Watched) HasSharedBuffers() bool { return false }

// BufferToFlatData counts a transfer to the host.
func (w *Watched) BufferToFlatData(buffer backends.Buffer, flat any) error {
	shape, err := w.Backend.BufferShape(buffer)
	if err != nil {
		return err
	}
	w.ToHost++
	w.BytesToHost += int(shape.Memory())
	return w.Backend.BufferToFlatData(buffer, flat)
}

// BufferFromFlatData counts a transfer to the device.
func (w *Watched) BufferFromFlatData(device backends.DeviceNum, flat any, shape shapes.Shape) (backends.Buffer, error) {
	w.ToDevice++
	return w.Backend.BufferFromFlatData(device, flat, shape)
}

// Builder records the compiled computations.
func (w *Watched) Builder(name string) backends.Builder {
	return &watchedBuilder{w.Backend.Builder(name), w}
}

type watchedBuilder struct {
	backends.Builder
	watched *Watched
}

func (b *watchedBuilder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	executable, err := b.Builder.Compile(outputs, shardings)
	if err != nil {
		return nil, err
	}
	b.watched.Compiled = append(b.watched.Compiled, b.Name())
	return &watchedExecutable{executable, b.watched, b.Name()}, nil
}

type watchedExecutable struct {
	backends.Executable
	watched *Watched
	name    string
}

func (e *watchedExecutable) Execute(inputs []backends.Buffer, donate []bool, device backends.DeviceNum) ([]backends.Buffer, error) {
	w := e.watched
	if w.BeforeLaunch != nil {
		if err := w.BeforeLaunch(e.name); err != nil {
			return nil, err
		}
	}
	w.Launches++
	w.Donated, w.Kept = 0, 0
	for _, donated := range donate {
		if donated {
			w.Donated++
		} else {
			w.Kept++
		}
	}
	return e.Executable.Execute(inputs, donate, device)
}

// IsTraining reports whether a name of Compiled or BeforeLaunch belongs to training steps of
// package vti.
func IsTraining(name string) bool {
	return strings.Contains(name, "stepGraph") || strings.Contains(name, "(*trainer).compile")
}
