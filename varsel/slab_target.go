package varsel

import (
	gocontext "context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
)

// slabBits and slabSlots are Gaussian targets under a mixture of g-priors. Their evidences are one
// quadrature each, over g, so that models are weighted without coefficients; there is no density of
// the coefficients as a graph, and that of the normal slab stands in where q(m) is trained.
type (
	slabBits struct {
		*Target
		slab       Slab
		always     []int // coordinates of the design
		selectable int   // columns
	}
	slabSlots struct {
		*SlotTarget
		slab       Slab
		selectable int
	}
)

var (
	_ vti.SubstituteTarget = slabBits{}
	_ vti.SubstituteTarget = slabSlots{}
)

// SubstituteJoint says that LogJoint is that of the normal slab: it only proposes.
func (slabBits) SubstituteJoint() {}

// SubstituteJoint says that LogJoint is that of the normal slab: it only proposes.
func (slabSlots) SubstituteJoint() {}

// model decomposes the model of a code; order lists its coordinates, those that are in every model
// first.
func (t slabBits) model(code []int32) (m *slabModel, order []int, err error) {
	return t.slabModel(t.slab, t.active(code), t.selectable, func(j int) bool { return slices.Contains(t.always, j) })
}

func (t slabSlots) model(code []int32) (m *slabModel, order []int, err error) {
	return t.bits.slabModel(t.slab, t.active(code), t.selectable, func(j int) bool { return j < len(t.fixed) })
}

// slabModel decomposes a model whose log σ is unknown.
func (t *Target) slabModel(slab Slab, a active, selectable int, always func(coordinate int) bool) (m *slabModel, order []int, err error) {
	var columns [][]float64
	fixed := 0
	for _, first := range []bool{true, false} {
		for i, j := range a.coordinates {
			if always(j) == first {
				columns, order = append(columns, a.columns[i]), append(order, j)
			}
		}
		if first {
			fixed = len(columns)
		}
	}
	m, err = newSlabModel(slab, columns, fixed, t.responses.y, t.responses.more, t.responses.residual, selectable)
	return m, order, err
}

// LogEvidences returns log p(y | m) of each code.
func (t slabBits) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return forEachModel(ctx, codes, func(code []int32) (float64, error) { return slabEvidence(t.model(code)) })
}

// LogEvidences returns log p(y | m) of each code.
func (t slabSlots) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	return forEachModel(ctx, codes, func(code []int32) (float64, error) { return slabEvidence(t.model(code)) })
}

func slabEvidence(m *slabModel, _ []int, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return m.logEvidence, nil
}

// SampleParameters draws from p(θ | y, m).
func (t slabBits) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	m, order, err := t.model(code)
	return m.sample(err, order, n, t.Target.space.Dim(), t.scale, random)
}

// SampleParameters draws from p(θ | y, m).
func (t slabSlots) SampleParameters(code []int32, n int, random *rand.Rand) (*mat.Dense, []float64, error) {
	m, order, err := t.model(code)
	return m.sample(err, order, n, t.SlotTarget.space.Dim(), t.scale(), random)
}

// sample draws n times: coordinates of θ [n, dim] at their places, log σ at scale.
func (m *slabModel) sample(err error, order []int, n, dim, scale int, random *rand.Rand) (*mat.Dense, []float64, error) {
	if err != nil {
		return nil, nil, err
	}
	theta, logDensity := mat.NewDense(max(n, 1), dim, nil), make([]float64, n)
	values := make([]float64, len(order))
	for i := range n {
		row := theta.RawRowView(i)
		row[scale] = m.draw(random, values)
		logDensity[i] = m.logDensity(values, row[scale])
		for k, j := range order {
			row[j] = values[k]
		}
	}
	return theta, logDensity, nil
}

// gamma draws from a gamma distribution of rate 1.
func gamma(shape float64, random *rand.Rand) float64 {
	return distuv.Gamma{Alpha: shape, Beta: 1, Src: random}.Rand()
}
