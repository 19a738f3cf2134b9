package simd

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/notimplemented"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// Builder records the operations of one computation until Compile is called. The methods of the
// embedded Builder stand for the operations that this backend lacks (convolutions, FFT, complex
// numbers, batch normalisation, collectives); they return an error that names the operation.
type Builder struct {
	notimplemented.Builder
	backend  *Backend
	name     string
	nodes    []*node
	inputs   []*node
	compiled bool
}

var _ backends.Builder = (*Builder)(nil)

// Name returns the name given to Backend.Builder.
func (b *Builder) Name() string { return b.name }

// OpShape returns the shape of op.
func (b *Builder) OpShape(op backends.Op) (shapes.Shape, error) {
	nodes, err := b.check("OpShape", op)
	if err != nil {
		return shapes.Invalid(), err
	}
	return nodes[0].shape(), nil
}

// Compile optimises the part of the graph that outputs depend on and returns it as an executable.
// The builder must not be used afterwards.
func (b *Builder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	for _, s := range shardings {
		if s != nil {
			return nil, errors.Errorf("simd: sharding is not supported: there is one device")
		}
	}
	nodes, err := b.check("Compile", outputs...)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, errors.Errorf("simd: Compile: want at least one output")
	}
	b.compiled = true
	return compile(b, nodes)
}

// check returns ops as nodes, or an error if one of ops was not made by this builder or if the
// builder was already compiled.
func (b *Builder) check(operation string, ops ...backends.Op) ([]*node, error) {
	if b.compiled {
		return nil, errors.Errorf("simd: %s: computation %q was already compiled", operation, b.name)
	}
	nodes := make([]*node, len(ops))
	for i, op := range ops {
		n, ok := op.(*node)
		if !ok || n == nil {
			return nil, errors.Errorf("simd: %s: operand %d: want an operation of this backend, got %T", operation, i, op)
		}
		if n.owner != b {
			return nil, errors.Errorf("simd: %s: operand %d belongs to computation %q, not to %q", operation, i, n.owner.name, b.name)
		}
		nodes[i] = n
	}
	return nodes, nil
}

func (b *Builder) add(op backends.OpType, shape shapes.Shape, attr any, inputs ...*node) *node {
	n := &node{id: len(b.nodes), op: op, dtype: shape.DType, dims: shape.Dimensions, inputs: inputs, attr: attr, owner: b}
	b.nodes = append(b.nodes, n)
	return n
}

// Parameter adds an input to the computation, after the inputs declared so far.
func (b *Builder) Parameter(name string, shape shapes.Shape, sharding *backends.ShardingSpec) (backends.Op, error) {
	if _, err := b.check("Parameter"); err != nil {
		return nil, err
	}
	if sharding != nil {
		return nil, errors.Errorf("simd: Parameter %q: sharding is not supported: there is one device", name)
	}
	if err := checkDType("Parameter", shape.DType); err != nil {
		return nil, err
	}
	n := b.add(backends.OpTypeParameter, shape.Clone(), parameterAttr{name: name, index: len(b.inputs)})
	b.inputs = append(b.inputs, n)
	return n, nil
}

// Constant records a copy of flat as an array of shape dims.
func (b *Builder) Constant(flat any, dims ...int) (backends.Op, error) {
	if _, err := b.check("Constant"); err != nil {
		return nil, err
	}
	dtype, size, err := checkFlat(flat)
	if err != nil {
		return nil, errors.WithMessage(err, "simd: Constant")
	}
	shape := shapes.Make(dtype, dims...).Clone()
	if shape.Size() != size {
		return nil, errors.Errorf("simd: Constant: want %d elements for shape %s, got %d", shape.Size(), shape, size)
	}
	data := &block{words: make([]uint64, size*dtype.Size()/8+1)}
	copy(blockBytes(data), flatBytes(flat, dtype))
	return b.add(backends.OpTypeConstant, shape, constantAttr{data}), nil
}

func checkDType(operation string, dtype dtypes.DType) error {
	if !capabilities.DTypes[dtype] {
		return errors.Errorf("simd: %s: element type %s is not supported", operation, dtype)
	}
	return nil
}
