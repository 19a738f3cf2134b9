package varsel

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/exact"
	"github.com/transdim/vti/varsel/regression"
)

// closedForms gives the evidences of models and the posteriors of their parameters in closed form.
// The function form returns the closed form of one model.
type closedForms struct {
	models
	form func(a regression.Active) (regression.Closed, error)
	// evidence returns the log evidence of one model faster than form; nil if it cannot.
	evidence func(a regression.Active) (float64, error)
	// all returns the log evidences of all models, indexed by the bits of their codes, or nil if
	// not all are listed. The first call takes as long as some thousand calls of form.
	all func(ctx gocontext.Context) ([]float64, error)
}

// leastOfAll is the smallest number of codes for which LogEvidences computes the evidences of all
// models (closedForms.all). When the engine lists all models, it requests 256 at a time. Half and
// twice this number give the same answers (docs/benchmarks/constants.md).
const leastOfAll = 64

// LogEvidences returns log p(y | m) of each code.
func (f closedForms) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	values := make([]float64, len(codes))
	if f.all != nil && len(codes) >= leastOfAll {
		all, err := f.all(ctx)
		if err != nil {
			return nil, err
		}
		if all != nil {
			for i, code := range codes {
				values[i] = all[maskOf(code)]
			}
			return values, nil
		}
	}
	return values, parallel.For(ctx, len(codes), func(i int) error {
		var err error
		if values[i], err = f.logEvidence(f.active(codes[i])); err != nil {
			return fmt.Errorf("evidence of model %v: %w", codes[i], err)
		}
		return nil
	})
}

func (f closedForms) logEvidence(a regression.Active) (float64, error) {
	if f.evidence != nil {
		return f.evidence(a)
	}
	form, err := f.form(a)
	if err != nil {
		return 0, err
	}
	return form.LogEvidence(), nil
}

// SampleParameters returns n draws from p(θ | y, m), with their log densities.
func (f closedForms) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	a := f.active(code)
	form, err := f.form(a)
	if err != nil {
		return nil, nil, err
	}
	theta, logDensity := mat.NewDense(max(n, 1), f.Space().Dim(), nil), make([]float64, n)
	for i := range n {
		logDensity[i] = a.Draw(form, random, theta.RawRowView(i))
	}
	return theta, logDensity, nil
}

// slabForms returns the closed forms of models under a mixture of g-priors, each with a quadrature
// over g. Training of q(m) uses the density under a normal prior in place of the g-prior, whose
// density the computation graph of the Target does not have. The argument always is a function that
// reports whether a coordinate is in every model.
func slabForms(m models, slab exact.Slab, always func(coordinate int) bool) closedForms {
	t := m.bits()
	selectable := t.design.Dim() - len(t.design.Always)
	return closedForms{models: m, form: func(a regression.Active) (regression.Closed, error) {
		fixed := apply.To(a.Coordinates, always)
		return exact.NewGPrior(slab, a.Columns, fixed, t.Responses.Y, t.Responses.More, t.Responses.Residual, selectable)
	}}
}

const (
	// mostAssignedRows is the largest number n of rows for which the sum runs over all 2ⁿ sets of
	// outliers. mostAssignments is the largest number of such sets over all models together.
	// mostAssignedDim is the largest number k of coordinates of a model, since each set takes k³
	// operations. Within these limits the sum takes at most a second or two.
	mostAssignedRows = 12
	mostAssignments  = 1 << 16
	mostAssignedDim  = 8
)

// newAssignments prepares the sum over all sets of outliers. It returns nil if there are too many
// sets, and for likelihoods other than the robust one.
func newAssignments(t *Target, model ModelOptions) *regression.Assignments {
	count, ok := space.Count(t.space)
	rows := len(t.Responses.Y)
	if t.Kind != likelihood.RobustKind || !ok || rows > mostAssignedRows || len(t.Mean) > mostAssignedDim || count > mostAssignments>>rows {
		return nil
	}
	return regression.NewAssignments(&t.Regression, model.Outlier, model.Sigma2/model.Sigma1)
}
