package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/lab/testkit"
)

// typed is an input of a test: values and their element type.
type typed struct {
	array
	dtype dtypes.DType
}

// operation is a case of the conformance table: the graph to build and the result of a naive
// interpreter.
type operation struct {
	name  string
	in    []typed
	build func(b backends.Builder, in []backends.Op) (backends.Op, error)
	want  array
	// tolerance is the largest allowed error relative to max(1, |want|). If it is 0, results must
	// be equal.
	tolerance float64
	notInGo   bool // the Go backend returns something else or fails
}

// configs returns the options of backends for each instruction set of this CPU, with and without
// fusion, with one and with several threads.
func configs() []string {
	var list []string
	for _, isa := range kernel.Available() {
		list = append(list, fmt.Sprintf("isa=%s,threads=3", isa), fmt.Sprintf("isa=%s,threads=1,fuse=off", isa))
	}
	return list
}

func newBackend(t testing.TB, config string) *Backend {
	t.Helper()
	b, err := New(config)
	require.NoError(t, err)
	t.Cleanup(b.Finalize)
	return b.(*Backend)
}

// toFlat converts an array to a slice of the Go type of dtype.
func toFlat(a array, dtype dtypes.DType) any {
	data := newBlock(len(a.data) * dtype.Size())
	for i, x := range a.data {
		storeNumber(dtype, elementAddress(data.pointer(), dtype, i), x)
	}
	return flatSlice(dtype, data.pointer(), len(a.data))
}

func fromFlat(flat any, dims []int) array {
	a := newArray(dims...)
	dtype, _, _ := checkFlat(flat)
	p := newBlock(len(a.data) * dtype.Size())
	copy(blockBytes(p), flatBytes(flat, dtype))
	for i := range a.data {
		a.data[i] = loadNumber(dtype, p.pointer(), i)
	}
	return a
}

// execute builds and runs operation o. Its inputs are constants if constants is true and parameters
// otherwise.
func execute(b backends.Backend, o operation, constants bool) (array, error) {
	builder := b.Builder(o.name)
	var ops []backends.Op
	var buffers []backends.Buffer
	for i, in := range o.in {
		shape := shapes.Make(in.dtype, in.dims...)
		flat := toFlat(in.array, in.dtype)
		if constants {
			op, err := builder.Constant(flat, in.dims...)
			if err != nil {
				return array{}, err
			}
			ops = append(ops, op)
			continue
		}
		op, err := builder.Parameter(fmt.Sprint("x", i), shape, nil)
		if err != nil {
			return array{}, err
		}
		buffer, err := b.BufferFromFlatData(0, flat, shape)
		if err != nil {
			return array{}, err
		}
		ops, buffers = append(ops, op), append(buffers, buffer)
	}
	op, err := o.build(builder, ops)
	if err != nil {
		return array{}, err
	}
	e, err := builder.Compile([]backends.Op{op}, nil)
	if err != nil {
		return array{}, err
	}
	out, err := e.Execute(buffers, make([]bool, len(buffers)), 0)
	if err != nil {
		return array{}, err
	}
	flat, err := b.BufferData(out[0])
	if err != nil {
		return array{}, err
	}
	return fromFlat(flat, e.Outputs()[0].Dimensions), nil
}

// difference returns the largest error of got relative to max(1, |want|). It is infinite where only
// one of the two is NaN or where infinities differ.
func difference(want, got array) float64 {
	worst := 0.0
	for i, x := range want.data {
		y := got.data[i]
		switch {
		case x == y || math.IsNaN(x) && math.IsNaN(y):
		case math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0):
			return math.Inf(1)
		default:
			worst = max(worst, math.Abs(x-y)/max(1, math.Abs(x)))
		}
	}
	return worst
}

func TestConformance(t *testing.T) {
	operations := conformanceTable()
	if testing.Short() {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(operations), func(i, j int) { operations[i], operations[j] = operations[j], operations[i] })
		operations = operations[:len(operations)/4]
	}
	for _, config := range configs() {
		t.Run(config, func(t *testing.T) {
			b := newBackend(t, config)
			for _, o := range operations {
				for _, constants := range []bool{false, true} {
					got, err := execute(b, o, constants)
					require.NoError(t, err, o.name)
					require.True(t, slices.Equal(o.want.dims, got.dims), "%s: want shape %v, got %v", o.name, o.want.dims, got.dims)
					if d := difference(o.want, got); d > o.tolerance {
						t.Errorf("%s (constants %v): difference %g\nwant %v\ngot  %v", o.name, constants, d, first(o.want.data), first(got.data))
					}
				}
			}
		})
	}
}

func first(x []float64) []float64 { return x[:min(len(x), 12)] }

// TestAgainstGo compares results with GoMLX's own backend in Go for the operations that it
// supports.
func TestAgainstGo(t *testing.T) {
	testkit.Slow(t)
	reference, err := backends.NewWithConfig("go:ops_sequential")
	require.NoError(t, err)
	b := newBackend(t, "")
	compared := 0
	for _, o := range conformanceTable() {
		if o.notInGo || o.want.data == nil || product(o.want.dims) == 0 {
			continue
		}
		want, err := runRecovered(reference, o)
		if err != nil {
			continue
		}
		got, err := execute(b, o, false)
		require.NoError(t, err, o.name)
		compared++
		if d := difference(want, got); d > max(o.tolerance, 0) {
			t.Errorf("%s: difference %g\ngo   %v\nsimd %v", o.name, d, first(want.data), first(got.data))
		}
	}
	require.Greater(t, compared, 500)
}

// runRecovered turns the panics by which the Go backend refuses some shapes into errors.
func runRecovered(b backends.Backend, o operation) (a array, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return execute(b, o, false)
}
