package hbm

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// encodings are the free encodings of all members of a latent variable, E_i of PAVI section 4.3,
// with the state of Adam. They are kept on the host: a step sees and changes only those of the
// members it takes part in, however many there are.
type encodings struct {
	variable *Variable
	width    int
	// values, first and second moments [N_i, width], steps [N_i]
	columns [encodingColumns][]float32
}

// What is kept of a member.
const (
	encodingValue = iota
	encodingFirst
	encodingSecond
	encodingSteps
	encodingColumns
)

// startSpread is the standard deviation of encodings at the start.
const startSpread = 0.01

func newEncodings(v *Variable, width int, spread float64, seed uint64) *encodings {
	e := &encodings{variable: v, width: width}
	random := stream.Rand(seed, "init/encodings/"+v.name)
	for i := range e.columns {
		e.columns[i] = make([]float32, v.Members()*e.columnWidth(i))
	}
	for i := range e.columns[encodingValue] {
		e.columns[encodingValue][i] = float32(spread * random.NormFloat64())
	}
	return e
}

func (e *encodings) columnWidth(i int) int {
	if i == encodingSteps {
		return 1
	}
	return e.width
}

// gather takes the rows of a selection, as tensors [plates..., width].
func (e *encodings) gather(rows, dims []int) []any {
	inputs := make([]any, encodingColumns)
	for i, column := range e.columns {
		width := e.columnWidth(i)
		part := make([]float32, 0, len(rows)*width)
		for _, row := range rows {
			part = append(part, column[row*width:(row+1)*width]...)
		}
		inputs[i] = tensors.FromFlatDataAndDimensions(part, append(dims[:len(dims):len(dims)], width)...)
	}
	return inputs
}

// scatter stores what update returned for the rows of a selection, where they count.
func (e *encodings) scatter(rows []int, counts []bool, outputs []*tensors.Tensor) {
	for i, output := range outputs {
		width := e.columnWidth(i)
		output.MustConstFlatData(func(flat any) {
			part := flat.([]float32)
			for place, row := range rows {
				if counts[place] {
					copy(e.columns[i][row*width:(row+1)*width], part[place*width:(place+1)*width])
				}
			}
		})
	}
}

// updateEncodings is one step of Adam on the gathered columns of some members, in the order of the
// columns. Where apply is false they stay.
func updateEncodings(columns []*Node, gradient, learningRate, apply *Node) []*Node {
	steps := AddScalar(columns[encodingSteps], 1)
	increment, first, second := train.Adam{SecondDecay: secondDecay}.Step(gradient, columns[encodingFirst], columns[encodingSecond], learningRate, ConvertDType(steps, dtypes.Float64))
	updated := []*Node{Add(columns[encodingValue], increment), first, second, steps}
	for i := range updated {
		updated[i] = Where(apply, updated[i], columns[i])
	}
	return updated
}
