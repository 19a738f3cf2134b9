package hbm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// termsModel is y_jr = Σ_k x_rk (a_k + b_jk) + ε in groups j, with a_k ~ N(0, 1), b_jk ~ N(0, ¼)
// and ε ~ N(0, 1). There are K terms. Entry k of a code says whether a model has term k, and entry
// K + k whether the coefficient of the term varies by group. If the argument skew is zero, columns
// are orthogonal in every group, and terms independent.
type termsModel struct {
	target *Target
	sums   [][]float64 // Σ_r x_rk y_jr of each term and group
	square float64     // Σ_r x_rk²
	a, b   *Variable
	x      [][]float64 // [rows, terms]
	y      []float64
	group  []int32
}

const varyingSD = 0.5

func newTermsModel(t *testing.T, terms, groups, rows int, skew float64) *termsModel {
	m := NewModel()
	group, row := m.Plate("group", groups), m.Plate("row", groups*rows)
	var groupOf []int32
	var xs, ys []float64
	c := &termsModel{sums: make([][]float64, terms)}
	for k := range terms {
		c.sums[k] = make([]float64, groups)
	}
	for j := range groups {
		for r := range rows {
			groupOf = append(groupOf, int32(j))
			y := math.Sin(float64(13*(j*rows+r) + 1))
			x := make([]float64, terms)
			for k := range terms {
				x[k] = math.Cos(math.Pi * float64(k+1) * (float64(r) + 0.5) / float64(rows))
				y += x[k] * (0.8*math.Cos(float64(5*k)) + 0.5*math.Sin(float64(7*k*k+3*j))) * float64(k%3) / 2
			}
			for k := terms - 1; k >= 0; k-- {
				c.sums[k][j] += x[k] * y
				x[k] += skew * x[0]
			}
			xs, ys, c.x = append(xs, x...), append(ys, y), append(c.x, x)
		}
	}
	c.square = float64(rows) / 2
	row.In(group, groupOf)
	c.y, c.group = ys, groupOf
	c.a = m.Latent("a", Normal(Number(0), Number(1)), Event(terms))
	c.b = m.Latent("b", Normal(Number(0), Number(varyingSD)), On(group), Event(terms))
	x := m.Constant("x", On(row), Event(terms))
	eta := Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], Add(v[1], v[2])), -1) }, x, c.a, c.b)
	y := m.Observed("y", Normal(eta, Number(1)), On(row))
	require.NoError(t, m.Err())
	var sites [][]int
	for _, coordinate := range m.Coordinates(c.a) {
		sites = append(sites, []int{coordinate})
	}
	effects := m.Coordinates(c.b)
	for k := range terms {
		var termSites []int
		for j := range groups {
			termSites = append(termSites, effects[j*terms+k])
		}
		sites = append(sites, termSites)
	}
	models, err := space.NewSubsets(m.Dim(), nil, sites)
	require.NoError(t, err)
	c.target, err = m.Over(models, nil, Values{x: xs, y: ys})
	require.NoError(t, err)
	c.target.LogConcave = true
	return c
}

// logEvidence returns the log density of y under a model, a normal distribution.
func (c *termsModel) logEvidence(code []int32) float64 {
	terms := len(c.sums)
	covariance := mat.NewSymDense(len(c.y), nil)
	for i := range c.y {
		for j := range i + 1 {
			v := 0.0
			if i == j {
				v = 1
			}
			for k := range terms {
				covariance := float64(code[k])
				if c.group[i] == c.group[j] {
					covariance += float64(code[terms+k]) * varyingSD * varyingSD
				}
				v += covariance * c.x[i][k] * c.x[j][k]
			}
			covariance.SetSym(i, j, v)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, len(c.y)), covariance, nil)
	if !ok {
		panic("the covariance is not positive definite")
	}
	return normal.LogProb(c.y)
}

