package devices

import (
	"bytes"
	gocontext "context"
	"fmt"
	"io"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/flows"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/design"
)

// target is a posterior together with a function that draws models at which it is evaluated.
type target struct {
	name  string
	make  func() (vti.Target, error)
	codes func(t vti.Target, rows int) [][]int32
}

// allTargets returns posteriors on simulated data: one for each likelihood, one whose models are
// lists of predictors, and two with graphs as models.
func allTargets() (all []target) {
	anyCodes := func(t vti.Target, rows int) [][]int32 { return randomCodes("codes", rows, t.Space().Cards()) }
	for _, kind := range likelihood.Kinds() {
		all = append(all, target{kind.String(), func() (vti.Target, error) {
			problem, err := Selection(kind, 40, len(bits), varsel.ModelOptions{})
			if err != nil {
				return nil, err
			}
			return problem.Posterior(), nil
		}, anyCodes})
	}
	all = append(all, target{"gaussian, lists", func() (vti.Target, error) {
		prior := varsel.Prior{Kind: varsel.BetaBinomialPrior, A: 1, B: 1, MaxSize: slots}
		problem, err := Selection(likelihood.GaussianKind, 40, items, varsel.ModelOptions{Prior: prior, Codes: varsel.ListCodes})
		if err != nil {
			return nil, err
		}
		return problem.Posterior(), nil
	}, func(_ vti.Target, rows int) [][]int32 { return randomLists("lists", rows, items, slots) }})
	for _, mechanism := range []dag.Mechanism{dag.Linear, dag.MLP} {
		all = append(all, target{"dag " + mechanism.String(), func() (vti.Target, error) {
			return graphs(sem.Simulation{Nodes: 4, Rows: 30, Mechanism: mechanism, Hidden: 3, Seed: seed})
		}, familyCodes})
	}
	return all
}

// familyCodes draws random families of graphs. A family is a node with its set of parents, coded as
// the number of the node and one bit for each possible parent.
func familyCodes(t vti.Target, rows int) [][]int32 {
	codes := randomCodes("codes", rows, t.Space().Cards())
	for _, code := range codes {
		code[1+code[0]] = 0
	}
	return codes
}

// Selection simulates a variable selection problem. The coefficients and predictors are the same
// for every kind of likelihood.
func Selection(kind likelihood.Kind, observations, predictors int, model varsel.ModelOptions) (*varsel.Problem, error) {
	data, err := design.Simulate(design.Simulation{Rows: observations, Predictors: predictors, Effects: 3, Correlation: 0.5, Seed: seed})
	if err != nil {
		return nil, err
	}
	response := data.Columns[len(data.Columns)-1]
	for i, y := range response {
		switch {
		case kind.Binary():
			response[i] = math.Round(1 / (1 + math.Exp(-y)))
		case kind.Discrete():
			response[i] = math.Round(math.Exp(y / 2))
		case kind == likelihood.BetaKind:
			response[i] = 1 / (1 + math.Exp(-y))
		case !kind.Continuous() || kind.Logarithmic():
			response[i] = math.Exp(y / 2)
		}
	}
	parsed, err := parse(data.WriteCSV)
	if err != nil {
		return nil, err
	}
	design, err := varsel.NewDesign(parsed, varsel.DesignOptions{Target: data.Names[len(data.Names)-1], Likelihood: kind})
	if err != nil {
		return nil, err
	}
	model.Likelihood = kind
	return varsel.NewProblem(design, model)
}

// graphs simulates a problem of graph discovery. Its models are families: a node with its set of
// parents. The parameters of a family are the parameters of the node's mechanism.
func graphs(simulation sem.Simulation) (vti.Target, error) {
	data, err := sem.Simulate(simulation)
	if err != nil {
		return nil, err
	}
	parsed, err := parse(data.WriteCSV)
	if err != nil {
		return nil, err
	}
	prepared, err := dag.NewData(parsed, dag.DataOptions{})
	if err != nil {
		return nil, err
	}
	options := dag.ModelOptions{Mechanism: simulation.Mechanism}
	if simulation.Mechanism == dag.MLP {
		options.Hidden = simulation.Hidden
	}
	problem, err := dag.NewProblem(prepared, options, dag.Constraints{})
	if err != nil {
		return nil, err
	}
	return flows.NewNodeTarget(flows.MechanismOf(problem)), nil
}

// parse returns the output of a simulation as a table.
func parse(write func(io.Writer) error) (*table.Table, error) {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return nil, err
	}
	return table.Parse("simulated.csv", text.Bytes())
}

// targetSubjects returns a subject (a computation to compare) for each posterior: its density and
// the derivatives of the density.
func targetSubjects() (all []subject) {
	for _, t := range allTargets() {
		all = append(all, subject{"target " + t.name, func(_ gocontext.Context, device *gpu.Device, dtype dtypes.DType) ([]measured, error) {
			return measureTarget(device, dtype, t)
		}})
	}
	return all
}

func measureTarget(device *gpu.Device, dtype dtypes.DType, t target) ([]measured, error) {
	posterior, err := t.make()
	if err != nil {
		return nil, fmt.Errorf("making up data: %w", err)
	}
	e, err := newEvaluation(device, func(_ *context.Context, inputs []*Node) []*Node {
		codes, theta := inputs[0], ConvertDType(inputs[1], dtype)
		mask := posterior.Space().Mask(codes)
		logJoint := posterior.LogJoint(codes, mask, theta)
		outputs := []*Node{Gradient(ReduceAllSum(logJoint), theta)[0], logJoint, posterior.LogPrior(codes)}
		if quadratic, ok := posterior.(vti.QuadraticTarget); ok {
			precision, linear := quadratic.Quadratic(codes, mask, dtype)
			outputs = append(outputs, precision, linear)
		}
		return outputs
	})
	if err != nil {
		return nil, err
	}
	out, err := e.run(t.codes(posterior, rows), normals("theta", rows, posterior.Space().Dim(), 0.5))
	if err != nil {
		return nil, err
	}
	all := []measured{{Gradients, out[0]}}
	for _, values := range out[1:] {
		all = append(all, measured{Values, values})
	}
	return all, nil
}
