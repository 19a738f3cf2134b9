package devices

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Work is the amount of work of a computation, counted before compilation.
type Work struct {
	// Flops is the number of multiplications and additions in matrix products, including products
	// with masked weights.
	Flops float64 `json:"flops"`
	// Bytes is the total size of the factors and results of matrix products, and of the inputs and
	// outputs of the computation. These arrays pass through memory or caches even if all other
	// operations are fused.
	Bytes float64 `json:"bytes"`
}

// counted wraps a backend and counts the work of every compiled computation.
type counted struct {
	backends.Backend
	compiled func(name string, work Work)
}

// Builder returns a builder that counts the work of the computation.
func (c *counted) Builder(name string) backends.Builder {
	return &countedBuilder{Builder: c.Backend.Builder(name), backend: c}
}

type countedBuilder struct {
	backends.Builder
	backend *counted
	work    Work
}

func (b *countedBuilder) Parameter(name string, shape shapes.Shape, sharding *backends.ShardingSpec) (backends.Op, error) {
	b.work.Bytes += float64(shape.Memory())
	return b.Builder.Parameter(name, shape, sharding)
}

func (b *countedBuilder) Dot(x, y backends.Op) (backends.Op, error) {
	result, err := b.Builder.Dot(x, y)
	if err != nil {
		return nil, err
	}
	shape, err := b.OpShape(x)
	if err != nil {
		return nil, err
	}
	return result, b.product(shape.Dim(-1), x, y, result)
}

func (b *countedBuilder) DotGeneral(x backends.Op, xAxes, xBatch []int, y backends.Op, yAxes, yBatch []int) (backends.Op, error) {
	result, err := b.Builder.DotGeneral(x, xAxes, xBatch, y, yAxes, yBatch)
	if err != nil {
		return nil, err
	}
	shape, err := b.OpShape(x)
	if err != nil {
		return nil, err
	}
	length := 1
	for _, axis := range xAxes {
		length *= shape.Dim(axis)
	}
	return result, b.product(length, x, y, result)
}

// product counts one matrix product. The argument length is the number of terms of its sums.
func (b *countedBuilder) product(length int, x, y, result backends.Op) error {
	for _, op := range []backends.Op{x, y, result} {
		shape, err := b.OpShape(op)
		if err != nil {
			return err
		}
		b.work.Bytes += float64(shape.Memory())
		if op == result {
			b.work.Flops += 2 * float64(length) * float64(shape.Size())
		}
	}
	return nil
}

func (b *countedBuilder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	for _, output := range outputs {
		shape, err := b.OpShape(output)
		if err != nil {
			return nil, err
		}
		b.work.Bytes += float64(shape.Memory())
	}
	b.backend.compiled(b.Name(), b.work)
	return b.Builder.Compile(outputs, shardings)
}
