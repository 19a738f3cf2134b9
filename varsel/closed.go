package varsel

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/varsel/exact"
)

// closedForm is the posterior of one model that is known: given σ, given g, or given which rows are
// outliers it is normal.
type closedForm interface {
	// LogEvidence is log p(y | m).
	LogEvidence() float64
	// Draw writes coefficients, and returns log σ and the log density of both.
	Draw(random *rand.Rand, theta []float64) (logSigma, logDensity float64)
}

// closedForms are the evidences of models and the posteriors of their parameters. of is that of a
// model.
type closedForms struct {
	models
	of func(a active) (closedForm, error)
}

// LogEvidences returns log p(y | m) of each code.
func (f closedForms) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	values := make([]float64, len(codes))
	return values, parallel.For(ctx, len(codes), func(i int) error {
		form, err := f.of(f.active(codes[i]))
		if err != nil {
			return fmt.Errorf("evidence of model %v: %w", codes[i], err)
		}
		values[i] = form.LogEvidence()
		return nil
	})
}

// SampleParameters draws n times from p(θ | y, m).
func (f closedForms) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	a := f.active(code)
	form, err := f.of(a)
	if err != nil {
		return nil, nil, err
	}
	theta, logDensity := mat.NewDense(max(n, 1), f.Space().Dim(), nil), make([]float64, n)
	for i := range n {
		logDensity[i] = a.draw(form, random, theta.RawRowView(i))
	}
	return theta, logDensity, nil
}

// draw writes a draw of a model to θ [D], and returns its log density.
func (a active) draw(form closedForm, random *rand.Rand, theta []float64) (logDensity float64) {
	values := make([]float64, len(a.coordinates))
	logSigma, logDensity := form.Draw(random, values)
	if a.scale >= 0 {
		theta[a.scale] = logSigma
	}
	for k, j := range a.coordinates {
		theta[j] = values[k]
	}
	return logDensity
}

// noise is what is known of σ.
func (t *Target) noise() exact.Noise {
	if t.scale < 0 {
		return exact.Noise{Log: t.logScale}
	}
	return exact.Noise{Mean: t.mean[t.scale], SD: t.sd[t.scale]}
}

// posterior is that of a Gaussian model.
func (t *Target) posterior(a active) (*exact.Posterior, error) {
	m, err := exact.NewModel(t.responses.y, a.columns, a.mean, a.sd, t.responses.more, t.responses.residual)
	if err != nil {
		return nil, err
	}
	return m.Posterior(t.noise())
}

// normalForms are those of the normal slab.
func normalForms(of models) closedForms {
	return closedForms{of, func(a active) (closedForm, error) { return of.bits().posterior(a) }}
}

// slabForms are those of a mixture of g-priors: one quadrature over g each. There is no density of
// the coefficients as a graph, and that of the normal slab stands in where q(m) is trained. always
// says which coordinates are in every model.
func slabForms(of models, slab exact.Slab, always func(coordinate int) bool) closedForms {
	t := of.bits()
	selectable := t.design.Dim() - len(t.design.Always)
	return closedForms{of, func(a active) (closedForm, error) {
		fixed := make([]bool, len(a.coordinates))
		for k, j := range a.coordinates {
			fixed[k] = always(j)
		}
		return exact.NewGPrior(slab, a.columns, fixed, t.responses.y, t.responses.more, t.responses.residual, selectable)
	}}
}
