package devices

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/published"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/varsel"
)

// Flows holds the flows that can be timed, by name. Their sizes are the sizes in the VTI paper
// (Davies et al. 2025).
var Flows = map[string]cosmic.Config{
	"diagonal": cosmic.DiagonalMLP(0, 0), "affine": cosmic.Affine55(0, 0), "spline": cosmic.Spline46(0, 0),
}

// Problem is a problem to train on. With Nodes > 0, it is the discovery of a graph with this number
// of nodes, as in the simulation of the VTI paper; otherwise it is a robust regression of that
// paper with the given number of predictors.
type Problem struct {
	Predictors int `json:"predictors,omitempty"`
	Nodes      int `json:"nodes,omitempty"`
}

func (p Problem) String() string {
	if p.Nodes > 0 {
		return fmt.Sprintf("%d nodes", p.Nodes)
	}
	return fmt.Sprintf("%d predictors", p.Predictors)
}

// Sizes holds the combinations to be timed: every flow with every problem and every batch, which is
// the number of draws per step.
type Sizes struct {
	Flows          []string
	Problems       []Problem
	Batches        []int
	DType          dtypes.DType
	StepsPerLaunch int           // 0 means 1
	Interval       time.Duration // length of a timed interval; 0 means a quarter of a second
}

// interval returns the length of an interval in seconds.
func (s Sizes) interval() float64 {
	if s.Interval == 0 {
		return 0.25
	}
	return s.Interval.Seconds()
}

// Timing is the speed of training steps on a problem.
type Timing struct {
	// Flow is the name of the flow, a key of Flows.
	Flow string `json:"flow"`
	Problem
	// Batch is the number of draws per step.
	Batch int `json:"batch"`
	// Step is the time of a step in seconds: the median over intervals. An interval ends when the
	// device has finished the steps of the interval. Start is the time of the first step, in
	// seconds, which includes compilation.
	Step  float64 `json:"step_seconds"`
	Start float64 `json:"start_seconds"`
	// Work is the work of a step.
	Work Work `json:"work"`
}

// Samples returns the number of draws per second.
func (t Timing) Samples() float64 { return float64(t.Batch) / t.Step }

// Shares returns lower bounds of the shares of the time of a step that matrix products, and passes
// through memory, take on a device with the given limits.
func (t Timing) Shares(limits Limits) (arithmetic, memory float64) {
	return t.Work.Flops / limits.FlopsPerSecond / t.Step, t.Work.Bytes / limits.BytesPerSecond / t.Step
}

// intervals is the number of timed intervals, which follow an untimed one. mostSteps is the largest
// number of steps in an interval.
const (
	intervals = 4
	mostSteps = 1000
)

// Benchmark times training steps, and calls report with the timing of each size.
func Benchmark(ctx gocontext.Context, device *gpu.Device, sizes Sizes, report func(Timing)) error {
	for _, flow := range sizes.Flows {
		for _, problem := range sizes.Problems {
			guess := 0.0 // time of a step with a batch of one
			for _, batch := range sizes.Batches {
				b := stepBenchmark{device: device, sizes: sizes, timing: Timing{Flow: flow, Problem: problem, Batch: batch}}
				if guess == 0 {
					if err := b.run(ctx, 1, 2); err != nil {
						return b.wrap(err)
					}
					guess = b.timing.Step / float64(batch)
				}
				every := min(mostSteps, int(sizes.interval()/(guess*float64(batch))))
				launches := max(1, every/max(1, sizes.StepsPerLaunch))
				if err := b.run(ctx, launches*max(1, sizes.StepsPerLaunch), intervals+1); err != nil {
					return b.wrap(err)
				}
				guess = b.timing.Step / float64(batch)
				report(b.timing)
			}
		}
	}
	return nil
}

// stepBenchmark times the training steps of one size.
type stepBenchmark struct {
	device *gpu.Device
	sizes  Sizes
	timing Timing
}

func (b *stepBenchmark) wrap(err error) error {
	return fmt.Errorf("%s, %s, batch %d: %w", b.timing.Flow, b.timing.Problem, b.timing.Batch, err)
}

// run trains for the given number of intervals. The argument every is the number of steps of an
// interval. It sets timing.Step to the median over all intervals except the first.
func (b *stepBenchmark) run(ctx gocontext.Context, every, intervals int) error {
	flow, ok := Flows[b.timing.Flow]
	if !ok {
		return fmt.Errorf("unknown flow, want a name in devices.Flows")
	}
	target, models, err := b.timing.open(b.sizes.DType)
	if err != nil {
		return err
	}
	watching := &counted{Backend: b.device.Backend(), compiled: func(name string, work Work) {
		if strings.Contains(name, "(*trainer).compile") {
			b.timing.Work = work
		}
	}}
	started := time.Now()
	var lengths []float64
	_, err = vti.Fit(ctx, b.device.With(watching), target, vti.Config{
		Flow: flow, Models: models, Steps: every * intervals, Batch: b.timing.Batch, Seed: seed, DType: b.sizes.DType, StepsPerLaunch: b.sizes.StepsPerLaunch,
		Start: vti.AnchorStart, MaxNonFinite: math.Inf(1), LogEvery: every,
		Progress: func(info vti.Info) {
			if info.Step == 1 {
				b.timing.Start = time.Since(started).Seconds()
			}
			if info.Step > every {
				lengths = append(lengths, 1/info.StepsPerSecond)
			}
		},
	})
	if err != nil {
		return err
	}
	slices.Sort(lengths)
	middle := len(lengths) / 2
	b.timing.Step = (lengths[middle] + lengths[(len(lengths)-1)/2]) / 2
	return nil
}

// open simulates the problem and returns its posterior and a distribution over models. The
// distribution is a table for graphs and for few predictors, and a network for more predictors.
func (p Problem) open(dtype dtypes.DType) (vti.Target, vti.ModelDistribution, error) {
	if p.Nodes > 0 {
		target, err := graphs(sem.Simulation{Nodes: p.Nodes, Rows: graphRows, Mechanism: dag.MLP, Hidden: graphHidden, Seed: seed})
		if err != nil {
			return nil, nil, err
		}
		models, err := modeldist.NewCategorical(target.Space().Cards(), modeldist.CategoricalConfig{})
		return target, models, err
	}
	problem, err := robustProblem(p.Predictors)
	if err != nil {
		return nil, nil, err
	}
	models, err := problem.NewModels(varsel.AutoSampler, varsel.SurrogateOptions{}, seed, dtype)
	if err != nil {
		return nil, nil, err
	}
	if _, network := models.(*modeldist.Autoregressive); network {
		models = plain{models}
	}
	return problem.Posterior(), models, nil
}

// graphRows and graphHidden are the numbers of rows and of hidden units in the simulation of graphs
// of the VTI paper (appendix F.1).
const (
	graphRows   = 256
	graphHidden = 10
)

// robustProblem returns the robust regression of the VTI paper, with 50 rows and a column of ones.
func robustProblem(predictors int) (*varsel.Problem, error) {
	data := published.Design{Predictors: predictors, Misspecification: published.HighMisspecification, Seed: seed}.Simulate()
	parsed, err := parse(data.WriteCSV)
	if err != nil {
		return nil, err
	}
	design, err := varsel.NewDesign(parsed, varsel.DesignOptions{
		Target: "y", Always: []string{"x0"}, NoIntercept: true, NoStandardize: true, Likelihood: likelihood.RobustKind,
	})
	if err != nil {
		return nil, err
	}
	return varsel.NewProblem(design, varsel.ModelOptions{Likelihood: likelihood.RobustKind})
}
