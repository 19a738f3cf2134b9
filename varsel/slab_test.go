package varsel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

// slabProblem is a Gaussian problem with a slab and a uniform prior over models.
func slabProblem(t *testing.T, data *table.Table, target string, slab Slab) *Problem {
	t.Helper()
	design, err := NewDesign(data, DesignOptions{Target: target})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Slab: slab, Prior: Prior{Kind: UniformPrior}})
	require.NoError(t, err)
	return problem
}

// slabInclusion sums the evidences of all models.
func slabInclusion(t *testing.T, problem *Problem) []float64 {
	t.Helper()
	var codes [][]int32
	for _, code := range space.All(problem.Target.Space().Cards()) {
		codes = append(codes, slices.Clone(code))
	}
	logs, err := problem.forms().LogEvidences(t.Context(), codes)
	require.NoError(t, err)
	total := logsum.Of(logs)
	inclusion := make([]float64, len(problem.Design.Predictors))
	for i, code := range codes {
		for _, s := range bitMembers(code) {
			inclusion[s] += math.Exp(logs[i] - total)
		}
	}
	return inclusion
}

// The published figures of uscrime under hyper-g and hyper-g/n with a = 3, and those of ozone
// under g = n, come out of the command line's slabs; Zellner and Siow's is compared with the
// formula of Liang et al. (2008) on the R² of every model, which shares no code with the slabs.
func TestSlabsFindPublishedFigures(t *testing.T) {
	data, err := table.ReadFile("../testdata/ozone.csv")
	require.NoError(t, err)
	figures := published(t, "../testdata/ozone_inclusion.csv")
	requireInclusion(t, figures["g=n"], slabInclusion(t, slabProblem(t, data, "O3", Slab{Kind: FixedG, Rows: true})), 1e-9)
	f := fitAll(t, data, "O3")
	n := float64(f.rows)
	siow := f.inclusion(f.mixture(func(int) float64 { return 0 }, func(g float64, _ int) float64 {
		return 0.5*math.Log(n/2/math.Pi) - 1.5*math.Log(g) - n/2/g
	}))
	require.InDeltaSlice(t, siow, slabInclusion(t, slabProblem(t, data, "O3", Slab{Kind: ZellnerSiow})), 1e-6)
	// bas.lm(O3 ~ ., prior = "JZS", modelprior = uniform(), method = "deterministic") of BAS 2.0.2
	require.InDeltaSlice(t, []float64{0.109893, 0.0758884, 0.999958, 0.999999, 0.252609, 0.0741779, 0.869138, 0.423591, 0.940725}, siow, 1e-6)
	wide := f.inclusion(f.zellner(20 * 20))
	require.InDeltaSlice(t, wide, slabInclusion(t, slabProblem(t, data, "O3", Slab{Kind: FixedG, G: 400, Rows: true, Columns: true})), 1e-9)
	// a g below 1 is the one that was asked for
	require.InDeltaSlice(t, f.inclusion(f.zellner(0.25)), slabInclusion(t, slabProblem(t, data, "O3", Slab{Kind: FixedG, G: 0.25})), 1e-9)
	if testing.Short() {
		t.Skip("32768 models take seconds")
	}
	figures = published(t, "../testdata/uscrime_inclusion.csv")
	for name, kind := range map[string]SlabKind{"liang_g1": HyperG, "liang_g_n_quad": HyperGN} {
		requireInclusion(t, figures[name], slabInclusion(t, slabProblem(t, loggedCrime(t), "y", Slab{Kind: kind})), 1e-6)
	}
}

// Likelihood times prior over posterior density is the evidence, at any coefficients and noise,
// with every constant. The prior is a density over the scatter matrix of the columns here, and the
// integral over g an adaptive one over log g.
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
		m, err := newSlabModel(slab, columns, fixed, y, 0, 0, 7)
		require.NoError(t, err)
		logG, logWeight := slab.nodes(rows, 7, size)
		if slab.Kind != FixedG {
			require.InDelta(t, 0, logsum.Of(logWeight), 1e-9, "the prior of g is one in all")
		}
		for range 4 {
			theta := make([]float64, len(columns))
			logSigma := m.draw(random, theta)
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
			require.InDelta(t, m.logEvidence, logLikelihood+logsum.Of(terms)-m.logDensity(theta, logSigma), 1e-8, slab)
		}
	}
}

// Draws have the moments of closed forms: the mean of a coefficient is its least-squares estimate
// times the mean of g/(1+g). Within 5 standard errors, 1e-6 a comparison.
func TestSlabDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	data, err := table.ReadFile("../testdata/hald.csv")
	require.NoError(t, err)
	target := slabProblem(t, data, "y", Slab{Kind: HyperGN}).forms().(slabForms)
	const n = 20000
	theta, logDensity, err := target.SampleParameters([]int32{1, 1, 0, 0}, n, stream.Rand(2, "slab"))
	require.NoError(t, err)
	m, _, err := target.model([]int32{1, 1, 0, 0})
	require.NoError(t, err)
	shrink := 0.0
	for i, x := range m.logG {
		shrink += math.Exp(m.logPosterior[i]) / (1 + math.Exp(-x))
	}
	// least squares on standardised columns, by their correlations
	column := func(name string) []float64 {
		c, err := data.Lookup(name)
		require.NoError(t, err)
		return c.Values
	}
	a, b, y := column("x1"), column("x2"), column("y")
	ab, ay, by := stat.Correlation(a, b, nil), stat.Correlation(a, y, nil), stat.Correlation(b, y, nil)
	for j, want := range map[int]float64{1: (ay - ab*by) / (1 - ab*ab), 2: (by - ab*ay) / (1 - ab*ab)} {
		mean, sd := stat.MeanStdDev(mat.Col(nil, j, theta), nil)
		require.InDelta(t, shrink*want, mean, 5*sd/math.Sqrt(n))
	}
	require.Zero(t, theta.At(0, 3))
	require.InDelta(t, m.logDensity([]float64{theta.At(7, 0), theta.At(7, 1), theta.At(7, 2)}, theta.At(7, target.bits().scale)), logDensity[7], 1e-9)
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
	require.ErrorContains(t, ModelOptions{Slab: slab, Sigma: 1}.Validate(), "unknown sigma")
	// a model of as many columns as rows, and columns that depend on each other
	_, err = newSlabModel(slab, [][]float64{{1, 1}, {0, 1}}, 1, []float64{1, 2}, 0, 0, 1)
	require.ErrorContains(t, err, "fewer columns than rows")
	_, err = newSlabModel(slab, [][]float64{{1, 1, 1}, {2, 2, 2}}, 1, []float64{1, 2, 4}, 0, 0, 1)
	require.ErrorContains(t, err, "linear combination")
}

// Where evidences fail the answer is an error: weights would be those of the normal slab.
func TestSlabsAreNotCertifiedByTheNormalSlab(t *testing.T) {
	data, err := table.Parse("sum.csv", []byte("y,a,b,c\n1,0.1,1,1.1\n2.2,0.7,1.4,2.1\n2.9,2,0,2\n3,1,-1,0\n5.5,3.5,2,5.5\n4,-1,0.3,-0.7\n"))
	require.NoError(t, err)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	_, err = Run(t.Context(), device, slabProblem(t, data, "y", Slab{Kind: FixedG, Rows: true}), RunConfig{Fit: vti.Config{Seed: 1}, Dir: t.TempDir()})
	require.ErrorContains(t, err, "linear combination")
	_, err = RunExact(t.Context(), slabProblem(t, data, "y", Slab{Kind: FixedG, Rows: true}), nil, "")
	require.ErrorContains(t, err, "linear combination")
}
