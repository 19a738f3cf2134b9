package varsel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/exact"
)

// slabProblem returns a Gaussian problem with a prior of coefficients and a uniform prior over
// models.
func slabProblem(t *testing.T, data *table.Table, target string, slab exact.Slab) *Problem {
	t.Helper()
	design, err := NewDesign(data, DesignOptions{Target: target})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Slab: slab, Prior: Prior{Kind: UniformPrior}})
	require.NoError(t, err)
	return problem
}

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

// The priors of coefficients (slabs) that the command line offers reproduce the published figures
// of the table uscrime under hyper-g and hyper-g/n with a = 3, and of the table ozone under g = n.
// The slab of Zellner and Siow is compared with the formula of Liang et al. (2008) applied to the
// R² of every model, which shares no code with the slabs.
func TestSlabsFindPublishedFigures(t *testing.T) {
	data, err := table.ReadFile("../testdata/ozone.csv")
	require.NoError(t, err)
	figures := published(t, "../testdata/ozone_inclusion.csv")
	requireInclusion(t, figures["g=n"], slabInclusion(t, slabProblem(t, data, "O3", exact.Slab{Kind: exact.FixedG, Rows: true})), 1e-9)
	f := fitAll(t, data, "O3")
	n := float64(f.rows)
	siow := f.inclusion(f.mixture(func(int) float64 { return 0 }, func(g float64, _ int) float64 {
		return 0.5*math.Log(n/2/math.Pi) - 1.5*math.Log(g) - n/2/g
	}))
	require.InDeltaSlice(t, siow, slabInclusion(t, slabProblem(t, data, "O3", exact.Slab{Kind: exact.ZellnerSiow})), 1e-6)
	// bas.lm(O3 ~ ., prior = "JZS", modelprior = uniform(), method = "deterministic") of BAS 2.0.2
	require.InDeltaSlice(t, []float64{0.109893, 0.0758884, 0.999958, 0.999999, 0.252609, 0.0741779, 0.869138, 0.423591, 0.940725}, siow, 1e-6)
	wide := f.inclusion(f.zellner(20 * 20))
	require.InDeltaSlice(t, wide, slabInclusion(t, slabProblem(t, data, "O3", exact.Slab{Kind: exact.FixedG, G: 400, Rows: true, Columns: true})), 1e-9)
	// g may be below 1
	require.InDeltaSlice(t, f.inclusion(f.zellner(0.25)), slabInclusion(t, slabProblem(t, data, "O3", exact.Slab{Kind: exact.FixedG, G: 0.25})), 1e-9)
	testkit.Slow(t)
	figures = published(t, "../testdata/uscrime_inclusion.csv")
	for name, kind := range map[string]exact.SlabKind{"liang_g1": exact.HyperG, "liang_g_n_quad": exact.HyperGN} {
		requireInclusion(t, figures[name], slabInclusion(t, slabProblem(t, loggedCrime(t), "y", exact.Slab{Kind: kind})), 1e-6)
	}
}

// If the evidence under a g-prior fails, the answer is an error: draws of the flow have weights
// under the normal slab, which is another prior.
func TestSlabsAreNotCertifiedByTheNormalSlab(t *testing.T) {
	data, err := table.Parse("sum.csv", []byte("y,a,b,c\n1,0.1,1,1.1\n2.2,0.7,1.4,2.1\n2.9,2,0,2\n3,1,-1,0\n5.5,3.5,2,5.5\n4,-1,0.3,-0.7\n"))
	require.NoError(t, err)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	_, err = Run(t.Context(), device, slabProblem(t, data, "y", exact.Slab{Kind: exact.FixedG, Rows: true}), RunConfig{Fit: vti.Config{Seed: 1}, Dir: t.TempDir()})
	require.ErrorContains(t, err, "linear combination")
	_, err = RunExact(t.Context(), slabProblem(t, data, "y", exact.Slab{Kind: exact.FixedG, Rows: true}), nil, "")
	require.ErrorContains(t, err, "linear combination")
}
