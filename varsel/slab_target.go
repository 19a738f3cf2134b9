package varsel

import (
	gocontext "context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// slabForms are the evidences of Gaussian models under a mixture of g-priors. They are one
// quadrature each, over g, so that models are weighted without coefficients; there is no density of
// the coefficients as a graph, and that of the normal slab stands in where q(m) is trained.
type slabForms struct {
	models
	slab   Slab
	always []int // coordinates in every model
}

// model decomposes the model of a code; order lists its coordinates, those that are in every model
// first.
func (f slabForms) model(code []int32) (m *slabModel, order []int, err error) {
	t, a := f.bits(), f.active(code)
	var columns [][]float64
	fixed := 0
	for _, first := range []bool{true, false} {
		for i, j := range a.coordinates {
			if slices.Contains(f.always, j) == first {
				columns, order = append(columns, a.columns[i]), append(order, j)
			}
		}
		if first {
			fixed = len(columns)
		}
	}
	selectable := t.design.Dim() - len(t.design.Always)
	m, err = newSlabModel(f.slab, columns, fixed, t.responses.y, t.responses.more, t.responses.residual, selectable)
	return m, order, err
}

// LogEvidences returns log p(y | m) of each code.
func (f slabForms) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return forEachModel(ctx, codes, func(code []int32) (float64, error) {
		m, _, err := f.model(code)
		if err != nil {
			return 0, err
		}
		return m.logEvidence, nil
	})
}

// SampleParameters draws n times from p(θ | y, m).
func (f slabForms) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	m, order, err := f.model(code)
	if err != nil {
		return nil, nil, err
	}
	theta, logDensity := mat.NewDense(max(n, 1), f.Space().Dim(), nil), make([]float64, n)
	values := make([]float64, len(order))
	for i := range n {
		row, scale := theta.RawRowView(i), f.active(code).scale
		row[scale] = m.draw(random, values)
		logDensity[i] = m.logDensity(values, row[scale])
		for k, j := range order {
			row[j] = values[k]
		}
	}
	return theta, logDensity, nil
}
