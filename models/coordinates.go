package models

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/space"
)

// Resample returns n equally weighted draws by systematic resampling, where the number of copies of
// a draw is its expected number, rounded down or up. The draws are in a random order given by seed,
// so that any part of them is a sample too. If all weights are 0 the result is empty.
func (s WeightedSample) Resample(n int, seed uint64) WeightedSample {
	_, dim := s.Theta.Dims()
	rows := weighted.Rows(s.Weight, n, stream.Rand(seed, "resample"))
	sample := WeightedSample{Theta: mat.NewDense(max(len(rows), 1), dim, nil)}
	for k, i := range rows {
		sample.Theta.SetRow(k, s.Theta.RawRowView(i))
		sample.Codes = append(sample.Codes, s.Codes[i])
		sample.LogP = append(sample.LogP, s.LogP[i])
		if s.LogQ != nil {
			sample.LogQ = append(sample.LogQ, s.LogQ[i])
		}
		sample.Weight = append(sample.Weight, 1/float64(len(rows)))
		if s.Group != nil {
			sample.Group = append(sample.Group, s.Group[i])
		}
		if s.ModelDraw != nil {
			sample.ModelDraw = append(sample.ModelDraw, s.ModelDraw[i])
		}
	}
	return sample
}

// Resample returns n equally weighted draws of the certified posterior from its sample. If the
// sample has no LogQ, LogQ of the result is the log density of the posterior, since its draws come
// from the posterior.
func (c *Certificate) Resample(n int, seed uint64) WeightedSample {
	sample := c.Sample.Resample(n, seed)
	if sample.LogQ == nil {
		sample.LogQ = slices.Clone(sample.LogP)
		floats.AddConst(-c.LogEvidence, sample.LogQ)
	}
	return sample
}

// Summary describes a quantity over posterior draws: its mean, standard deviation and quantiles.
type Summary = weighted.Summary

// Coordinate is the posterior of one coordinate of theta.
type Coordinate struct {
	// Inclusion is the probability that a model uses the coordinate, and SE its standard error.
	Inclusion, SE float64
	// Averaged summarises the coordinate over all models; it is 0 in models without it.
	Averaged Summary
	// Included summarises the coordinate over the models that use it. It is NaN if no draw uses it.
	Included Summary
}

// Coordinates describes the posterior of each of the D coordinates, with quantiles at the given
// levels. It fails if the space does not give the mask of a single model (space.RowMasker).
func (c *Certificate) Coordinates(levels ...float64) ([]Coordinate, error) {
	masker, ok := c.Space.(space.RowMasker)
	if !ok {
		return nil, fmt.Errorf("models.Coordinates: got a space %T, want one with masks of single models (space.RowMasker)", c.Space)
	}
	mask := make([]bool, masker.Dim())
	used := func(code []int32) []int {
		masker.MaskRow(code, mask)
		return apply.Where(len(mask), func(j int) bool { return mask[j] })
	}
	in := make([][]weighted.Value, len(mask))
	var mass float64
	for i, code := range c.Sample.Codes {
		weight := c.Sample.Weight[i]
		if weight == 0 {
			continue
		}
		mass += weight
		for _, j := range used(code) {
			in[j] = append(in[j], weighted.Value{Value: c.Sample.Theta.At(i, j), Weight: weight})
		}
	}
	inclusion, se := c.Frequencies(len(mask), used)
	coordinates := make([]Coordinate, len(mask))
	for j := range coordinates {
		averaged, included := weighted.Summarise(in[j], mass, levels)
		coordinates[j] = Coordinate{inclusion[j], se[j], averaged, included}
	}
	return coordinates, nil
}
