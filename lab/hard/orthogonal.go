package hard

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// orthogonal returns the exact posterior over models of any number of predictors, each of one
// column. The noise must be normal with known σ, and columns must be orthogonal. Each predictor is
// in the model with the given prior probability, independently of other predictors. The posterior
// is then independent over columns, and the evidence is a product over them.
func (p *regressionProblem) orthogonal(probability float64) (*exactPosterior, error) {
	_, dim := p.x.Dims()
	if !(p.sigma > 0) || len(p.groups)+len(p.always) != dim {
		return nil, fmt.Errorf("orthogonal columns: got σ = %g and %d predictors in %d columns, want a known σ and one column for each predictor", p.sigma, len(p.groups)+len(p.always), dim)
	}
	var gram mat.Dense
	gram.Mul(p.x.T(), p.x)
	for a := range dim {
		for b := range a {
			const rounding = 1e-9
			if math.Abs(gram.At(a, b)) > rounding*math.Sqrt(gram.At(a, a)*gram.At(b, b)) {
				return nil, fmt.Errorf("orthogonal columns: columns %d and %d are not orthogonal", b, a)
			}
		}
	}
	out := &exactPosterior{inclusion: make([]float64, len(p.groups)), meanIn: make([]float64, dim+1), sdIn: make([]float64, dim+1)}
	none, err := p.gaussian(nil)
	if err != nil {
		return nil, err
	}
	out.logEvidence = none.logEvidence
	// in sets the moments of column j given that it is in the model, and returns its log Bayes
	// factor. Both do not depend on the other columns.
	in := func(j int) float64 {
		alone, fails := p.gaussian([]int{j})
		err = errors.Join(err, fails)
		if fails == nil {
			out.meanIn[j], out.sdIn[j] = alone.mean[0], math.Sqrt(alone.variance[0])
		}
		return alone.logEvidence - none.logEvidence
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
	return out, err
}
