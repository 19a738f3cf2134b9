//go:build quality

package regression

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/likelihood"
)

// Flags of the test with the build tag quality. It measures, and logs rows of Markdown for
// docs/benchmarks/hierarchical.md; it compares nothing with expected values.
var (
	qualityLikelihood = flag.String("quality.likelihood", "poisson", "poisson or logistic")
	qualityFormula    = flag.String("quality.formula", "y ~ x + (1 | g)", "regression of y on x, with effects by g")
	qualitySteps      = flag.Int("quality.steps", 1500, "training steps")
	qualityPrecision  = flag.Float64("quality.precision", 0.006, "of the marginal family, as of vti hbm --precision")
	qualityTables     = flag.Uint64("quality.tables", 1, "seed of the tables")
	qualityKeep       = flag.String("quality.keep", "", "a folder for the tables, as CSV files")
	qualitySkip       = flag.Int("quality.skip", 0, "how many of the first tables to leave out")
	qualityModel      = flag.String("quality.model", "", "a folder with a trained family, which is kept there")
)

// tableKind is a kind of tables with a property, which tables simulated for training hardly have.
type tableKind struct {
	name   string
	tables int
	change func(random *rand.Rand, t *madeTable)
}

// madeTable is a table, column by column.
type madeTable struct {
	y, x  []float64
	group []int
	label []string // group of each row
}

// makeTable draws a table of groups of 2 to 14 rows, with random parameters and scale of x.
func makeTable(random *rand.Rand, kind likelihood.Kind, groups int) *madeTable {
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	row := likelihood.New(kind, likelihood.Shape{})
	varies := strings.Contains(*qualityFormula, "(x")
	intercept, slope := between(-0.5, 2.5), 0.5*random.NormFloat64()
	if kind == likelihood.LogisticKind {
		intercept, slope = random.NormFloat64(), 0.7*random.NormFloat64()
	}
	sd, sdSlope, rho := between(0.1, 1), between(0.05, 0.6), between(-0.8, 0.8)
	scale := math.Exp(random.NormFloat64())
	mean := scale * random.NormFloat64() / 2
	t := &madeTable{}
	for g := range groups {
		a, b := random.NormFloat64(), random.NormFloat64()
		u, v := sd*a, sdSlope*(rho*a+math.Sqrt(1-rho*rho)*b)
		t.label = append(t.label, fmt.Sprintf("g%d", g))
		for range 2 + random.IntN(13) {
			z := random.NormFloat64()
			t.x, t.group = append(t.x, mean+scale*z), append(t.group, g)
			if !varies {
				v = 0
			}
			t.y = append(t.y, row.Draw(intercept+u+(slope+v)*z, 1, random))
		}
	}
	return t
}

func (t *madeTable) csv() string {
	var text strings.Builder
	text.WriteString("y,x,g\n")
	for i, y := range t.y {
		fmt.Fprintf(&text, "%g,%.6g,%s\n", y, t.x[i], t.label[t.group[i]])
	}
	return text.String()
}

// kinds returns the kinds of tables for a response: tables like the tables of training, and tables
// unlike them.
func kinds(response likelihood.Kind) []tableKind {
	new := tableKind{"new", 10, func(*rand.Rand, *madeTable) {}}
	if response == likelihood.PoissonKind {
		return []tableKind{new, {"a few counts 20 to 60 times too large", 5, func(random *rand.Rand, t *madeTable) {
			for range 1 + random.IntN(6) {
				i := random.IntN(len(t.y))
				t.y[i] = math.Round((t.y[i] + 1) * (20 + 40*random.Float64()))
			}
		}}, {"all counts of two groups so much too large", 2, func(random *rand.Rand, t *madeTable) {
			for i, g := range t.group {
				if g < 2 {
					t.y[i] = math.Round((t.y[i] + 1) * (20 + 40*random.Float64()))
				}
			}
		}}}
	}
	return []tableKind{new,
		{"separated by x", 2, func(_ *rand.Rand, t *madeTable) {
			middle := t.x[0]
			for i, x := range t.x {
				t.y[i] = 0
				if x > middle {
					t.y[i] = 1
				}
			}
		}},
		{"separated by g", 2, func(_ *rand.Rand, t *madeTable) {
			for i, g := range t.group {
				t.y[i] = float64(g % 2)
			}
		}},
		{"alternating within g", 2, func(_ *rand.Rand, t *madeTable) {
			for i := range t.y {
				t.y[i] = float64(i % 2)
			}
		}},
	}
}

