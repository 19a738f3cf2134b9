package calibrate

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// orthogonal returns the exact posterior over models of any number of predictors of one column
// each, where noise is normal with known σ, columns are orthogonal, and every predictor is in the
// model independently with the same probability: each column then is a question of its own, and the
// evidence is a product over columns.
func (p *regressionProblem) orthogonal(probability float64) (*exactPosterior, error) {
	n, dim := p.x.Dims()
	if !(p.sigma > 0) || len(p.groups)+len(p.always) != dim {
		return nil, errors.New("orthogonal columns: got an unknown noise scale, or predictors of several columns")
	}
	var gram mat.Dense
	gram.Mul(p.x.T(), p.x)
	for a := range dim {
		for b := range a {
			const rounding = 1e-9
			if math.Abs(gram.At(a, b)) > rounding*math.Sqrt(gram.At(a, a)*gram.At(b, b)) {
				return nil, errors.New("orthogonal columns: they are not orthogonal")
			}
		}
	}
	variance := p.sigma * p.sigma
	out := &exactPosterior{
		inclusion: make([]float64, len(p.groups)),
		mean:      make([]float64, dim+1), sd: make([]float64, dim+1), meanIn: make([]float64, dim+1), sdIn: make([]float64, dim+1),
	}
	for i, y := range p.y {
		r := y
		if p.offset != nil {
			r -= p.offset[i]
		}
		for j := range dim { // the other columns take nothing of what the mean of one explains
			r -= p.x.At(i, j) * p.priorMean[j]
		}
		out.logEvidence -= r*r/(2*variance) + math.Log(p.sigma) + halfLog2Pi
	}
	// in adds what a column that is in explains, and returns its log Bayes factor.
	in := func(j int) float64 {
		along := 0.0
		for i := range n {
			r := p.y[i]
			if p.offset != nil {
				r -= p.offset[i]
			}
			along += p.x.At(i, j) * (r - p.x.At(i, j)*p.priorMean[j])
		}
		prior := p.priorSD[j] * p.priorSD[j]
		total := variance/gram.At(j, j) + prior // of the estimate along / gram about the prior mean
		estimate := along / gram.At(j, j)
		out.meanIn[j] = p.priorMean[j] + prior/total*estimate
		out.sdIn[j] = math.Sqrt(prior * (total - prior) / total)
		return estimate*estimate/2*gram.At(j, j)/variance*(prior/total) - math.Log(total/(total-prior))/2
	}
	for _, j := range p.always {
		out.logEvidence += in(j)
	}
	for g, columns := range p.groups {
		factor := in(columns[0])
		odds := math.Log(probability) - math.Log1p(-probability) + factor
		out.inclusion[g] = 1 / (1 + math.Exp(-odds))
		out.logEvidence += math.Log1p(-probability) + math.Max(odds, 0) + math.Log1p(math.Exp(-math.Abs(odds)))
	}
	return out, nil
}