// A plate model over 2⁸ or 2¹² models is a Target, and its certificate agrees with the sum over all
// models.
func TestOverAgreesWithEnumeration(t *testing.T) {
	for _, terms := range []int{4, 6} {
		t.Run(fmt.Sprint(terms), func(t *testing.T) {
			if terms == 6 {
				testkit.Long(t)
			}
			c := newTermsModel(t, terms, 4, 10, 0.3)
			codes := space.ListModels(c.target.Space())
			require.Len(t, codes, 1<<(2*terms))
			logs := make([]float64, len(codes))
			for i, code := range codes {
				logs[i] = c.logEvidence(code)
			}
			total := floats.LogSumExp(logs)
			inclusion := make([]float64, 2*terms)
			for i, code := range codes {
				for site, in := range code {
					inclusion[site] += float64(in) * math.Exp(logs[i]-total)
				}
			}
			s, err := vti.Solve(t.Context(), openCPU(t), c.target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, s.Certificate.Verdict, s.Certificate.Reasons)
			require.InDelta(t, total-float64(len(inclusion))*math.Ln2, s.Certificate.LogEvidence, 5*s.Certificate.LogEvidenceSE+1e-6)
			uncertain := 0
			for site, want := range inclusion {
				got, se := s.Certificate.Probability(func(code []int32) bool { return code[site] == 1 })
				require.InDelta(t, want, got, 5*se+1e-4, "site %d", site)
				if want > 0.05 && want < 0.95 {
					uncertain++
				}
			}
			require.Greater(t, uncertain, terms/2) // otherwise the comparison could not fail
		})
	}
}

// The inclusion probabilities of 20 terms, over 2⁴⁰ models, agree with exact probabilities. Terms
// are independent, so that the exact probabilities of a term are sums over four models.
func TestOverFactorised(t *testing.T) {
	testkit.Long(t)
	const terms, groups = 20, 2
	c := newTermsModel(t, terms, groups, 32, 0)
	s, err := vti.Solve(t.Context(), openCPU(t), c.target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, s.Certificate.Verdict, s.Certificate.Reasons)
	for k := range terms {
		for site, want := range c.alone(k) {
			got, se := s.Certificate.Probability(func(code []int32) bool { return code[site*terms+k] == 1 })
			require.InDelta(t, want, got, 5*se+1e-4, "term %d, site %d", k, site)
		}
	}
}

// alone returns the exact probabilities that term k is in, and that its coefficient varies. In
// group j, with coefficient β_j, only the sum z_j = Σ_r x_rk y_jr = s β_j + √s ε_j matters, for s =
// Σ_r x_rk² and ε_j ~ N(0, 1). The probabilities are sums over four models.
func (c *termsModel) alone(k int) [2]float64 {
	var logs []float64
	for _, code := range [][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		covariance := mat.NewSymDense(len(c.sums[k]), nil)
		for i := range c.sums[k] {
			for j := range i + 1 {
				v := code[0] * c.square * c.square
				if i == j {
					v += c.square + code[1]*c.square*c.square*varyingSD*varyingSD
				}
				covariance.SetSym(i, j, v)
			}
		}
		normal, _ := distmv.NewNormal(make([]float64, len(c.sums[k])), covariance, nil)
		logs = append(logs, normal.LogProb(c.sums[k]))
	}
	total := floats.LogSumExp(logs)
	p := func(i int) float64 { return math.Exp(logs[i] - total) }
	return [2]float64{p(2) + p(3), p(1) + p(3)}
}

