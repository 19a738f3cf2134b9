package devices

import (
	gocontext "context"
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/modeldist"
)

// trainingRun names a posterior, and the flow and the distribution over models that are trained on
// it.
type trainingRun struct {
	target, models string
	flow           cosmic.Kind
}

// trainingRuns holds every kind of flow and of distribution over models at least once.
var trainingRuns = []trainingRun{
	{"gaussian", "categorical", cosmic.Affine},
	{"robust", "categorical", cosmic.Diagonal},
	{"student", "categorical", cosmic.Spline},
	{"logistic", "autoregressive", cosmic.Affine},
	{"poisson", "surrogate", cosmic.Affine},
	{"gaussian, lists", "list", cosmic.Affine},
	{"dag linear", "categorical", cosmic.Spline},
	{"dag mlp", "categorical", cosmic.Diagonal},
}

// trainingSubjects returns a subject (a computation to compare) for each training run, which is
// compared step by step.
func trainingSubjects(steps int) (all []subject) {
	for _, t := range allTargets() {
		for _, run := range trainingRuns {
			if run.target != t.name {
				continue
			}
			name := fmt.Sprintf("%d steps: %s, %s, %s", steps, run.target, strings.ToLower(run.flow.String()), run.models)
			all = append(all, subject{name, func(ctx gocontext.Context, device *gpu.Device, dtype dtypes.DType) ([]measured, error) {
				return measureTraining(ctx, device, dtype, t, run, steps)
			}})
		}
	}
	return all
}

// plain hides the type of a distribution over models from package vti, so that training does not
// begin with a pilot run. A pilot run would fit the distribution to models that are drawn on the
// host.
type plain struct{ vti.ModelDistribution }

func (r trainingRun) newModels(t vti.Target, dtype dtypes.DType) (vti.ModelDistribution, error) {
	cards := t.Space().Cards()
	switch r.models {
	case "autoregressive":
		models, err := modeldist.NewAutoregressive(cards, modeldist.AutoregressiveConfig{Hidden: 8, Seed: seed, DType: dtype})
		return plain{models}, err
	case "surrogate":
		return modeldist.NewSurrogate(cards, modeldist.SurrogateConfig{Seed: seed})
	case "list":
		models, err := modeldist.NewList(items, slots, modeldist.ListConfig{Hidden: 8, Seed: seed, DType: dtype})
		return plain{models}, err
	}
	return nil, nil // package vti then uses a table of model probabilities
}

func measureTraining(ctx gocontext.Context, device *gpu.Device, dtype dtypes.DType, t target, run trainingRun, steps int) ([]measured, error) {
	posterior, err := t.make()
	if err != nil {
		return nil, fmt.Errorf("making up data: %w", err)
	}
	models, err := run.newModels(posterior, dtype)
	if err != nil {
		return nil, err
	}
	const batch = 32
	var course []float64
	trained, err := vti.Fit(ctx, device, posterior, vti.Config{
		Flow: cosmic.Config{Kind: run.flow, Layers: 2, Blocks: 1, Hidden: 8, Bins: 4}, Models: models,
		Steps: steps, Batch: batch, LearningRate: 0.02, Seed: seed, DType: dtype, Start: vti.AnchorStart, MaxNonFinite: 1, LogEvery: 1,
		Progress: func(info vti.Info) { course = append(course, info.Loss, info.Entropy) },
	})
	if err != nil {
		return nil, err
	}
	codes := t.codes(posterior, batch)
	theta := slices.Concat(normals("theta", batch, posterior.Space().Dim(), 0.5)...)
	logQ, err := trained.LogProb(codes, mat.NewDense(batch, posterior.Space().Dim(), theta))
	if err != nil {
		return nil, err
	}
	return []measured{{Training, course}, {Training, logQ}}, nil
}
