package mixture

import (
	gocontext "context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

// several returns the problem of two columns x and y.
func several(t *testing.T, options Options, x, y []float64) *Problem {
	t.Helper()
	options.Columns = []string{"x", "y"}
	data, err := table.New("memory", table.Numbers("x", x), table.Numbers("y", y))
	require.NoError(t, err)
	p, err := NewProblem(data, options)
	require.NoError(t, err)
	return p
}

// The updates of every family keep the joint distribution of parameters and data (Geweke 2004).
// Parameters are drawn from the prior, data are drawn given the parameters, and one update draws
// new parameters given the data. The new parameters should then have the distribution of the prior.
// The test compares the means of functions of the parameters before and after the update, to 4.5
// standard errors. There are 13 comparisons, so that one seed in 11,000 fails by chance.
func TestUpdatesKeepThePosterior(t *testing.T) {
	const draws, n = 20_000, 6
	values := []float64{-1, 0, 0.5, 1, 2, 3}
	for name, p := range map[string]*Problem{
		"normal":       problemOf(t, Options{}, values),
		"student":      problemOf(t, Options{Family: Student}, values),
		"poisson":      problemOf(t, Options{Family: Poisson, RateExposure: 0.5}, []float64{0, 1, 2, 5, 3, 1}),
		"multivariate": several(t, Options{}, values, []float64{1, 0, 4, 2, 2.5, -3}),
	} {
		random := stream.Rand(7, name)
		numbers := func(c component, beta []float64) []float64 {
			list := []float64{math.Tanh(c.mean)}
			if c.vector != nil {
				list = append(list, math.Tanh(c.vector.mean[1]), math.Atan(math.Log(c.variance)), math.Atan(c.vector.log), vectors{}.correlation(0, 1, c))
			} else if c.variance > 0 {
				list = append(list, math.Atan(math.Log(c.variance)))
			}
			if len(beta) > 0 {
				list = append(list, math.Tanh(beta[0]/10))
			}
			return list
		}
		var sum, square []float64
		rows := []int{0, 1, 2, 3, 4, 5}
		row := make([]float64, len(p.columns))
		for range draws {
			beta := p.family.startHyper()
			for j := range beta {
				beta[j] = stream.Gamma(p.Options.ScaleShape, random)/p.Options.ScaleRate + 1e-6
			}
			c := p.family.draw(beta, random)
			before := numbers(c, beta)
			for i := range n {
				p.family.simulate(c, row, random)
				switch f := p.family.(type) {
				case normals:
					f.y[i] = row[0]
				case students:
					f.y[i] = row[0]
				case counts:
					f.y[i] = row[0]
				case vectors:
					copy(f.rows[i], row)
				}
			}
			beta = p.family.updateHyper([]component{c}, random)
			c = p.family.update(c, rows, beta, random)
			after := numbers(c, beta)
			if sum == nil {
				sum, square = make([]float64, len(after)), make([]float64, len(after))
			}
			for k := range after {
				d := after[k] - before[k]
				sum[k] += d / draws
				square[k] += d * d / draws
			}
		}
		for k := range sum {
			require.Less(t, math.Abs(sum[k]), 4.5*math.Sqrt(square[k]/draws), "%s, number %d", name, k)
		}
	}
}

// Densities of several columns, and marginal densities of a single column, agree with a
// multivariate normal distribution.
func TestVectorDensity(t *testing.T) {
	p := several(t, Options{}, []float64{0, 1, 2, 4, 5}, []float64{3, 1, 0, 2, 8})
	f := p.family.(vectors)
	lower := mat.NewTriDense(2, mat.Lower, []float64{0.3, 0, -0.2, 0.5})
	c := componentOf([]float64{0.1, -0.2}, lower)
	var covariance mat.SymDense
	covariance.SymOuterK(1, lower)
	want, ok := distmv.NewNormal([]float64{0.1, -0.2}, &covariance, nil)
	require.True(t, ok)
	density := make([]float64, 5)
	c.weight = 0.4
	f.fill(density, c)
	for i := range density {
		require.InDelta(t, want.LogProb(f.rows[i]), f.logDensity(i, c), 1e-10)
		require.InDelta(t, 0.4*math.Exp(want.LogProb(f.rows[i])), density[i], 1e-12)
	}
	require.InDelta(t, covariance.At(0, 1)/math.Sqrt(covariance.At(0, 0)*covariance.At(1, 1)), f.correlation(0, 1, c), 1e-12)
	_, sd := f.summary(1, c)
	require.InDelta(t, math.Sqrt(covariance.At(1, 1)), sd, 1e-12)
}

// Two clusters in two columns with equal means in the first column are found and separated. The
// relabelled draws agree on the rows of each component, although the order of means in the first
// column has no information.
func TestSeveralColumnsAreRelabelled(t *testing.T) {
	random := stream.Rand(2, "clusters")
	x, y := make([]float64, 40), make([]float64, 40)
	for i := range x {
		x[i], y[i] = random.NormFloat64(), 20*float64(i%2)+random.NormFloat64()
	}
	p := several(t, Options{MaxComponents: 3}, x, y)
	r, err := Run(gocontext.Background(), p, RunConfig{Dir: t.TempDir(), Sample: SampleConfig{Sweeps: 3000, Error: 0.02}})
	require.NoError(t, err)
	require.Equal(t, 2, r.Given.Components)
	require.NotEqual(t, vti.Failed, r.Certificate.Verdict, r.Certificate.Reasons)
	for i, row := range r.Rows {
		require.Equal(t, r.Rows[i%2].Component, row.Component)
		require.Greater(t, float64(row.Probability[row.Component-1]), 0.95)
	}
	low, high := r.Given.List[r.Rows[0].Component-1], r.Given.List[r.Rows[1].Component-1]
	require.InDelta(t, 0, float64(low.Columns[1].Mean.Median), 1)
	require.InDelta(t, 20, float64(high.Columns[1].Mean.Median), 1)
}

// assign finds the assignment that has the least cost of all permutations.
func TestAssign(t *testing.T) {
	random := stream.Rand(5, "costs")
	for range 50 {
		cost := make([][]float64, 4)
		for j := range cost {
			cost[j] = []float64{random.Float64(), random.Float64(), random.Float64(), random.Float64()}
		}
		least := math.Inf(1)
		var try func(row int, used [4]bool, sum float64)
		try = func(row int, used [4]bool, sum float64) {
			if row == 4 {
				least = math.Min(least, sum)
				return
			}
			for c := range 4 {
				if !used[c] {
					next := used
					next[c] = true
					try(row+1, next, sum+cost[row][c])
				}
			}
		}
		try(0, [4]bool{}, 0)
		total := 0.0
		for row, c := range assign(cost) {
			total += cost[row][c]
		}
		require.InDelta(t, least, total, 1e-12)
	}
}
