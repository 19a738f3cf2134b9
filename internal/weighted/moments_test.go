package weighted

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
)

// TestMomentsErrors checks standard errors of weighted draws from a normal distribution that is
// wider than the target. Over many samples the errors of the mean and of the sd, divided by their
// standard errors, must have an sd of 1. This must also hold if MomentsOf gets expectations and
// variances given the draws.
func TestMomentsErrors(t *testing.T) {
	const samples, draws = 400, 1000
	for name, expectationSD := range map[string]float64{"draws": 0, "expectations": 0.8} {
		t.Run(name, func(t *testing.T) {
			random := stream.Rand(1, "moments/"+name)
			var means, sds []float64
			for range samples {
				weight, value, within := make([]float64, draws), make([]float64, draws), make([]float64, draws)
				for i := range weight {
					x := 1.3 * random.NormFloat64()
					weight[i] = math.Exp(x*x/(2*1.69) - x*x/2)
					value[i] = 3 + 2*math.Sqrt(1-expectationSD*expectationSD)*x
					z := 2 * expectationSD * random.NormFloat64()
					within[i] = z * z
				}
				m := MomentsOf(weight, value, within, nil)
				means, sds = append(means, (m.Mean-3)/m.MeanSE), append(sds, (m.SD-2)/m.SDSE)
			}
			// An sd of 400 numbers has a standard error of 0.035. With a tolerance of four standard
			// errors there is a false alarm in about 4,000 runs.
			require.InDelta(t, 1, stat.StdDev(means, nil), 0.14)
			require.InDelta(t, 1, stat.StdDev(sds, nil), 0.14)
		})
	}
}

// Weighted draws from Student's t distribution with five degrees of freedom estimate the standard
// deviation of a normal quantity better than independent normal draws, if their number is the
// effective number of the weighted draws. The stated standard errors must have the size of the true
// errors.
func TestStandardDeviationsByHeavierProposals(t *testing.T) {
	random := stream.Rand(1, "heavier")
	const samples, draws = 300, 4000
	var z []float64
	weight, value := make([]float64, draws), make([]float64, draws)
	for range samples {
		for i := range value {
			c := 0.0
			for range 5 {
				v := random.NormFloat64()
				c += v * v / 5
			}
			x := random.NormFloat64() / math.Sqrt(c)
			value[i], weight[i] = x, math.Exp(3*math.Log1p(x*x/5)-x*x/2)
		}
		m := MomentsOf(weight, value, nil, nil)
		z = append(z, (m.SD-1)/m.SDSE)
	}
	require.InDelta(t, 1, stat.StdDev(z, nil), 0.13) // three standard errors
}

// TestStandardDeviationsOfFewDraws estimates the standard deviation of a normal distribution from
// 30 draws, 10,000 times. At most 10 estimates may differ from the truth by more than four of their
// standard errors. Standard errors from the fourth moment of the draws alone would give 25.
func TestStandardDeviationsOfFewDraws(t *testing.T) {
	random := stream.Rand(1, "few")
	const samples = 10_000
	weight, value := slices.Repeat([]float64{1}, 30), make([]float64, 30)
	off := 0
	for range samples {
		for i := range value {
			value[i] = random.NormFloat64()
		}
		m := MomentsOf(weight, value, nil, nil)
		if math.Abs(math.Log(m.SD)) > 4*m.SDSE/m.SD {
			off++
		}
	}
	require.LessOrEqual(t, off, 10)
}

