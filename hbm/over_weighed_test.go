package hbm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// chosenRegression is y ~ N(a + b_g + c x, 1) with a, c ~ N(0, 1) and b_g ~ N(0, 1/4). A model
// lacks c, the effects b_g of groups, both, or neither. All is normal, so evidences are known.
type chosenRegression struct {
	target *Target
	y, x   []float64
	groups []int32
}

func newChosenRegression(t *testing.T) *chosenRegression {
	c := &chosenRegression{}
	for i := range 24 {
		x := math.Sin(float64(3 * i))
		c.x, c.groups = append(c.x, x), append(c.groups, int32(i%6))
		c.y = append(c.y, 0.5+0.4*x+0.6*math.Cos(float64(5*(i%6)))+math.Sin(float64(7*i+1)))
	}
	m := NewModel()
	group, row := m.Plate("group", 6), m.Plate("row", 24)
	row.In(group, c.groups)
	population := m.Latent("population", Normal(Number(0), Number(1)), Event(2))
	effects := m.Latent("effects", Normal(Number(0), Number(0.5)), On(group))
	x := m.Constant("x", On(row))
	eta := Of(func(v []*Node) *Node {
		part := func(n *Node, k int) *Node { return Squeeze(SliceAxis(n, -1, AxisElem(k)), -1) }
		return Add(Add(part(v[0], 0), Mul(part(v[0], 1), v[2])), v[1])
	}, population, effects, x)
	y := m.Observed("y", Normal(eta, Number(1)), On(row))
	models, err := space.NewSubsets(m.Dim(), m.Coordinates(population)[:1], [][]int{m.Coordinates(population)[1:], m.Coordinates(effects)})
	require.NoError(t, err)
	c.target, err = m.Over(models, nil, Values{x: c.x, y: c.y})
	require.NoError(t, err)
	c.target.LogConcave = true
	return c
}

// logEvidence returns the log density of y under N(0, I + 1 1ᵀ + x xᵀ + ¼ S). S is 1 for two rows
// of one group, else 0. Without slope x xᵀ is absent; if varies is false, ¼ S is absent.
func (c *chosenRegression) logEvidence(slope, varies bool) float64 {
	n := len(c.y)
	l := make([][]float64, n)
	sum := 0.0
	z := make([]float64, n)
	for i := range n {
		l[i] = make([]float64, n)
		for j := range i + 1 {
			v := 1.0
			if i == j {
				v++
			}
			if slope {
				v += c.x[i] * c.x[j]
			}
			if varies && c.groups[i] == c.groups[j] {
				v += 0.25
			}
			for k := range j {
				v -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(v)
			} else {
				l[i][j] = v / l[j][j]
			}
		}
		z[i] = c.y[i]
		for k := range i {
			z[i] -= l[i][k] * z[k]
		}
		z[i] /= l[i][i]
		sum -= z[i]*z[i]/2 + math.Log(l[i][i]) + 0.5*math.Log(2*math.Pi)
	}
	return sum
}

