package regression

import (
	"math/rand/v2"

	"github.com/transdim/vti/varsel/exact"
)

// Closed is the posterior of one model in closed form. It is normal given σ, given g of a g-prior,
// or given a set of outliers.
type Closed interface {
	// LogEvidence returns log p(y | m).
	LogEvidence() float64
	// Draw writes coefficients to theta. It returns log σ, and the log density of the coefficients
	// and log σ together.
	Draw(random *rand.Rand, theta []float64) (logSigma, logDensity float64)
}

// Draw writes a draw from the posterior of a model to theta [D], and returns its log density.
func (a Active) Draw(form Closed, random *rand.Rand, theta []float64) (logDensity float64) {
	values := make([]float64, len(a.Coordinates))
	logSigma, logDensity := form.Draw(random, values)
	if a.Scale >= 0 {
		theta[a.Scale] = logSigma
	}
	for k, j := range a.Coordinates {
		theta[j] = values[k]
	}
	return logDensity
}

// Noise returns the prior of σ, or its known value.
func (t *Regression) Noise() exact.Noise {
	if t.Scale < 0 {
		return exact.Noise{Log: t.LogScale}
	}
	return exact.Noise{Mean: t.Mean[t.Scale], SD: t.SD[t.Scale]}
}

// Posterior returns the posterior of a Gaussian model.
func (t *Regression) Posterior(a Active) (*exact.Posterior, error) {
	m, err := t.gaussian(a)
	if err != nil {
		return nil, err
	}
	return m.Posterior(t.Noise())
}

// LogEvidence returns log p(y | m) of a Gaussian model.
func (t *Regression) LogEvidence(a Active) (float64, error) {
	m, err := t.gaussian(a)
	if err != nil {
		return 0, err
	}
	return m.Evidence(t.Noise())
}

// gaussian returns the posterior of a Gaussian model given σ.
func (t *Regression) gaussian(a Active) (*exact.Model, error) {
	y, columns, more, residual := t.Responses.Y, a.Columns, t.Responses.More, t.Responses.Residual
	if t.Products != nil {
		if r, short, left, ok := t.Products.Model(a.Places); ok {
			y, columns, more, residual = short, r, more+len(y)-len(short), residual+left
		}
	}
	return exact.NewModel(y, columns, a.Mean, a.SD, more, residual)
}
