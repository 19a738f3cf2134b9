package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// Small studies of hierarchical regressions: all numbers of trusted answers are right, also those
// of heavy-tailed parameters in nasty tables of a few rows, and true parameters have ranks.
func TestHbmStudy(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	source := Hbm{Device: device, Rows: 24, Groups: 6}
	cfg := Config{Replicates: 3, Seed: 1, Dir: t.TempDir()}
	list, err := Run(t.Context(), source, cfg)
	require.NoError(t, err)
	s := Summarize(source, cfg, list)
	require.Positive(t, s.Compared, "%v", s.Verdicts)
	require.Len(t, s.Uniformity, 4, "group, sd of groups, sigma and slope")
	require.Empty(t, s.Wrong)
	for _, r := range list {
		require.Empty(t, r.Error)
	}

	ordered := source
	ordered.Record.Frame.Response = likelihood.CumulativeProbitKind
	cfg = Config{Replicates: 2, Seed: 1, Dir: t.TempDir()}
	list, err = Run(t.Context(), ordered, cfg)
	require.NoError(t, err)
	require.Len(t, Summarize(ordered, cfg, list).Uniformity, 6, "three cut points, group, sd of groups and slope")

	hard := Hbm{Device: device, Hard: true}
	cfg = Config{Replicates: 4, Seed: 24, Dir: t.TempDir()}
	list, err = Run(t.Context(), hard, cfg)
	require.NoError(t, err)
	s = Summarize(hard, cfg, list)
	require.Positive(t, s.Compared, "%v", s.Verdicts)
	require.Empty(t, s.Wrong)
}

// Without groups that differ, the exact posterior is that of a regression on x alone: with a prior
// scale of almost zero for their sd.
func TestExactHbmWithoutGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table := Hbm{Rows: 12, Groups: 3}.drawPrior(random)
	got, err := table.exact(regression.Options{SDScale: 1e-9})
	require.NoError(t, err)
	one := *table
	one.levels = table.levels[:1]
	one.group = make([]int, 12)
	want, err := one.exact(regression.Options{SDScale: 1e-9})
	require.NoError(t, err)
	require.InDelta(t, want.logEvidence, got.logEvidence, 1e-6)
	require.InDeltaSlice(t, want.slope[:], got.slope[:], 1e-6)
	require.InDelta(t, 1e-9*math.Sqrt(2/math.Pi), got.spread[0], 1e-12, "the mean of a half-normal prior")
}

// A normal response of known noise through the rule for responses with a link gives the closed form
// of that noise; and group effects of almost zero give the quadrature without them.
func TestExactLinked(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	random := rand.New(rand.NewPCG(3, 4))
	table := Hbm{Rows: 9, Groups: 2}.drawPrior(random)
	for i := range table.y {
		table.y[i] = float64(i / 2 % 2)
	}
	got, err := table.exactLinked(t.Context(), regression.Options{SDScale: 1e-6}, logisticRow)
	require.NoError(t, err)
	mean, sd := stat.MeanStdDev(table.x, nil)
	alone := &regressionProblem{x: mat.NewDense(9, 2, nil), y: table.y, priorMean: make([]float64, 2), priorSD: []float64{interceptSD, 1.5}}
	for i, x := range table.x {
		alone.x.SetRow(i, []float64{1, (x - mean) / sd})
	}
	want, err := alone.quadrature(logisticRow)([]int{0, 1})
	require.NoError(t, err)
	require.InDelta(t, want.logEvidence, got.logEvidence, 2e-3)
	require.InEpsilon(t, want.mean[1]/sd, got.slope[0], 5e-3)
	require.InEpsilon(t, math.Sqrt(want.variance[1])/sd, got.slope[1], 5e-3)

	for i := range table.y {
		table.y[i] = []float64{0, 1e6}[table.group[i]%2]
	}
	_, err = table.exactLinked(t.Context(), regression.Options{SDScale: 1e-3}, poissonRow)
	require.ErrorContains(t, err, "far beyond its prior")

	const noise = 0.7
	normal := func(y, eta float64) (value, slope, curvature float64) {
		r := (y - eta) / noise
		return -r*r/2 - halfLog2Pi - math.Log(noise), r / noise, 1 / (noise * noise)
	}
	covariance := mat.NewSymDense(3, nil) // of rows of one group, effects and noise
	const spread = 1.3
	for a := range 3 {
		for b := range a + 1 {
			covariance.SetSym(a, b, spread*spread)
		}
		covariance.SetSym(a, a, spread*spread+noise*noise)
	}
	y := []float64{0.3, -1, 2}
	joint, ok := distmv.NewNormal(make([]float64, 3), covariance, nil)
	require.True(t, ok)
	require.InDelta(t, joint.LogProb(y), logEffects(normal, y, make([]float64, 3), []int{0, 1, 2}, []float64{0, 0}, spread), 1e-9)
}

// The same seed gives the same nasty table, and every group has a row.
func TestHardHbmTables(t *testing.T) {
	for seed := range uint64(50) {
		a := Hbm{Hard: true}.drawHard(stream.Rand(seed, "hbm"))
		require.Equal(t, string(a.csv()), string(Hbm{Hard: true}.drawHard(stream.Rand(seed, "hbm")).csv()))
		seen := make(map[int]bool)
		for _, g := range a.group {
			seen[g] = true
		}
		require.Len(t, seen, len(a.levels))
	}
}

// Noise a hundred million times below the spread of groups leaves products of double precision no
// digit of it: a trusted log evidence was 0.07 too small, 14 of its errors.
func TestNoiseFarBelowGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	g := likelihood.GaussianKind
	source := Hbm{Device: device, Hard: true, Responses: []likelihood.Kind{g, g, g, likelihood.LogisticKind, likelihood.PoissonKind}}
	cfg := Config{Replicates: 1, Seed: 1303, Dir: t.TempDir()}
	r, err := One(t.Context(), source, cfg, 326)
	require.NoError(t, err)
	require.Contains(t, r.About, "20 rows, 15 groups")
	require.Equal(t, trusted, r.Verdict, r.Reasons)
	require.Empty(t, Summarize(source, cfg, []*Replicate{r}).Wrong)
}
