package varsel

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
)

// laplaceProposals draw around the modes of models with a log-concave likelihood: the posterior of
// every model has one mode given the other parameter of the response, where it has one, and lighter
// tails than a t distribution around it.
type laplaceProposals struct{ models }

// propose draws n times from a t distribution around the mode of a model: coordinates of
// θ [n, D] at their places.
func (p laplaceProposals) propose(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error) {
	t, a := p.bits(), p.active(code)
	if a.scale >= 0 {
		a = a.with(a.scale, t.mean[t.scale], t.sd[t.scale])
	} else {
		a = t.withParameters(a)
	}
	fits, err := laplaceFits(t, a)
	if err != nil {
		return nil, nil, nil, err
	}
	theta, logJoint, logProposal = mat.NewDense(max(n, 1), p.Space().Dim(), nil), make([]float64, n), make([]float64, n)
	values, draw := make([]float64, len(a.coordinates)), fits.draw
	if _, ok := t.unordered(); ok {
		if s, ok := fits[0].split(); ok {
			draw = s.draw
		}
	}
	for i := range n {
		logProposal[i] = draw(random, values)
		logJoint[i] = fits[0].logJoint(values)
		row := theta.RawRowView(i)
		for k, j := range a.coordinates {
			row[j] = values[k]
		}
	}
	return theta, logJoint, logProposal, nil
}

// laplaceMixture are the Laplace approximations at the modes of a model, by their shares.
type laplaceMixture []*laplaceFit

// laplaceFits climbs to the modes of a model: one, but with another parameter of the response,
// given which alone the density is concave, from one standard deviation of its prior below and
// above: where few rows leave open whether one of them is an outlier or the spread is large there
// can be two.
func laplaceFits(t *Target, a active) (laplaceMixture, error) {
	starts := []float64{0}
	if t.responses.categories == nil && len(a.coordinates) > len(a.columns) {
		sd := a.sd[len(a.sd)-1]
		starts = []float64{-sd, sd}
	}
	var fits laplaceMixture
	var failed error
	for _, start := range starts {
		f, err := newLaplaceFit(t, a, start)
		if err != nil {
			failed = err
			continue
		}
		if !fits.have(f) {
			fits = append(fits, f)
		}
	}
	if len(fits) == 0 {
		return nil, failed
	}
	return fits, nil
}

// sameMode is the distance in standard deviations within which two modes are one; searches end
// much nearer.
const sameMode = 0.5

// have reports whether a mode is there already.
func (m laplaceMixture) have(f *laplaceFit) bool {
	for _, other := range m {
		if other.distance(f.mode) < sameMode*sameMode {
			return true
		}
	}
	return false
}

// draw writes a draw of the coefficients to theta [k] and returns its log density.
func (m laplaceMixture) draw(random *rand.Rand, theta []float64) (logDensity float64) {
	if len(m) == 1 {
		return m[0].draw(random, theta)
	}
	logShares := make([]float64, len(m))
	for i, f := range m {
		logShares[i] = f.height - f.logDet
	}
	total := logsum.Of(logShares)
	u, chosen := random.Float64(), 0
	for i := range logShares {
		// a mode that the approximation thinks nothing of may have more
		logShares[i] = math.Log((math.Exp(logShares[i]-total) + leastModeShare) / (1 + float64(len(m))*leastModeShare))
	}
	for chosen < len(m)-1 && u > math.Exp(logShares[chosen]) {
		u -= math.Exp(logShares[chosen])
		chosen++
	}
	m[chosen].draw(random, theta)
	for i, f := range m {
		logShares[i] += f.logDensity(f.distance(theta))
	}
	return logsum.Of(logShares)
}

// leastModeShare is added to the share of each of several modes. Chosen by hand.
const leastModeShare = 0.1
