package varsel

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
)

// exactBits is a Gaussian Target, whose evidences are closed forms given σ: conjugate.go.
type exactBits struct{ *Target }

// exactSlots is a Gaussian SlotTarget.
type exactSlots struct{ *SlotTarget }

// anchoredBits is a Target with an approximation of each model, and anchoredExactBits a Gaussian
// one.
type (
	anchoredBits struct {
		*Target
		*modelAnchors
	}
	anchoredExactBits struct {
		exactBits
		*exactAnchors
	}
)

var (
	_ vti.QuadraticTarget = anchoredBits{}
	_ vti.QuadraticTarget = anchoredExactBits{}
	_ vti.ExactTarget     = anchoredExactBits{}
	_ vti.ExactTarget     = exactBits{}
	_ vti.ExactTarget     = exactSlots{}
	_ vti.QuadraticTarget = exactSlots{}
)

// active is a model by its coordinates, parameters without a column apart.
type active struct {
	coordinates []int
	columns     [][]float64 // of the design
	mean, sd    []float64   // of the coefficients
}

// add appends a coordinate.
func (a *active) add(coordinate int, column []float64, mean, sd float64) {
	a.coordinates, a.columns = append(a.coordinates, coordinate), append(a.columns, column)
	a.mean, a.sd = append(a.mean, mean), append(a.sd, sd)
}

// active returns the model of a code.
func (t *Target) active(code []int32) (a active) {
	parameters := t.parameters()
	for j, on := range t.space.MaskRow(code, nil) {
		if on && !slices.Contains(parameters, j) {
			a.add(j, t.columns[j], t.mean[j], t.sd[j])
		}
	}
	return a
}

// active returns the model of a code.
func (t *SlotTarget) active(code []int32) (a active) {
	fixed, width := t.space.Fixed(), t.space.Width()
	for j, on := range t.space.MaskRow(code, nil) {
		column := j
		if j >= fixed {
			column = fixed + int(code[(j-fixed)/width])*width + (j-fixed)%width
		}
		if on && j != t.scale() {
			a.add(j, t.columns[column], t.mean[j], t.sd[j])
		}
	}
	return a
}

// conjugate decomposes a model.
func (t *Target) conjugate(a active) (*conjugate, error) {
	return newConjugate(t.responses.y, a.columns, a.mean, a.sd, t.responses.more, t.responses.residual)
}

// LogEvidences returns log p(y | m) of each code.
func (t exactBits) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return t.logEvidences(ctx, codes, t.active)
}

// LogEvidences returns log p(y | m) of each code.
func (t anchoredExactBits) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return t.exactAnchors.LogEvidences(ctx, codes)
}

// LogEvidences returns log p(y | m) of each code.
func (t exactSlots) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return t.bits.logEvidences(ctx, codes, t.active)
}

// SampleParameters draws from p(θ | y, m).
func (t exactBits) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	return t.sampleParameters(t.active(code), n, t.space.Dim(), t.scale, random)
}

// SampleParameters draws from p(θ | y, m).
func (t exactSlots) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	return t.bits.sampleParameters(t.active(code), n, t.space.Dim(), t.scale(), random)
}

// logEvidences are those of codes, of which model makes models.
func (t *Target) logEvidences(ctx gocontext.Context, codes [][]int32, model func(code []int32) active) ([]float64, error) {
	return forEachModel(ctx, codes, func(code []int32) (float64, error) { return t.logEvidence(model(code)) })
}

// forEachModel finds the log evidence of each code, on all cores.
func forEachModel(ctx gocontext.Context, codes [][]int32, logEvidence func(code []int32) (float64, error)) ([]float64, error) {
	values, failures := make([]float64, len(codes)), make([]error, len(codes))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(codes)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(codes) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				values[i], failures[i] = logEvidence(codes[i])
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range failures {
		if err != nil {
			return nil, fmt.Errorf("evidence of model %v: %w", codes[i], err)
		}
	}
	return values, nil
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

// sampleParameters draws n times: coordinates of θ [n, dim] at their places, log σ, if it is
// unknown, at scale.
func (t *Target) sampleParameters(a active, n, dim, scale int, random *rand.Rand) (*mat.Dense, []float64, error) {
	m, err := t.conjugate(a)
	if err != nil {
		return nil, nil, err
	}
	sampler, err := t.sampler(m, a, scale)
	if err != nil {
		return nil, nil, err
	}
	theta, logDensity := mat.NewDense(max(n, 1), dim, nil), make([]float64, n)
	for i := range n {
		logDensity[i] = sampler.draw(random, theta.RawRowView(i))
	}
	return theta, logDensity, nil
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

// sampler prepares draws of a model, with log σ at coordinate scale, or known where that is −1.
func (t *Target) sampler(m *conjugate, a active, scale int) (*conjugateSampler, error) {
	s := &conjugateSampler{model: m, logScale: t.logScale, coordinates: a.coordinates, scale: scale, values: make([]float64, len(a.coordinates))}
	if scale >= 0 {
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
