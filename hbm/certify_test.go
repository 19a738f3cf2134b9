package hbm

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
)

// After a short training the evidence lower bound (ELBO) is far below the log evidence. The
// certificate still finds the exact evidence and posterior means within five of its standard
// errors, and its evidence is closer than the ELBO.
func TestCertifyEffects(t *testing.T) {
	testkit.Long(t)
	e := newEffects(30, 5, 2)
	data := e.draw(t, 1)
	exact := e.exact(data)
	p := fit(t, e.model, data, Config{Steps: 200})
	elbo, _, err := p.ELBO(t.Context(), 500, "elbo")
	require.NoError(t, err)
	require.Less(t, elbo, exact.logEvidence-0.4, "the training is too long for this test")
	c, err := p.Certify(t.Context(), CertifyConfig{})
	require.NoError(t, err)
	require.Equal(t, "group", c.Plate.Name())
	require.Equal(t, vti.Trusted, c.Verdict, c.Reasons)
	require.InDelta(t, exact.logEvidence, c.LogEvidence, 5*c.LogEvidenceSE)
	require.Less(t, c.LogEvidenceSE, 0.05)
	for d := range 2 {
		mean, variance := meanOf(c, func(draw int) float64 { return c.Sample.Of(e.mean, draw)[d] })
		require.InDelta(t, exact.mean[d], mean, 5*exact.meanSD[d]/math.Sqrt(c.ESS))
		require.InDelta(t, 1, math.Sqrt(variance)/exact.meanSD[d], 5/math.Sqrt(2*c.ESS))
		for g := range 30 {
			mean, variance := meanOf(c, func(draw int) float64 { return c.Sample.Of(e.groupMean, draw)[2*g+d] })
			require.InDelta(t, exact.group[2*g+d], mean, 5*exact.groupSD[d]/math.Sqrt(c.ESS))
			require.InDelta(t, 1, math.Sqrt(variance)/exact.groupSD[d], 5/math.Sqrt(2*c.ESS))
		}
	}
}

func meanOf(c *Certificate, f func(draw int) float64) (mean, variance float64) {
	for i, weight := range c.Weight {
		mean += weight * f(i)
	}
	for i, weight := range c.Weight {
		variance += weight * (f(i) - mean) * (f(i) - mean)
	}
	return mean, variance
}

// On a model with all kinds of plates, the log evidence from weights of single members of a plate
// agrees, within five standard errors, with the log evidence from weights of whole draws.
func TestCertifyByMembers(t *testing.T) {
	m, observed, plates := ragged()
	simulator, err := NewSimulator(open(t), m)
	require.NoError(t, err)
	drawn, err := simulator.Draw(t.Context(), nil, 2, "marks")
	require.NoError(t, err)
	p := fit(t, m, Values{observed: drawn[observed]}, Config{Steps: 200})
	byMembers, err := p.Certify(t.Context(), CertifyConfig{Draws: 1000})
	require.NoError(t, err)
	require.Equal(t, plates["school"], byMembers.Plate, "the marks of a pupil are on two plates, but in one school")
	require.NotEqual(t, vti.Failed, byMembers.Verdict, byMembers.Reasons)
	atOnce := &weighing{Posterior: p, outer: 500, inner: 1}
	sample := &Draws{N: 4000, Values: Values{}}
	require.NoError(t, atOnce.run(t.Context(), sample))
	logWeights := atOnce.logWeights
	largest, sum, squares := math.Inf(-1), 0.0, 0.0
	for _, l := range logWeights {
		largest = math.Max(largest, l)
	}
	for _, l := range logWeights {
		sum += math.Exp(l - largest)
		squares += math.Exp(2 * (l - largest))
	}
	se := math.Sqrt(squares/(sum*sum) - 1.0/4000)
	require.InDelta(t, largest+math.Log(sum/4000), byMembers.LogEvidence, 5*math.Hypot(se, byMembers.LogEvidenceSE))
	require.Len(t, byMembers.Sample.Values[m.Latents()[2]], 1000*9*2)
}

func TestSeparable(t *testing.T) {
	m, _, plates := ragged()
	require.Equal(t, plates["school"], separable(m))
	crossed := NewModel()
	student, teacher := crossed.Plate("student", 3), crossed.Plate("teacher", 2)
	rating := crossed.Plate("rating", 3).In(student, []int32{0, 1, 2}).In(teacher, []int32{0, 1, 1})
	a := crossed.Latent("a", Normal(Number(0), Number(1)), On(student))
	b := crossed.Latent("b", Normal(Number(0), Number(1)), On(teacher))
	crossed.Observed("y", Normal(a, b), On(rating))
	require.Equal(t, student, separable(crossed), "given the teachers")
	product := NewModel()
	rows, columns := product.Plate("row", 3), product.Plate("column", 2)
	c := product.Latent("c", Normal(Number(0), Number(1)), On(rows, columns))
	product.Observed("y", Normal(c, Number(1)), On(rows, columns))
	require.Equal(t, rows, separable(product))
	require.Nil(t, separable(NewModel()))
}

func TestCertifyMistakes(t *testing.T) {
	_, err := (&Posterior{}).Certify(t.Context(), CertifyConfig{Draws: -1})
	require.ErrorContains(t, err, "negative")
}

// Without plates all variables are weighted together.
func TestCertifyWithoutPlates(t *testing.T) {
	m := NewModel()
	mean := m.Latent("mean", Normal(Number(0), Number(1)))
	y := m.Observed("y", Normal(mean, Number(1)))
	p := fit(t, m, Values{y: {1}}, Config{Steps: 200})
	c, err := p.Certify(t.Context(), CertifyConfig{})
	require.NoError(t, err)
	require.Nil(t, c.Plate)
	require.InDelta(t, -0.25-0.5*math.Log(4*math.Pi), c.LogEvidence, 0.01)
}

// Of 400 members, with y_g ~ N(z_g, 1), z_g ~ N(μ, 1) and μ ~ N(0, 1), each has some draws from a
// wider distribution, but most of the weighted draws are effective. The exact log evidence follows
// from y_g ~ N(μ, 2). With 8 independent draws of each member only 6 of 1,000 draws would be
// effective.
func TestWeightsOfManyMembers(t *testing.T) {
	testkit.Long(t)
	const members, sum = 400, 400 * 0.7
	y, squares := make([]float64, members), 0.0
	for g := range y {
		y[g] = 0.7 + math.Sqrt2*distuv.UnitNormal.Quantile((float64(g)+0.5)/members)
		squares += y[g] * y[g]
	}
	m := NewModel()
	precision := 1 + members/2.
	mean := m.Latent("mean", Normal(Number(0), Number(1)))
	plate := m.Plate("group", members)
	z := m.Latent("z", Normal(mean, Number(1)), On(plate))
	observed := m.Observed("y", Normal(z, Number(1)), On(plate))
	require.NoError(t, m.Err())
	p, err := Fit(t.Context(), openCPU(t), m, Values{observed: y}, Config{Family: Branch, Steps: 1500, DType: dtypes.Float64})
	require.NoError(t, err)
	c, err := p.Certify(t.Context(), CertifyConfig{Draws: 1000})
	require.NoError(t, err)
	require.Greater(t, c.ESS, 500.)
	exact := -members/2.*math.Log(4*math.Pi) - math.Log(precision)/2 - squares/4 + sum*sum/8/precision
	require.InDelta(t, exact, c.LogEvidence, 5*c.LogEvidenceSE)
}
