package devices

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti/gpu"
)

// portable wraps a backend and restricts it to operations that agree on all backends. Random bits
// come from the method RNGBitGenerator below, and padding is done by concatenation, because the
// interpreter has no padding.
type portable struct{ backends.Backend }

// portably returns a device whose backend is wrapped by portable.
func portably(device *gpu.Device) *gpu.Device { return device.With(portable{device.Backend()}) }

// Builder returns a builder that uses portable operations only.
func (p portable) Builder(name string) backends.Builder {
	return &portableBuilder{p.Backend.Builder(name)}
}

type portableBuilder struct{ backends.Builder }

// RNGBitGenerator draws from SplitMix64 (Steele, Lea and Flood 2014), whose i-th number is a
// function of i alone. The state [3]uint64 is the key, the count of numbers drawn so far, and an
// unused number. A number of 32 bits is the upper half of a number of 64 bits, so that a run in
// Float32 has the same noise as a run in Float64, except for rounding.
func (b *portableBuilder) RNGBitGenerator(state backends.Op, shape shapes.Shape) (newState, values backends.Op, err error) {
	c := &chain{builder: b.Builder}
	size := shape.Size()
	part := func(i int) backends.Op {
		return c.do(func() (backends.Op, error) { return b.Slice(state, []int{i}, []int{i + 1}, []int{1}) })
	}
	key, count, rest := part(0), part(1), part(2)
	index := c.do(func() (backends.Op, error) { return b.Iota(shapes.Make(dtypes.Uint64, size), 0) })
	index = c.add(index, c.spread(c.add(count, c.number(1, 1)), size))
	x := c.add(c.spread(key, size), c.mul(index, c.number(0x9e3779b97f4a7c15, size)))
	x = c.mul(c.xorShifted(x, 30, size), c.number(0xbf58476d1ce4e5b9, size))
	x = c.mul(c.xorShifted(x, 27, size), c.number(0x94d049bb133111eb, size))
	x = c.xorShifted(x, 31, size)
	switch shape.DType {
	case dtypes.Uint64:
	case dtypes.Uint32:
		x = c.shifted(x, 32, size)
		x = c.do(func() (backends.Op, error) { return b.ConvertDType(x, dtypes.Uint32) })
	default:
		return nil, nil, fmt.Errorf("devices: got random bits as %s, want Uint32 or Uint64", shape.DType)
	}
	values = c.do(func() (backends.Op, error) { return b.Reshape(x, shape.Dimensions...) })
	newState = c.do(func() (backends.Op, error) {
		return b.Concatenate(0, key, c.add(count, c.number(uint64(size), 1)), rest)
	})
	return newState, values, c.err
}

// Pad adds copies of fill at both ends of axes.
func (b *portableBuilder) Pad(x, fill backends.Op, axes ...backends.PadAxis) (backends.Op, error) {
	for axis, pad := range axes {
		if pad.Interior != 0 || pad.Start < 0 || pad.End < 0 {
			return b.Builder.Pad(x, fill, axes...)
		}
		shape, err := b.OpShape(x)
		if err != nil {
			return nil, err
		}
		var parts []backends.Op
		add := func(size int) error {
			if size == 0 {
				return nil
			}
			block := shape.Clone()
			block.Dimensions[axis] = size
			filled, err := b.BroadcastInDim(fill, block, nil)
			parts = append(parts, filled)
			return err
		}
		if err := add(pad.Start); err != nil {
			return nil, err
		}
		parts = append(parts, x)
		if err := add(pad.End); err != nil {
			return nil, err
		}
		if len(parts) > 1 {
			if x, err = b.Concatenate(axis, parts...); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// chain applies operations to arrays of Uint64. After an operation fails, it skips all later ones
// and keeps the error.
type chain struct {
	builder backends.Builder
	err     error
}

func (c *chain) do(op func() (backends.Op, error)) (result backends.Op) {
	if c.err == nil {
		result, c.err = op()
	}
	return result
}

func (c *chain) add(x, y backends.Op) backends.Op {
	return c.do(func() (backends.Op, error) { return c.builder.Add(x, y) })
}

func (c *chain) mul(x, y backends.Op) backends.Op {
	return c.do(func() (backends.Op, error) { return c.builder.Mul(x, y) })
}

// spread repeats an array of one number; size is the number of repetitions.
func (c *chain) spread(x backends.Op, size int) backends.Op {
	return c.do(func() (backends.Op, error) {
		return c.builder.BroadcastInDim(x, shapes.Make(dtypes.Uint64, size), []int{0})
	})
}

func (c *chain) number(value uint64, size int) backends.Op {
	return c.spread(c.do(func() (backends.Op, error) { return c.builder.Constant([]uint64{value}, 1) }), size)
}

// shifted returns x >> bits. It uses a division, because the interpreter has no shifts.
func (c *chain) shifted(x backends.Op, bits, size int) backends.Op {
	return c.do(func() (backends.Op, error) { return c.builder.Div(x, c.number(1<<bits, size)) })
}

// xorShifted returns x ^ (x >> bits).
func (c *chain) xorShifted(x backends.Op, bits, size int) backends.Op {
	return c.do(func() (backends.Op, error) { return c.builder.BitwiseXor(x, c.shifted(x, bits, size)) })
}