// The squares of these draws have an infinite variance, and their mean is too small in most
// samples. The standard error of the standard deviation includes a part for the missing tail. The
// standard deviation must be reported for more than half of the samples, its errors must have about
// the size of their standard errors, and at most one in 100 may be more than four standard errors
// off.
func TestStandardDeviationsOfHeavyTails(t *testing.T) {
	random := stream.Rand(1, "heavy")
	const samples, draws = 500, 4000
	weight, value := slices.Repeat([]float64{1}, draws), make([]float64, draws)
	off, resolved, squares := 0, 0, 0.0
	for range samples {
		for i := range value { // Student's t with three degrees of freedom, of variance 3
			a, b, c := random.NormFloat64(), random.NormFloat64(), random.NormFloat64()
			value[i] = random.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
		}
		m := MomentsOf(weight, value, nil, nil)
		if math.IsNaN(m.SD) {
			continue
		}
		resolved++
		z := (m.SD - math.Sqrt(3)) / m.SDSE
		squares += z * z
		if math.Abs(z) > 4 {
			off++
		}
	}
	require.Greater(t, resolved, samples/2)
	require.LessOrEqual(t, off, resolved/100)
	require.InDelta(t, 1, math.Sqrt(squares/float64(resolved)), 0.2)
}

// TestMomentsOfGroups checks that the moments and standard errors do not change if each draw is
// replaced by a group of four copies with a quarter of its weight.
func TestMomentsOfGroups(t *testing.T) {
	random := stream.Rand(4, "groups")
	var weight, value, weights, values []float64
	var group []int
	for i := range 500 {
		weight, value = append(weight, random.Float64()), append(value, random.NormFloat64())
		for range 4 {
			weights, values, group = append(weights, weight[i]/4), append(values, value[i]), append(group, i)
		}
	}
	want, got := MomentsOf(weight, value, nil, nil), MomentsOf(weights, values, nil, group)
	require.InEpsilon(t, want.Mean, got.Mean, 1e-9)
	require.InEpsilon(t, want.SD, got.SD, 1e-9)
	require.InEpsilon(t, want.MeanSE, got.MeanSE, 0.002) // groups add a factor 500/499
	require.InEpsilon(t, want.SDSE, got.SDSE, 0.002)
	few := MomentsOf(weights[:4*9], values[:4*9], nil, group[:4*9])
	require.True(t, math.IsNaN(few.Mean), "36 draws, but of 9 groups")
}

// TestMomentsResolved checks which means and standard deviations are reported and which are NaN.
// They must be NaN for quantities without these moments, and for a log-normal quantity whose tail
// is too heavy for 4,000 draws. The moments of normal and log-normal quantities with light tails
// must be reported.
func TestMomentsResolved(t *testing.T) {
	const draws = 4000
	for name, want := range map[string]struct {
		draw     func(random *rand.Rand) float64
		mean, sd bool
	}{
		"normal":         {func(random *rand.Rand) float64 { return random.NormFloat64() }, true, true},
		"log-normal":     {func(random *rand.Rand) float64 { return math.Exp(random.NormFloat64() / 2) }, true, true},
		"constant":       {func(random *rand.Rand) float64 { return 5 }, true, true},
		"heavy":          {func(random *rand.Rand) float64 { return math.Exp(3 * random.NormFloat64()) }, false, false},
		"no variance":    {func(random *rand.Rand) float64 { return math.Pow(random.Float64(), -1/1.6) }, true, false},
		"no expectation": {func(random *rand.Rand) float64 { return random.NormFloat64() / random.NormFloat64() }, false, false},
	} {
		random := stream.Rand(2, "resolved/"+name)
		weight, value := make([]float64, draws), make([]float64, draws)
		for i := range weight {
			weight[i], value[i] = 1, want.draw(random)
		}
		m := MomentsOf(weight, value, nil, nil)
		require.Equal(t, want.mean, !math.IsNaN(m.Mean), name)
		require.Equal(t, want.sd, !math.IsNaN(m.SD), name)
		require.Equal(t, math.IsNaN(m.SD), math.IsNaN(m.SDSE), name)
	}
}