// TestQualityOfInference trains the variational family pavi-e for the structure of one table, and
// infers from unseen tables. For comparison it logs the answers of the marginal family (effects
// integrated out), whose log evidences have errors of 0.01 nats:
//
//	go test -tags quality -run TestQualityOfInference -v -timeout 60m ./hbm/regression \
//	    -quality.likelihood logistic
func TestQualityOfInference(t *testing.T) {
	kind, err := frame.ParseResponseKind(*qualityLikelihood)
	require.NoError(t, err)
	opt := frame.Options{Formula: *qualityFormula, Response: kind}
	write := func(name string, table *madeTable) string {
		if *qualityKeep != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*qualityKeep, name+".csv"), []byte(table.csv()), 0o644))
		}
		return table.csv()
	}
	random := rand.New(rand.NewPCG(*qualityTables, 2))
	trained := newRegression(t, frameOf(t, write("train", makeTable(random, kind, 75)), opt), Options{})
	dir := *qualityModel
	if dir == "" {
		dir = t.TempDir()
	}
	start := processorSeconds(t)
	if _, err := os.Stat(filepath.Join(dir, "posterior.vti")); err != nil {
		_, err = trained.RunFamily(context.Background(), open(t, gpu.CPU), FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 16, Steps: *qualitySteps, Seed: 1}, Dir: dir})
		require.NoError(t, err)
	}
	t.Logf("trained in %.0f processor seconds", processorSeconds(t)-start)
	t.Log("| table | groups | rows | verdict | effective draws | k̂ | ELBO, below | log evidence less that of marginal | largest error of a mean, sd | of an sd, % | processor seconds | of marginal |")
	number := 0
	for _, variant := range kinds(kind) {
		for k := range variant.tables {
			table := makeTable(random, kind, 10+random.IntN(141))
			variant.change(random, table)
			if number++; number <= *qualitySkip {
				continue
			}
			f := frameOf(t, write(fmt.Sprintf("%s %d", variant.name, k), table), opt)
			start := processorSeconds(t)
			got, err := newRegression(t, f, Options{}).Infer(t.Context(), open(t, gpu.CPU), InferRun{Model: dir, Shape: trained.Shape(), Seed: 1})
			require.NoError(t, err)
			took := processorSeconds(t) - start
			start = processorSeconds(t)
			want, err := newRegression(t, f, Options{}).Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 2}, Precision: *qualityPrecision})
			require.NoError(t, err)
			shift, spread := 0.0, 0.0
			compare := func(mean, sd, meanGot, sdGot Figure) {
				shift = max(shift, math.Abs(float64(meanGot-mean))/float64(sd))
				spread = max(spread, math.Abs(float64(sdGot/sd)-1))
			}
			for i, s := range want.Effects {
				compare(s.Mean, s.SD, got.Effects[i].Mean, got.Effects[i].SD)
			}
			for i, s := range want.SDs {
				compare(s.Mean, s.SD, got.SDs[i].Mean, got.SDs[i].SD)
			}
			c := got.Certificate
			t.Logf("| %s %d | %d | %d | %v | %.0f of %d | %.2f | %.1f | %+.3f ± %.3f (marginal ± %.3f, %v) | %.3f | %.1f | %.1f | %.1f | %v",
				variant.name, k, len(table.label), len(table.y), c.Verdict, c.ESS, c.Draws, c.KHat, float64(*got.LogEvidence-*got.ELBO),
				float64(*got.LogEvidence-*want.LogEvidence), *got.LogEvidenceSE, *want.LogEvidenceSE, want.Certificate.Verdict,
				shift, 100*spread, took, processorSeconds(t)-start, c.Reasons)
		}
	}
}