// One family serves four models, and the importance weights of each model are computed group by
// group. Evidences are exact within their errors, and q(m) is near the posterior.
func TestFamiliesWeighModelsMemberByMember(t *testing.T) {
	testkit.Slow(t)
	c := newChosenRegression(t)
	var exact, total [4]float64
	for k := range exact {
		exact[k] = c.logEvidence(k&1 == 1, k&2 == 2)
		total[0] += math.Exp(exact[k])
	}
	group, whole := c.target.model.plates[0], map[*Plate]int(nil)
	for _, k := range []struct {
		family Family
		batch  map[*Plate]int
	}{{PAVIF, whole}, {Branch, whole}, {PAVIE, whole}, {PAVIF, map[*Plate]int{group: 2}}, {Branch, map[*Plate]int{group: 3}}, {PAVIE, map[*Plate]int{group: 3}}} {
		t.Run(fmt.Sprint(k.family, len(k.batch)), func(t *testing.T) {
			if k.family != PAVIF || k.batch == nil {
				testkit.Long(t)
			}
			flow, err := c.target.Family(Config{Family: k.family, Batch: k.batch, DType: dtypes.Float64, Seed: 1})
			require.NoError(t, err)
			require.Implements(t, (*vti.WeighedFlow)(nil), flow)
			p, err := vti.Fit(t.Context(), openCPU(t), c.target, vti.Config{Backbone: flow, Steps: 600, Batch: 256, Seed: 1, DType: dtypes.Float64})
			require.NoError(t, err)
			certificate, err := p.Certify(t.Context(), vti.CertifyConfig{})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, certificate.Verdict, "%v", certificate.Reasons)
			require.Len(t, certificate.Models, 4)
			for _, m := range certificate.Models {
				want := exact[m.Code[0]+2*m.Code[1]]
				require.InDelta(t, want, m.LogEvidence, 4*m.LogEvidenceSE+1e-6)
				require.Less(t, m.LogEvidenceSE, 0.05)
				require.InDelta(t, math.Exp(want)/total[0], m.Certified, 4*m.SE+1e-6)
				require.InDelta(t, math.Exp(want)/total[0], m.Q, 0.1)
			}
			// numbers that a model lacks are zero in its draws
			sample := certificate.Sample
			for i, code := range sample.Codes {
				mask := c.target.space.(space.RowMasker).MaskRow(code, nil)
				for k, x := range sample.Theta.RawRowView(i) {
					require.Equal(t, mask[k], x != 0)
				}
			}
		})
	}
}

// Encodings of models with twenty features move no faster in training than encodings without
// features. If features were not scaled, the log evidence would be 4 nats too small, and 3 of 2,000
// draws effective. The exact evidence is a sum over a grid.
func TestFamiliesOfManyFeatures(t *testing.T) {
	testkit.Slow(t)
	m := NewModel()
	const numbers = 20
	rows := m.Plate("rows", numbers)
	start := slices.Repeat([]float64{0.7 * math.Exp(-startLogSD)}, numbers)
	u := m.Latent("u", Normal(Number(0), Number(1)), Event(numbers), Near(make([]float64, numbers), start))
	place := m.Constant("place", On(rows), Event(numbers))
	product := Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], v[1]), -1) }, place, u)
	data := Values{m.Observed("y", Poisson(product), On(rows)): slices.Repeat([]float64{1}, numbers)}
	for k := range numbers {
		one := make([]float64, numbers)
		one[k] = 1
		data[place] = append(data[place], one...)
	}
	spare := m.Latent("spare", Normal(Number(0), Number(1))) // no density depends on this variable
	models, err := space.NewSubsets(m.Dim(), m.Coordinates(u), [][]int{m.Coordinates(spare)})
	require.NoError(t, err)
	target, err := m.Over(manyFeatures{models}, nil, data)
	require.NoError(t, err)
	target.LogConcave = true
	flow, err := target.Family(Config{Family: Branch, Seed: 1})
	require.NoError(t, err)
	p, err := vti.Fit(t.Context(), openCPU(t), target, vti.Config{Backbone: flow, Steps: 100, Batch: 4, LearningRate: 0.01 * math.Exp(startLogSD) / encodingRate, Seed: 1, DType: dtypes.Float64})
	require.NoError(t, err)
	c, err := p.Certify(t.Context(), vti.CertifyConfig{NoChains: true})
	require.NoError(t, err)
	const width = 1e-3
	integral := 0.0
	for u := -9.0; u < 9; u += width {
		integral += width * math.Exp(u-math.Exp(u)-u*u/2) / math.Sqrt(2*math.Pi)
	}
	require.Len(t, c.Models, 2)
	for _, model := range c.Models {
		require.InDelta(t, numbers*math.Log(integral), model.LogEvidence, 4*model.LogEvidenceSE, "%v", model.Code)
		require.Less(t, model.LogEvidenceSE, 0.05)
	}
}

// manyFeatures has twenty features for models whose code begins with 1, and none for other models.
type manyFeatures struct{ *space.Subsets }

func (manyFeatures) FeatureDim() int { return 20 }

func (manyFeatures) Features(codes *Node, dtype dtypes.DType) *Node {
	return BroadcastToDims(ConvertDType(codes, dtype), codes.Shape().Dim(0), 20)
}