// A space that does not fit its model is an error.
func TestOverMistakes(t *testing.T) {
	m := NewModel()
	shares := m.Latent("shares", Dirichlet(Numbers(1, 1, 1)), Event(3))
	choice := m.Latent("choice", Normal(Number(0), Number(1)))
	y := m.Observed("y", Normal(choice, Number(1)))
	data := Values{y: {1}}
	require.Equal(t, 3, m.Dim())
	require.Equal(t, []int{0, 1}, m.Coordinates(shares))
	require.Equal(t, []int{2}, m.Coordinates(choice))
	require.Panics(t, func() { m.Coordinates(y) })
	for want, groups := range map[string][][]int{
		"": {{0, 1}, {2}}, "want 3, the unconstrained numbers": {{0}, {1}}, `has only some of the numbers of "shares"`: {{0}, {1, 2}},
	} {
		dim := 0
		for _, group := range groups {
			dim += len(group)
		}
		models, err := space.NewSubsets(dim, nil, groups)
		require.NoError(t, err)
		_, err = m.Over(models, nil, data)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	models, err := space.NewSubsets(3, []int{0, 1, 2}, nil)
	require.Error(t, err)
	_, err = m.Over(models, nil, Values{})
	require.ErrorContains(t, err, "has no values")
}

// The density of a Target, and the values of its draws, agree with plain loops. A model has none,
// one or both of two columns, and for each column a standard deviation and effects of groups.
func TestOverHasTheDensityOfItsModels(t *testing.T) {
	m := NewModel()
	group := m.Plate("group", 2)
	tau := m.Latent("τ", Gamma(Number(2), Number(3)), Event(2))
	b := m.Latent("b", Normal(Number(0.5), tau), On(group), Event(2))
	mean := Of(func(v []*Node) *Node {
		return Add(ReduceSum(v[0], -1), MulScalar(ReduceSum(v[1], -1), 0.1))
	}, b, Present(tau))
	y := m.Observed("y", Normal(mean, Number(2)), On(group))
	sites := [][]int{{0, 2, 4}, {1, 3, 5}} // for each column, sites of τ and of the effects
	require.Equal(t, []int{2, 3, 4, 5}, m.Coordinates(b))
	models, err := space.NewSubsets(m.Dim(), nil, sites)
	require.NoError(t, err)
	ys := []float64{0.7, -1.1}
	target, err := m.Over(models, space.Prior{Kind: space.BernoulliPrior, Pi: 0.2}.LogProb, Values{y: ys})
	require.NoError(t, err)
	theta := []float64{-0.3, 0.4, 1.1, -0.6, 0.2, 0.9}
	codes := space.ListModels(models)
	sample := &vti.WeightedSample{Codes: codes, Theta: mat.NewDense(len(codes), len(theta), nil)}
	flat := []int32{}
	for i, code := range codes {
		flat = append(flat, code...)
		sample.Theta.SetRow(i, theta)
	}
	exec, err := NewExec(openCPU(t).Backend(), func(codes, theta *Node) (*Node, *Node) {
		return target.LogPrior(codes), target.LogJoint(codes, models.Mask(codes), theta)
	})
	require.NoError(t, err)
	outputs := exec.MustExec(tensors.FromFlatDataAndDimensions(flat, len(codes), 2), tensors.FromFlatDataAndDimensions(slices.Clone(sample.Theta.RawMatrix().Data), len(codes), len(theta)))
	logPrior, logJoint := tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1])
	draws, err := target.Draws(openCPU(t), sample)
	require.NoError(t, err)
	for i, code := range codes {
		want, prior := 0.0, 0.0
		means := []float64{0, 0}
		for column, in := range code {
			scale := 1.0
			if in == 1 {
				u := theta[column]
				scale = math.Exp(u)
				want += math.Log(9) + math.Log(scale) - 3*scale + u // log of rate² x e^(−rate x), and the log determinant of the link
				for j := range 2 {
					effect := theta[2+2*j+column]
					means[j] += effect
					want += distuv.Normal{Mu: 0.5, Sigma: scale}.LogProb(effect)
				}
			}
			for j := range 2 {
				means[j] += 0.1 * float64(in)
				require.InDelta(t, float64(in)*theta[2+2*j+column], draws.Of(b, i)[2*j+column], 1e-12)
			}
			require.InDelta(t, scale, draws.Of(tau, i)[column], 1e-12)
			prior += math.Log([]float64{0.8, 0.2}[in])
		}
		for j, value := range ys {
			want += distuv.Normal{Mu: means[j], Sigma: 2}.LogProb(value)
		}
		require.InDelta(t, want, logJoint[i], 1e-9)
		require.InDelta(t, prior, logPrior[i], 1e-9)
	}
}
