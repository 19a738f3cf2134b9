//go:build quality

package varsel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// Designs that training does not draw. The function value draws the number in row i of column j,
// given the numbers of the row in earlier columns.
var strangeDesigns = []struct {
	name  string
	value func(i, j int, before []float64, random *rand.Rand) float64
}{
	{"cauchy", func(_, _ int, _ []float64, r *rand.Rand) float64 { return r.NormFloat64() / r.NormFloat64() }},
	{"cubes", func(_, _ int, _ []float64, r *rand.Rand) float64 { return math.Pow(r.NormFloat64(), 3) }},
	{"binary, one in five", func(_, _ int, _ []float64, r *rand.Rand) float64 { return float64(r.IntN(5) / 4) }},
	{"correlation 0.95", func(_, j int, b []float64, r *rand.Rand) float64 { return related(0.95, j, b, r) }},
	{"correlation 0.999", func(_, j int, b []float64, r *rand.Rand) float64 { return related(0.999, j, b, r) }},
	{"factor of five levels", func(i, j int, _ []float64, _ *rand.Rand) float64 { return indicator(i%5 == j) }},
	{"counts", func(_, _ int, _ []float64, r *rand.Rand) float64 { return math.Floor(-2 * math.Log(1-r.Float64())) }},
	{"powers of time", func(i, j int, _ []float64, _ *rand.Rand) float64 { return math.Pow(float64(i+1), float64(j+1)) }},
	{"one row far off", func(i, _ int, _ []float64, r *rand.Rand) float64 { return r.NormFloat64() + 20*indicator(i == 0) }},
	{"steps", func(i, j int, _ []float64, _ *rand.Rand) float64 { return indicator(i > 2*j+1) }},
}

func indicator(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func related(correlation float64, j int, before []float64, random *rand.Rand) float64 {
	if j == 0 {
		return random.NormFloat64()
	}
	return correlation*before[j-1] + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
}

// TestQualityOfNetworkOnStrangeDesigns runs a network for the robust likelihood on tables of 13
// rows and four predictors, with designs that its training does not draw. It compares the network's
// answer, and the certified answer, with the sum over the sets of outliers. No trusted answer may
// be off by more than five of its standard errors plus 0.005.
//
//	go test -tags quality -v -run StrangeDesigns ./varsel -args -quality.network robust.vti
//	go test -tags quality -v -run StrangeDesigns/steps ./varsel -args -quality.network robust.vti
func TestQualityOfNetworkOnStrangeDesigns(t *testing.T) {
	if *networkFile == "" {
		t.Skip("needs -args -quality.network FILE")
	}
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	f, _, err := ReadFamily(*networkFile)
	require.NoError(t, err)
	if f.cfg.Model.Likelihood != likelihood.RobustKind {
		t.Skip("needs a robust network")
	}
	for _, kind := range strangeDesigns {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range uint64(2) {
				p := strangeTable(t, f, kind.name, kind.value, seed)
				want := exactRobust(p)
				beginning, err := p.BeginFrom(device, *networkFile)
				require.NoError(t, err)
				q := byPredictors(beginning.LogModels)
				result, err := Run(t.Context(), device, p, RunConfig{From: *networkFile, FromOnly: true, Precision: 0.005, Fit: vti.Config{Seed: seed}})
				require.NoError(t, err)
				exact, said := memberships(want), memberships(q)
				raw, certified := 0.0, 0.0
				for j, one := range result.Inclusion {
					raw = math.Max(raw, math.Abs(said[j]-exact[j]))
					off := math.Abs(float64(one.Certified) - exact[j])
					certified = math.Max(certified, off)
					if result.Certificate.Verdict == vti.Trusted {
						require.LessOrEqual(t, off, 5*float64(one.SE)+0.005, "seed %d: trusted and wrong", seed)
					}
				}
				t.Logf("KL %.4f, inclusion off by %.4f raw and %.4f certified: %v (%s)", divergence(want, q), raw, certified, result.Certificate.Verdict, result.Certificate.Basis)
			}
		})
	}
}

// strangeTable draws a table whose design has numbers from the function value, and whose response
// comes from the priors of a family.
func strangeTable(t *testing.T, f *Family, name string, value func(i, j int, before []float64, random *rand.Rand) float64, seed uint64) *Problem {
	t.Helper()
	const n, predictors = 13, 4
	random := stream.Rand(seed, name)
	for range mostTries {
		x := mat.NewDense(n, predictors+1, nil)
		for i := range n {
			row := x.RawRowView(i)
			row[0] = 1
			for j := range predictors {
				row[1+j] = value(i, j, row[1:1+j], random)
			}
		}
		for j := range predictors {
			column := mat.Col(nil, 1+j, x)
			mean, sd := stat.MeanStdDev(column, nil)
			for i, v := range column {
				x.Set(i, 1+j, (v-mean)/sd)
			}
		}
		if p, _ := f.drawResponse(x, random); p != nil {
			return p
		}
	}
	t.Fatal("no table was accepted")
	return nil
}
