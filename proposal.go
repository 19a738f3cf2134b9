package vti

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// What the engine of models asks of q.

// Draw draws a batch of models from q(m).
func (e *evaluator) Draw(random *rand.Rand) ([][]int32, error) {
	flat, err := e.DrawCodes(random)
	_, sites, _ := e.Sizes()
	return slices.Collect(slices.Chunk(flat, sites)), err
}

// Wide is the wider version of q(m).
func (e *evaluator) Wide() models.Reference {
	reference, nearRows := referenceModels(e)
	return wideProposal{e, reference, nearRows}
}

// Fit fits q(m) to models with weights: a table to how often models without weights are there, all
// else by maximum likelihood.
func (e *evaluator) Fit(ctx context.Context, codes [][]int32, weights []float64) error {
	table, ok := e.Models.(*modeldist.Categorical)
	if ok && weights == nil {
		if table.Count() > maxListed {
			return nil
		}
		return e.setToCounts(codes)
	}
	upTo, sum := make([]float64, len(weights)), 0.0
	for i, weight := range weights {
		sum += weight
		upTo[i] = sum
	}
	return fitModels(ctx, e, func(random *rand.Rand) []int32 {
		if weights == nil {
			return codes[random.IntN(len(codes))]
		}
		at, _ := slices.BinarySearch(upTo, random.Float64()*sum)
		return codes[min(at, len(codes)-1)]
	})
}

// setToCounts sets a table to how often models are there.
func (e *evaluator) setToCounts(drawn [][]int32) error {
	codes := space.ListModels(e.Target.Space())
	logPrior, err := e.LogPrior(codes)
	if err != nil {
		return err
	}
	counts := map[string]float64{}
	for _, code := range drawn {
		counts[space.Key(code)]++
	}
	logMass := make([]float64, len(codes))
	for i, code := range codes {
		logMass[i] = math.Log(counts[space.Key(code)] + 0.5)
	}
	return e.Set(logPrior, logMass)
}
