package testkit

import (
	"strings"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Watched is a backend that wraps another backend, counts executions and transfers, and can be made
// to fail. It does not share buffers with the host, like a graphics card, even if the wrapped
// backend does. It must not be used by several goroutines at once.
type Watched struct {
	backends.Backend
	// BeforeLaunch, if not nil, is called with the name of every computation before it is executed.
	// If it returns an error, the execution fails with that error.
	BeforeLaunch func(name string) error
	// Launches is the number of executions, ToHost and ToDevice are the numbers of transfers, and
	// BytesToHost is the number of bytes transferred to the host.
	Launches, ToHost, ToDevice int
	BytesToHost                int
	// Compiled holds the names of the compiled computations.
	Compiled []string
	// Donated is the number of inputs whose memory the last execution was allowed to reuse, and
	// Kept the number of its other inputs.
	Donated, Kept int
}

// Reset sets all counts to zero.
func (w *Watched) Reset() {
	*w = Watched{Backend: w.Backend, BeforeLaunch: w.BeforeLaunch}
}

// HasSharedBuffers returns false.
func (w *Watched) HasSharedBuffers() bool { return false }

// BufferToFlatData copies a buffer to the host, and counts the transfer.
func (w *Watched) BufferToFlatData(buffer backends.Buffer, flat any) error {
	shape, err := w.Backend.BufferShape(buffer)
	if err != nil {
		return err
	}
	w.ToHost++
	w.BytesToHost += int(shape.Memory())
	return w.Backend.BufferToFlatData(buffer, flat)
}

// BufferFromFlatData copies data to the device, and counts the transfer.
func (w *Watched) BufferFromFlatData(device backends.DeviceNum, flat any, shape shapes.Shape) (backends.Buffer, error) {
	w.ToDevice++
	return w.Backend.BufferFromFlatData(device, flat, shape)
}

// Builder returns a builder that records the names of compiled computations.
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
