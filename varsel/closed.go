package varsel

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/exact"
	"github.com/transdim/vti/varsel/regression"
)

// closedForms are the evidences of models and the posteriors of their parameters. of returns the
// closed form of one model.
type closedForms struct {
	models
	of func(a regression.Active) (regression.Closed, error)
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
		logDensity[i] = a.Draw(form, random, theta.RawRowView(i))
	}
	return theta, logDensity, nil
}

// normalForms are the closed forms of the normal slab.
func normalForms(of models) closedForms {
	return closedForms{of, func(a regression.Active) (regression.Closed, error) { return of.bits().Posterior(a) }}
}

// slabForms are the closed forms of a mixture of g-priors, each with a quadrature over g. The graph
// has no density of the coefficients under it; where q(m) is trained the density of the normal slab
// stands in. always reports whether a coordinate is in every model.
func slabForms(of models, slab exact.Slab, always func(coordinate int) bool) closedForms {
	t := of.bits()
	selectable := t.design.Dim() - len(t.design.Always)
	return closedForms{of, func(a regression.Active) (regression.Closed, error) {
		fixed := make([]bool, len(a.Coordinates))
		for k, j := range a.Coordinates {
			fixed[k] = always(j)
		}
		return exact.NewGPrior(slab, a.Columns, fixed, t.Responses.Y, t.Responses.More, t.Responses.Residual, selectable)
	}}
}

const (
	// mostAssignedRows is the largest number of rows whose assignments are summed over, and
	// mostAssignments the largest number for all models together. Chosen by hand: a second or two.
	mostAssignedRows = 12
	mostAssignments  = 1 << 16
	// mostAssignedDim bounds the coordinates k of a model, of work k³. Chosen by hand.
	mostAssignedDim = 8
)

// newAssignments sums over the sets of outliers; nil if too many, or for other likelihoods.
func newAssignments(t *Target, model ModelOptions) *regression.Assignments {
	count, ok := space.Count(t.space)
	rows := len(t.Responses.Y)
	if t.Kind != likelihood.RobustKind || !ok || rows > mostAssignedRows || len(t.Mean) > mostAssignedDim || count > mostAssignments>>rows {
		return nil
	}
	return regression.NewAssignments(&t.Regression, model.Outlier, model.Sigma2/model.Sigma1)
}
