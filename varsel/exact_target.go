package varsel

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/parallel"
)

// closedForms are the evidences of Gaussian models and the posteriors of their parameters, closed
// forms given σ (conjugate.go).
type closedForms struct{ models }

// LogEvidences returns log p(y | m) of each code.
func (f closedForms) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return forEachModel(ctx, codes, func(code []int32) (float64, error) { return f.bits().logEvidence(f.active(code)) })
}

// SampleParameters draws n times from p(θ | y, m).
func (f closedForms) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	t, a := f.bits(), f.active(code)
	m, err := t.conjugate(a)
	if err != nil {
		return nil, nil, err
	}
	sampler, err := t.sampler(m, a)
	if err != nil {
		return nil, nil, err
	}
	theta, logDensity := mat.NewDense(max(n, 1), f.Space().Dim(), nil), make([]float64, n)
	for i := range n {
		logDensity[i] = sampler.draw(random, theta.RawRowView(i))
	}
	return theta, logDensity, nil
}

// conjugate decomposes a model.
func (t *Target) conjugate(a active) (*conjugate, error) {
	return newConjugate(t.responses.y, a.columns, a.mean, a.sd, t.responses.more, t.responses.residual)
}

// forEachModel finds the log evidence of each code, on all cores.
func forEachModel(ctx gocontext.Context, codes [][]int32, logEvidence func(code []int32) (float64, error)) ([]float64, error) {
	values := make([]float64, len(codes))
	return values, parallel.For(ctx, len(codes), func(i int) (err error) {
		if values[i], err = logEvidence(codes[i]); err != nil {
			return fmt.Errorf("evidence of model %v: %w", codes[i], err)
		}
		return nil
	})
}

// logEvidence is log p(y | m).
func (t *Target) logEvidence(a active) (float64, error) {
	m, err := t.conjugate(a)
	if err != nil {
		return 0, err
	}
	return t.logEvidenceOf(m)
}

// logEvidenceOf is log p(y | m): in closed form, or integrated over log σ.
func (t *Target) logEvidenceOf(m *conjugate) (float64, error) {
	if t.scale < 0 {
		return m.logEvidence(t.logScale), nil
	}
	scale, err := newScalePosterior(m, t.mean[t.scale], t.sd[t.scale])
	if err != nil {
		return 0, err
	}
	return scale.logEvidence, nil
}

// conjugateSampler draws from the posterior of one Gaussian model.
type conjugateSampler struct {
	model       *conjugate
	noise       *scaleSampler // nil: σ is known
	logScale    float64
	coordinates []int
	scale       int
	values      []float64 // of coefficients, to work in
}

// sampler prepares draws of a model.
func (t *Target) sampler(m *conjugate, a active) (*conjugateSampler, error) {
	s := &conjugateSampler{model: m, logScale: t.logScale, coordinates: a.coordinates, scale: a.scale, values: make([]float64, len(a.coordinates))}
	if a.scale >= 0 {
		posterior, err := newScalePosterior(m, t.mean[t.scale], t.sd[t.scale])
		if err != nil {
			return nil, err
		}
		s.noise = posterior.sampler()
	}
	return s, nil
}

// draw writes a draw to theta [dim] and returns its log density.
func (s *conjugateSampler) draw(random *rand.Rand, theta []float64) (logDensity float64) {
	logSigma := s.logScale
	if s.noise != nil {
		logSigma, logDensity = s.noise.draw(random)
		theta[s.scale] = logSigma
	}
	logDensity += s.model.draw(logSigma, random, s.values)
	for k, j := range s.coordinates {
		theta[j] = s.values[k]
	}
	return logDensity
}
