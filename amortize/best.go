package amortize

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
)

// A network may be nearly right at its start. Its gradients are then mostly noise, but Adam still
// makes steps of full size. Training therefore measures the objective on held-out problems and
// keeps the best weights. Every measurement uses the same problems and the same noise. By this
// measure a network is never worse than at its start.

const (
	// heldOutBatches is the number of held-out batches, and measurements the number of times that
	// Fit measures the objective on them. In a short training the measurements take a tenth as much
	// work as the training steps.
	heldOutBatches = 4
	measurements   = 20
)

func (a *Network) measure() (losses []float64, err error) {
	if a.best.inputs == nil {
		for k := range heldOutBatches {
			inputs, err := a.draw(fmt.Sprintf("amortize/held-out/%d", k), 0)
			if err != nil {
				return nil, err
			}
			a.best.inputs = append(a.best.inputs, inputs)
		}
	}
	for _, inputs := range a.best.inputs {
		outputs, err := a.graphs.Run("held-out", func(ctx *vti.Context, inputs []*Node) *Node {
			each, _, _ := a.objective(ctx, inputs)
			return each
		}, inputs...)
		if err != nil {
			return nil, fmt.Errorf("held-out problems: %w", err)
		}
		losses = append(losses, tensors.MustCopyFlatData[float64](outputs[0])...)
	}
	return losses, nil
}

// consider measures the present weights and keeps them if they are better than the best weights so
// far. If the best weights so far are the initial weights, the present weights must be better by
// more than a standard error of the difference.
func (a *Network) consider() error {
	losses, err := a.measure()
	if err != nil {
		return err
	}
	a.best.last = finiteMean(losses)
	if a.best.losses != nil {
		gains := apply.Keep(floats.SubTo(make([]float64, len(losses)), a.best.losses, losses), finite)
		mean, sd := stat.MeanStdDev(gains, nil)
		margin := 0.0
		if a.best.step == 0 {
			margin = sd / math.Sqrt(float64(len(gains)))
		}
		if !(mean > margin) {
			return nil
		}
	} else {
		a.best.start = a.best.last
	}
	a.best.losses, a.best.step = losses, a.step
	return a.copyWeights("", "/"+bestScope)
}

// beginBest measures the initial weights or, if training is resumed, reads the best weights found
// before the interruption.
func (a *Network) beginBest() error {
	scope := a.graphs.Variables.InAbsPath("/" + bestScope)
	if scope.GetVariable("losses") == nil {
		return a.consider()
	}
	read := func(name string) ([]float64, error) {
		value, err := scope.GetVariable(name).Value()
		if err != nil {
			return nil, err
		}
		return tensors.CopyFlatData[float64](value)
	}
	var err error
	if a.best.losses, err = read("losses"); err != nil {
		return err
	}
	where, err := read("where")
	if err == nil {
		a.best.start, a.best.step, a.best.last = where[0], int(where[1]), where[2]
	}
	return err
}

func finiteMean(values []float64) float64 { return stat.Mean(apply.Keep(values, finite), nil) }
