package devices

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// seed is the seed of all random inputs of a check.
const seed = 1

// rows is the number of rows of the inputs of a computation graph.
const rows = 64

// evaluation is a computation graph together with the variables that it creates.
type evaluation struct {
	ctx  *context.Context
	exec *context.Exec
}

// newEvaluation returns a computation graph that runs on a device. It converts the outputs to
// float64.
func newEvaluation(device *gpu.Device, build func(ctx *context.Context, inputs []*Node) []*Node) (*evaluation, error) {
	e := &evaluation{ctx: context.New().Checked(false)}
	var err error
	e.exec, err = context.NewExec(device.Backend(), e.ctx, func(ctx *context.Context, inputs []*Node) []*Node {
		outputs := build(ctx, inputs)
		for i, output := range outputs {
			outputs[i] = ConvertDType(output, dtypes.Float64)
		}
		return outputs
	})
	return e, err
}

// run runs the computation graph and returns its outputs as flat slices.
func (e *evaluation) run(inputs ...any) ([][]float64, error) {
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return e.exec.Exec(inputs...) })
	if err != nil {
		return nil, err
	}
	values := make([][]float64, len(outputs))
	for i, output := range outputs {
		if values[i], err = tensors.CopyFlatData[float64](output); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// perturb adds normal noise to the trainable variables, which a first run has created. Many
// variables start at zero, which would hide mistakes. The noise is the same for every device and
// float type. Its standard deviation is scale, divided by √n for a matrix of n rows.
func (e *evaluation) perturb(scale float64) error {
	for variable := range e.ctx.IterVariables() {
		if !variable.Trainable {
			continue
		}
		value, err := variable.Value()
		if err != nil {
			return err
		}
		dims, random := variable.Shape().Dimensions, stream.Rand(seed, "perturb"+variable.ScopeAndName())
		deviation := scale
		if len(dims) == 2 {
			deviation /= math.Sqrt(float64(dims[0]))
		}
		err = value.MutableFlatData(func(flat any) {
			switch values := flat.(type) {
			case []float64:
				for i := range values {
					values[i] += deviation * random.NormFloat64()
				}
			case []float32:
				for i := range values {
					values[i] = float32(float64(values[i]) + deviation*random.NormFloat64())
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// slopes returns the derivatives of the sum of x with respect to all trainable variables, in one
// flat array.
func slopes(ctx *context.Context, x *Node) *Node {
	g := x.Graph()
	var flat []*Node
	for _, gradient := range Gradient(ReduceAllSum(x), train.ValuesOf(g, train.VariablesIn(ctx, "", g))...) {
		flat = append(flat, ConvertDType(Reshape(gradient, -1), dtypes.Float64))
	}
	return Concatenate(flat, 0)
}

// normals returns a matrix of normal random numbers with standard deviation scale.
func normals(name string, rows, columns int, scale float64) [][]float64 {
	random := stream.Rand(seed, name)
	matrix := make([][]float64, rows)
	for i := range matrix {
		matrix[i] = make([]float64, columns)
		for j := range matrix[i] {
			matrix[i][j] = scale * random.NormFloat64()
		}
	}
	return matrix
}

// uniforms returns a matrix of uniform random numbers in [0, 1).
func uniforms(name string, rows, columns int) [][]float64 {
	random := stream.Rand(seed, name)
	matrix := make([][]float64, rows)
	for i := range matrix {
		matrix[i] = make([]float64, columns)
		for j := range matrix[i] {
			matrix[i][j] = random.Float64()
		}
	}
	return matrix
}

// randomCodes draws models that consist of one outcome per site. The argument cards holds the
// numbers of outcomes of the sites.
func randomCodes(name string, rows int, cards []int) [][]int32 {
	random := stream.Rand(seed, name)
	codes := make([][]int32, rows)
	for i := range codes {
		for _, card := range cards {
			codes[i] = append(codes[i], int32(random.IntN(card)))
		}
	}
	return codes
}

// randomLists draws ascending lists of at most slots items. The number items fills the unused slots
// of a list.
func randomLists(name string, rows, items, slots int) [][]int32 {
	random := stream.Rand(seed, name)
	codes := make([][]int32, rows)
	for i := range codes {
		length := random.IntN(slots + 1)
		left := length
		for item := range items {
			if random.IntN(items-item) < left {
				codes[i] = append(codes[i], int32(item))
				left--
			}
		}
		for len(codes[i]) < slots {
			codes[i] = append(codes[i], int32(items))
		}
	}
	return codes
}
