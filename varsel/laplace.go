package varsel

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/varsel/regression"
)

// laplaceProposals draws around the modes of models with a log-concave likelihood. The response may
// have a second parameter, such as a shape or a precision. Given this parameter, the posterior of a
// model has one mode, and lighter tails than a t distribution around the mode.
type laplaceProposals struct{ models }

// propose draws n times from the approximation of a model. The rows of theta [n, D] hold all D
// coordinates, 0 where the model does not use them.
func (p laplaceProposals) propose(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error) {
	t, a := p.bits(), p.active(code)
	if a.Scale < 0 {
		a = t.WithParameters(a)
	}
	coordinates := a.Coordinates
	if a.Scale >= 0 {
		coordinates = append(slices.Clip(coordinates), a.Scale)
	}
	draw, err := t.proposal(a)
	if err != nil {
		return nil, nil, nil, err
	}
	theta, logJoint, logProposal = mat.NewDense(max(n, 1), p.Space().Dim(), nil), make([]float64, n), make([]float64, n)
	values := make([]float64, len(coordinates))
	for i := range n {
		logJoint[i], logProposal[i] = draw(random, values)
		row := theta.RawRowView(i)
		for k, j := range coordinates {
			row[j] = values[k]
		}
	}
	return theta, logJoint, logProposal, nil
}

// proposal returns a function that draws from an approximation of the posterior of a model. A draw
// holds the coefficients, and the second parameter of the response (such as a shape), if there is
// one. The function returns its log joint density and its log density under the approximation.
func (t *Target) proposal(a regression.Active) (draw func(random *rand.Rand, theta []float64) (logJoint, logProposal float64), err error) {
	if a.Scale >= 0 {
		l, err := newLaplaceLine(t, a)
		if err != nil {
			return nil, err
		}
		return l.draw, nil
	}
	f, err := newLaplaceFit(t, a, 1, a.Mean)
	if err != nil {
		return nil, err
	}
	propose := f.around.Draw
	if _, ok := t.Unordered(); ok {
		s := f.splitAlong(true)
		propose = func(random *rand.Rand, theta []float64) (logDensity float64) {
			logDensity = s.drawStep(random, theta)
			floats.Add(theta, f.mode)
			return logDensity
		}
	}
	return func(random *rand.Rand, theta []float64) (float64, float64) {
		logProposal := propose(random, theta)
		return f.logJoint(theta), logProposal
	}, nil
}