// Standard errors of moments of chains come from the differences between chains. Over 300 studies
// of 16 autocorrelated chains the errors of mean and sd, divided by their standard errors, have
// Student's t distribution with 15 degrees of freedom, whose sd is 1.07. The sd of 300 numbers has
// a standard error of 0.05. With a tolerance of four standard errors there is a false alarm in some
// thousand runs. With standard errors for independent draws, the sd would be three times larger.
func TestMomentsOfChainsHaveTheirErrors(t *testing.T) {
	const studies, chains, length, keep = 300, 16, 200, 0.8
	random := stream.Rand(3, "chains")
	var ofMean, ofSD float64
	for range studies {
		var value, weight []float64
		var chain []int
		for c := range chains {
			x := random.NormFloat64()
			for range length {
				x = keep*x + math.Sqrt(1-keep*keep)*random.NormFloat64()
				value, weight, chain = append(value, x), append(weight, 1), append(chain, c)
			}
		}
		m := MomentsOfChains(weight, value, chain, chains)
		ofMean += m.Mean * m.Mean / (m.MeanSE * m.MeanSE) / studies
		ofSD += (m.SD - 1) * (m.SD - 1) / (m.SDSE * m.SDSE) / studies
	}
	require.InDelta(t, 1.07, math.Sqrt(ofMean), 0.2)
	require.InDelta(t, 1.07, math.Sqrt(ofSD), 0.2)
}

// TestMomentsOfOneChain checks that the standard errors of a single chain are NaN, even if the
// chain does not have the number 0.
func TestMomentsOfOneChain(t *testing.T) {
	m := MomentsOfChains(slices.Repeat([]float64{1}, 12), slices.Repeat([]float64{1, 2, 4, 5}, 3), slices.Repeat([]int{2}, 12), 1)
	require.Equal(t, 3.0, m.Mean)
	require.True(t, math.IsNaN(m.MeanSE) && math.IsNaN(m.SDSE))
	require.False(t, math.IsNaN(m.SD))
}

// TestMomentsOfFewVisits checks that moments are NaN if only one draw, two draws or one of 16
// chains has the quantity: their differences are zero or tiny, and so would be the standard errors.
func TestMomentsOfFewVisits(t *testing.T) {
	for name, c := range map[string]struct {
		value []float64
		chain []int
	}{
		"one draw": {[]float64{3}, []int{5}}, "two draws": {[]float64{3, 4}, []int{5, 9}},
		"one chain": {slices.Repeat([]float64{3, 4}, 10), slices.Repeat([]int{5}, 20)},
	} {
		m := MomentsOfChains(slices.Repeat([]float64{1}, len(c.value)), c.value, c.chain, 16)
		require.True(t, math.IsNaN(m.Mean) && math.IsNaN(m.MeanSE) && math.IsNaN(m.SD) && math.IsNaN(m.SDSE), name)
	}
	var value []float64
	var chain []int
	for c := range 16 {
		value, chain = append(value, float64(c), float64(c)+0.5), append(chain, c, c)
	}
	m := MomentsOfChains(slices.Repeat([]float64{1}, 32), value, chain, 16)
	require.InDelta(t, 7.75, m.Mean, 1e-12)
	require.Positive(t, m.SDSE)
}

// If a quantity has an infinite variance, the standard error of its mean includes a part for the
// tail beyond the draws. Of 500 samples more than half must have a mean, and of these means at most
// one in 100 may be more than four standard errors off.
func TestMeansOfHeavyTails(t *testing.T) {
	random := stream.Rand(2, "heavy")
	const samples, draws, shape = 500, 4000, 0.6
	weight, value := slices.Repeat([]float64{1}, draws), make([]float64, draws)
	off, resolved := 0, 0
	for range samples {
		for i := range value { // a Pareto variable of mean 1 / (1 − shape)
			value[i] = math.Pow(1-random.Float64(), -shape)
		}
		m := MomentsOf(weight, value, nil, nil)
		if math.IsNaN(m.Mean) {
			continue
		}
		resolved++
		if math.Abs(m.Mean-1/(1-shape)) > 4*m.MeanSE {
			off++
		}
	}
	require.Greater(t, resolved, samples/2)
	require.LessOrEqual(t, off, resolved/100)
}
