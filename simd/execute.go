package simd

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// executable is a compiled computation. Execute may be called from many goroutines at once.
type executable struct {
	name         string
	names        []string
	inputShapes  []shapes.Shape
	outputShapes []shapes.Shape
	program      *program
}

var _ backends.Executable = (*executable)(nil)

// Finalize drops the memory that is kept for later executions.
func (e *executable) Finalize() {
	e.program.mu.Lock()
	e.program.frames = nil
	e.program.mu.Unlock()
}

// Inputs returns the names and shapes of the parameters.
func (e *executable) Inputs() ([]string, []shapes.Shape) { return e.names, e.inputShapes }

// Outputs returns the shapes of the outputs.
func (e *executable) Outputs() []shapes.Shape { return e.outputShapes }

// Execute runs the computation. An output may be written over a donated input. The memory of the
// other donated inputs becomes available to new buffers.
func (e *executable) Execute(inputs []backends.Buffer, donate []bool, _ backends.DeviceNum) ([]backends.Buffer, error) {
	p := e.program
	b := p.backend
	if err := e.checkInputs(inputs, donate); err != nil {
		return nil, err
	}
	b.pool.active.Add(1)
	f := p.acquire()
	for i, in := range inputs {
		buf := in.(*Buffer)
		buf.users.Add(1)
		if v := p.parameters[i]; v != nil {
			f.memory[v.id] = buf.block.pointer()
		}
	}
	outputs := make([]backends.Buffer, len(p.outputs))
	taken := make([]bool, len(inputs)) // for each input: whether an output took over its memory
	for i, v := range p.outputs {
		out := &Buffer{shape: e.outputShapes[i]}
		if j := p.donations[i]; j >= 0 && donate != nil && donate[j] {
			if in := inputs[j].(*Buffer); !in.shared && in.users.Load() == 1 {
				out.block, taken[j] = in.block, true
			}
		}
		if out.block == nil {
			out.block = b.memory.get(v.bytes())
		}
		f.memory[v.id] = out.block.pointer()
		outputs[i] = out
	}
	f.run()
	e.endInputs(inputs, donate, taken)
	p.release(f)
	b.pool.active.Add(-1)
	return outputs, nil
}

func (e *executable) checkInputs(inputs []backends.Buffer, donate []bool) error {
	if len(inputs) != len(e.inputShapes) {
		return errors.Errorf("simd: computation %q: want %d inputs, got %d", e.name, len(e.inputShapes), len(inputs))
	}
	if donate != nil && len(donate) != len(inputs) {
		return errors.Errorf("simd: computation %q: want %d donate flags, got %d", e.name, len(inputs), len(donate))
	}
	for i, in := range inputs {
		buf, err := e.program.backend.asBuffer(in)
		if err != nil {
			return errors.WithMessagef(err, "computation %q: input %q", e.name, e.names[i])
		}
		if !buf.shape.Equal(e.inputShapes[i]) {
			return errors.Errorf("simd: computation %q: input %q: want shape %s, got %s", e.name, e.names[i], e.inputShapes[i], buf.shape)
		}
	}
	return nil
}

// endInputs invalidates donated inputs. Memory that no output has taken over (see taken) becomes
// available to new buffers.
func (e *executable) endInputs(inputs []backends.Buffer, donate, taken []bool) {
	for i, in := range inputs {
		buf := in.(*Buffer)
		others := buf.users.Add(-1)
		if donate == nil || !donate[i] || buf.shared || others > 0 || buf.block == nil {
			continue
		}
		if !taken[i] {
			e.program.backend.memory.put(buf.block)
		}
		buf.block = nil
	}
}
