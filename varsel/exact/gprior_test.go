package exact

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/varsel/design"
)

// At any coefficients and noise, likelihood times prior divided by posterior density is the
// evidence, including all constants. The test computes the prior from the scatter matrix of the
// columns, and the integral over g as a sum over a fine grid of log g.
func TestSlabDensitiesAreConsistent(t *testing.T) {
	random := stream.Rand(1, "slab")
	const rows, fixed, size = 14, 2, 3
	columns, y := make([][]float64, fixed+size), make([]float64, rows)
	for j := range columns {
		columns[j] = make([]float64, rows)
	}
	for i := range rows {
		columns[0][i] = 1
		for j := 1; j < len(columns); j++ {
			columns[j][i] = random.NormFloat64() + columns[1][i]/2
		}
		y[i] = columns[2][i] + 0.5*columns[4][i] + random.NormFloat64()
	}
	x0, x1 := mat.NewDense(rows, fixed, nil), mat.NewDense(rows, size, nil)
	for j, column := range columns {
		if j < fixed {
			x0.SetCol(j, column)
		} else {
			x1.SetCol(j-fixed, column)
		}
	}
	var inverse, hat, projected, scatter mat.Dense // scatter: X₁'(I − H₀)X₁
	inverse.Mul(x0.T(), x0)
	require.NoError(t, inverse.Inverse(&inverse))
	hat.Product(x0, &inverse, x0.T())
	projected.Mul(&hat, x1)
	projected.Sub(x1, &projected)
	scatter.Mul(x1.T(), &projected)
	for _, slab := range []Slab{{Kind: FixedG, G: 5}, {Kind: FixedG, Rows: true}, {Kind: ZellnerSiow}, {Kind: HyperG}, {Kind: HyperGN}} {
		m, err := NewGPrior(slab, columns, []bool{true, true, false, false, false}, y, 0, 0, 7)
		require.NoError(t, err)
		logG, logWeight := []float64{math.Log(slab.fixed(rows, 7))}, []float64{0}
		if slab.Kind != FixedG { // far finer and wider than the nodes of the posterior
			logG, logWeight = nil, nil
			for x := -80.0; x < 120; x += 0.02 {
				logG, logWeight = append(logG, x), append(logWeight, slab.logPrior(x, rows)+math.Log(0.02))
			}
			require.InDelta(t, 0, logsum.Of(logWeight), 1e-9, "the prior of g is one in all")
		}
		for range 4 {
			theta := make([]float64, len(columns))
			logSigma, logDensity := m.Draw(random, theta)
			require.InDelta(t, m.LogDensity(theta, logSigma), logDensity, 1e-12)
			residual := slices.Clone(y)
			for j, column := range columns {
				theta[j] += 0.3 * random.NormFloat64()
				floats.AddScaled(residual, -theta[j], column)
			}
			precision := math.Exp(-2 * logSigma)
			logLikelihood := -floats.Dot(residual, residual)*precision/2 - rows*(logSigma+halfLog2Pi)
			beta := mat.NewVecDense(size, theta[fixed:])
			quadratic := mat.Inner(beta, &scatter, beta)
			logDet, _ := mat.LogDet(&scatter)
			terms := make([]float64, len(logG))
			for i, lg := range logG {
				terms[i] = logWeight[i] - size*(lg/2+logSigma+halfLog2Pi) + logDet/2 - quadratic*precision/2*math.Exp(-lg)
			}
			require.InDelta(t, m.logEvidence, logLikelihood+logsum.Of(terms)-m.LogDensity(theta, logSigma), 1e-8, slab)
		}
	}
}

func TestSlabText(t *testing.T) {
	for _, text := range []string{"normal", "g:n", "g:p^2", "g:max(n,p^2)", "g:12.5", "zellner-siow", "hyper-g", "hyper-g/n"} {
		slab, err := ParseSlab(text)
		require.NoError(t, err)
		require.Equal(t, text, slab.String())
	}
	slab, err := ParseSlab("unit-information")
	require.NoError(t, err)
	require.Equal(t, "g:n", slab.String())
	for _, text := range []string{"", "g", "g:0", "g:-1", "g:Inf", "g:x", "cauchy"} {
		_, err := ParseSlab(text)
		require.ErrorContains(t, err, "want normal, g:n", text)
	}
	// errors for a model with a column for each row, and for linearly dependent columns
	_, err = NewGPrior(slab, [][]float64{{1, 1}, {0, 1}}, []bool{true, false}, []float64{1, 2}, 0, 0, 1)
	require.ErrorContains(t, err, "fewer columns than rows")
	_, err = NewGPrior(slab, [][]float64{{1, 1, 1}, {2, 2, 2}}, []bool{true, false}, []float64{1, 2, 4}, 0, 0, 1)
	require.ErrorContains(t, err, "linear combination")
}

// Draws have the moments of closed forms: the mean of a coefficient is its least-squares estimate
// times the mean of g/(1+g). The limit of 5 standard errors gives a false alarm in one of 1e6
// comparisons. The columns that are in every model need not be the first.
func TestSlabDraws(t *testing.T) {
	d, err := design.New(readTable(t, "hald.csv"), design.Options{Target: "y"})
	require.NoError(t, err)
	columns := [][]float64{mat.Col(nil, 1, d.X), mat.Col(nil, 0, d.X), mat.Col(nil, 2, d.X)}
	m, err := NewGPrior(Slab{Kind: HyperGN}, columns, []bool{false, true, false}, d.Y, 0, 0, 4)
	require.NoError(t, err)
	shrink := 0.0
	for i, x := range m.logG {
		shrink += math.Exp(m.logPosterior[i]) / (1 + math.Exp(-x))
	}
	// least squares on two standardised columns, from their correlations
	a, b := columns[0], columns[2]
	ab, ay, by := stat.Correlation(a, b, nil), stat.Correlation(a, d.Y, nil), stat.Correlation(b, d.Y, nil)
	const n = 20000
	draws, random, theta := [2][]float64{}, stream.Rand(2, "slab"), make([]float64, 3)
	for range n {
		m.Draw(random, theta)
		draws[0], draws[1] = append(draws[0], theta[0]), append(draws[1], theta[2])
	}
	for k, want := range []float64{(ay - ab*by) / (1 - ab*ab), (by - ab*ay) / (1 - ab*ab)} {
		mean, sd := stat.MeanStdDev(draws[k], nil)
		require.InDelta(t, shrink*want, mean, 5*sd/math.Sqrt(n))
	}
}
