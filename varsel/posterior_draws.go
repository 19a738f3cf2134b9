package varsel

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
)

// resampled is the number of equally weighted draws that a run writes.
const resampled = 10000

// Draws are posterior draws on the scale of the table.
type Draws struct {
	// Names are those of the columns of Values: the columns of the design and, if it is unknown, "sigma".
	Names []string
	// Codes are the models [N][G].
	Codes [][]int32
	// Values are the coefficients [N, len(Names)], 0 where a predictor is out.
	Values *mat.Dense
	// Chain numbers the chain of each draw from 1; nil for independent draws.
	Chain []int32
	// LogP is the unnormalised log posterior density on the working scale, and LogQ the log density under the
	// approximation that the draw came from (nil when there is none).
	LogP, LogQ []float64
}

// ScaleName is the name of the noise scale among coefficients.
const ScaleName = "sigma"

// toOriginal maps draws of the target's coordinates theta [N,D] to the scale of the table.
func (p *Problem) toOriginal(codes [][]int32, theta *mat.Dense) *Draws {
	names := p.Design.Names
	dim := len(names)
	if p.UnknownScale() {
		names = append(names[:dim:dim], ScaleName)
	}
	draws := &Draws{Names: names, Codes: codes, Values: mat.NewDense(max(len(codes), 1), len(names), nil)}
	for i := range codes {
		row := draws.Values.RawRowView(i)
		p.Design.Scaling.ToOriginal(row[:dim], theta.RawRowView(i)[:dim])
		if p.UnknownScale() {
			row[dim] = math.Exp(theta.At(i, p.Target.scale)) * p.Design.Scaling.YSD
		}
	}
	return draws
}

// summarizeDraws returns the posterior of every column of draws, with the given weights.
func (p *Problem) summarizeDraws(draws *Draws, weights []float64) []Coefficient {
	owner := make([]int, len(draws.Names)) // the predictor that switches the column, or −1
	for j := range owner {
		owner[j] = -1
	}
	for s, predictor := range p.Design.Predictors {
		for _, j := range predictor.Coordinates {
			owner[j] = s
		}
	}
	values, in := make([]float64, len(draws.Codes)), make([]bool, len(draws.Codes))
	coefficients := make([]Coefficient, len(draws.Names))
	for j, name := range draws.Names {
		for i, code := range draws.Codes {
			values[i], in[i] = draws.Values.At(i, j), owner[j] < 0 || code[owner[j]] == 1
		}
		coefficients[j] = summarize(name, values, in, weights)
	}
	return coefficients
}

// resample draws equally weighted rows from a weighted sample by systematic resampling, which adds the least noise: each
// row is taken either the floor or the ceiling of its expected number of times. They come in random order, so that any part of them is
// a sample too. A sample without any weight gives none.
func resample(source vti.WeightedSample, seed uint64) vti.WeightedSample {
	_, dim := source.Theta.Dims()
	random := stream.Rand(seed, "resample")
	next := random.Float64()
	var cumulative float64
	var chosen []int
	last := -1
	for i, weight := range source.Weight {
		if weight > 0 {
			last = i
		}
		for cumulative += weight * resampled; next < cumulative && len(chosen) < resampled; next++ {
			chosen = append(chosen, i)
		}
	}
	for last >= 0 && len(chosen) < resampled { // rounding can leave the sum of the weights a little below one
		chosen = append(chosen, last)
	}
	random.Shuffle(len(chosen), func(a, b int) { chosen[a], chosen[b] = chosen[b], chosen[a] })

	sample := vti.WeightedSample{Theta: mat.NewDense(max(len(chosen), 1), dim, nil)}
	for row, i := range chosen {
		sample.Theta.SetRow(row, source.Theta.RawRowView(i))
		sample.Codes = append(sample.Codes, source.Codes[i])
		sample.LogP, sample.LogQ = append(sample.LogP, source.LogP[i]), append(sample.LogQ, source.LogQ[i])
		sample.Weight = append(sample.Weight, 1.0/resampled)
	}
	return sample
}
