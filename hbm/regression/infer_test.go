package regression

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// heights returns a table of groups of rows, whose mean heights differ by group.
func heights(seed uint64, groups, rows int) string {
	random := rand.New(rand.NewPCG(seed, 10))
	text := "y,x,g\n"
	for g := range groups {
		height := random.NormFloat64()
		for range rows {
			text += fmt.Sprintf("%g,%g,g%d\n", 5+height+random.NormFloat64(), random.NormFloat64(), g)
		}
	}
	return text
}

// A family trained over tables simulated from the priors agrees, on an unseen table of another
// size, with the regression fitted to this table: means to half a standard deviation after a short
// training, and log evidences to five standard errors.
func TestInferFromAnotherTable(t *testing.T) {
	testkit.Slow(t)
	opt := frame.Options{Formula: "y ~ 1 + (1 | g)"}
	trained := newRegression(t, frameOf(t, heights(1, 6, 4), opt), Options{})
	cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 16, Steps: 900}, Dir: t.TempDir()}
	result, err := trained.RunFamily(context.Background(), open(t, gpu.CPU), cfg)
	require.NoError(t, err)
	require.Len(t, result.Varying, 6, "its own table")

	f := frameOf(t, heights(2, 8, 5), opt)
	marginal, _ := runRegression(t, f, Options{}, vti.Config{Steps: 60, Batch: 256, Flow: cosmic.Config{Layers: 2}, Seed: 2})
	other := newRegression(t, f, Options{})
	infer := InferRun{Model: cfg.Dir, Shape: trained.Shape(), Dir: t.TempDir()}
	got, err := other.Infer(t.Context(), open(t, gpu.CPU), infer)
	require.NoError(t, err)
	require.Equal(t, "hbm infer", got.Command)
	require.Equal(t, 900, got.Steps)
	assert.InDelta(t, float64(*marginal.LogEvidence), float64(*got.LogEvidence), 5*float64(*got.LogEvidenceSE)+0.05)
	assert.InDelta(t, float64(*got.LogEvidence), float64(*got.ELBO), 4)
	assertClose := func(name string, want, got, sd Figure) {
		assert.InDelta(t, float64(want), float64(got), 0.5*float64(sd), name)
	}
	assertClose("intercept", marginal.Effects[0].Mean, got.Effects[0].Mean, marginal.Effects[0].SD)
	for i, want := range marginal.SDs {
		assertClose(want.Name, want.Mean, got.SDs[i].Mean, want.SD)
	}
	for i, want := range marginal.Varying {
		assertClose(want.Level, want.Mean, got.Varying[i].Mean, want.SD)
	}
	for _, name := range []string{"result.json", "varying.csv", "draws.parquet"} {
		require.FileExists(t, filepath.Join(infer.Dir, name))
	}

	wider := newRegression(t, frameOf(t, heights(3, 6, 4), frame.Options{Formula: "y ~ x + (1 | g)"}), Options{})
	_, err = wider.Infer(t.Context(), open(t, gpu.CPU), infer)
	require.ErrorContains(t, err, `data.csv: a table of another shape: population effects were ["(Intercept)"] in training, and here are ["(Intercept)" "x"]`)
	require.NoError(t, os.Truncate(filepath.Join(cfg.Dir, "posterior.vti"), 100))
	_, err = other.Infer(t.Context(), open(t, gpu.CPU), infer)
	require.ErrorContains(t, err, "posterior.vti")
}

// A family trained for nested groupings refuses a table whose groupings are not nested.
func TestShapeOfGroupings(t *testing.T) {
	opt := frame.Options{Formula: "y ~ x + (1 | school) + (1 | class)"}
	shape := newRegression(t, frameOf(t, schools, opt), Options{}).Shape()
	require.Equal(t, &Shape{Columns: []string{"(Intercept)", "x"}, Groups: []GroupingShape{
		{Name: "school", Columns: []string{"(Intercept)"}}, {Name: "class", Columns: []string{"(Intercept)"}, In: []string{"school"}},
	}}, shape)
	crossed := newRegression(t, frameOf(t, "y,x,school,class\n1,2,a,1\n2,1,b,1\n3,5,a,2\n5,2,b,2\n", opt), Options{})
	require.ErrorContains(t, crossed.CheckInfer(shape), "in training each group of class lay in one of school, and here they are crossed")
}

// Simulated tables have twice the groups of a table, and their responses are standardised.
func TestSimulatedTables(t *testing.T) {
	r := newRegression(t, frameOf(t, schools, frame.Options{Formula: "y ~ x + (1 + x | school) + (1 | class)"}), Options{})
	large, err := New(r.Frame.Enlarged(), r.Options)
	require.NoError(t, err)
	p, err := large.amortized(large.nesting())
	require.NoError(t, err)
	require.Equal(t, 6, p.groups[0].plate.Size())
	require.Equal(t, 48, p.rows.Size())
	simulate, err := p.simulator(open(t, gpu.Reference), nil)
	require.NoError(t, err)
	const sets = 5
	values, err := simulate(t.Context(), sets, nil, 3, "tables", nil)
	require.NoError(t, err)
	for s := range sets {
		var y []float64
		for row := range 48 {
			y = append(y, values[p.y][row*sets+s])
		}
		mean, sd := frame.CentreAndSpread(y, true)
		assert.InDelta(t, 0, mean, 1e-9)
		assert.InDelta(t, 1, sd, 1e-9)
	}
	again, err := simulate(t.Context(), sets, nil, 3, "tables", nil)
	require.NoError(t, err)
	require.Equal(t, values, again)
}

// The test infers from an unseen table with a family that was trained for 30 steps. The answer is
// trusted and right, because it comes from integrals and not from the family. A table with a gross
// outlier is unlike all simulated tables, and is not trusted.
func TestInferFromHardlyTrained(t *testing.T) {
	testkit.Long(t)
	opt := frame.Options{Formula: "y ~ x + (x | g)"}
	trained := newRegression(t, frameOf(t, heights(1, 6, 4), opt), Options{})
	cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 8, Steps: 30}, Dir: t.TempDir()}
	_, err := trained.RunFamily(t.Context(), open(t, gpu.CPU), cfg)
	require.NoError(t, err)
	infer := InferRun{Model: cfg.Dir, Shape: trained.Shape()}

	content := heights(5, 9, 5)
	f := frameOf(t, content, opt)
	want, _ := runRegression(t, f, Options{}, vti.Config{Seed: 2})
	got, err := newRegression(t, f, Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, got.Certificate.Verdict, got.Certificate.Reasons)
	require.InDelta(t, float64(*want.LogEvidence), float64(*got.LogEvidence), 5*math.Hypot(float64(*want.LogEvidenceSE), float64(*got.LogEvidenceSE)))
	require.Less(t, float64(*got.LogEvidenceSE), 0.01)
	for i, sd := range want.SDs {
		require.InDelta(t, 1, float64(got.SDs[i].SD/sd.SD), 0.1, sd.Name)
	}

	outlier, err := newRegression(t, frameOf(t, content+"90,0,g1\n", opt), Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
	require.NoError(t, err)
	require.NotEqual(t, vti.Trusted, outlier.Certificate.Verdict)
	require.Contains(t, outlier.Certificate.Reasons[len(outlier.Certificate.Reasons)-1], "unlike those that were simulated")
}

// Answers for counts and for responses of 0 and 1 do not use the family, because effects are
// integrated out by quadrature. Log evidences agree with a run on the table itself, within four of
// their standard errors, which fails by chance once in 16,000. With a thousand effective draws or
// more on both sides, means have errors of 0.04 standard deviations, and standard deviations of 3
// percent. A count that is a hundred times too large, and labels that x separates, are not trusted.
func TestInferFromHardlyTrainedWeighed(t *testing.T) {
	testkit.Long(t)
	for _, kind := range []likelihood.Kind{likelihood.PoissonKind, likelihood.LogisticKind} {
		t.Run(kind.String(), func(t *testing.T) {
			opt := frame.Options{Formula: "y ~ x + (1 | g)", Response: kind}
			trained := newRegression(t, frameOf(t, responses(kind, 1, 6, 4), opt), Options{})
			cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 8, Steps: 30}, Dir: t.TempDir()}
			_, err := trained.RunFamily(t.Context(), open(t, gpu.CPU), cfg)
			require.NoError(t, err)
			infer := InferRun{Model: cfg.Dir, Shape: trained.Shape()}

			content := responses(kind, 2, 12, 6)
			f := frameOf(t, content, opt)
			want, _ := runRegression(t, f, Options{}, vti.Config{Seed: 2})
			got, err := newRegression(t, f, Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, got.Certificate.Verdict, got.Certificate.Reasons)
			require.InDelta(t, float64(*want.LogEvidence), float64(*got.LogEvidence), 4*math.Hypot(float64(*want.LogEvidenceSE), float64(*got.LogEvidenceSE)))
			require.Less(t, float64(*got.LogEvidenceSE), 0.03)
			wants, gots := slices.Concat(want.Effects, want.SDs), slices.Concat(got.Effects, got.SDs)
			for i, w := range wants {
				require.InDelta(t, float64(w.Mean), float64(gots[i].Mean), 0.16*float64(w.SD), w.Name)
				require.InDelta(t, 1, float64(gots[i].SD/w.SD), 0.13, w.Name)
			}

			other := content + "900,0,g1\n"
			if kind == likelihood.LogisticKind {
				other = separated(content)
			}
			unlike, err := newRegression(t, frameOf(t, other, opt), Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
			require.NoError(t, err)
			require.NotEqual(t, vti.Trusted, unlike.Certificate.Verdict)
		})
	}
}

// separated returns a table with other responses: 1 where x is positive, and 0 elsewhere.
func separated(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines[1:] {
		if _, rest, ok := strings.Cut(line, ","); ok {
			response := "1"
			if strings.HasPrefix(rest, "-") {
				response = "0"
			}
			lines[i+1] = response + "," + rest
		}
	}
	return strings.Join(lines, "\n")
}

// responses returns a table of groups of rows whose linear predictors differ by group and by x.
func responses(kind likelihood.Kind, seed uint64, groups, rows int) string {
	random, row := rand.New(rand.NewPCG(seed, 11)), likelihood.New(kind, likelihood.Shape{})
	text := "y,x,g\n"
	for g := range groups {
		effect := 0.5 + 0.7*random.NormFloat64()
		for range rows {
			x := random.NormFloat64()
			text += fmt.Sprintf("%g,%g,g%d\n", row.Draw(effect+0.4*x, 1, random), x, g)
		}
	}
	return text
}

// Effects of one grouping cannot be integrated out if responses have a Student distribution. The
// evidence of each model then comes from weighted draws of a family that was trained on simulated
// tables. On unseen tables of other sizes the probabilities agree with a flow for each table, to
// five standard errors, which fails by chance once in two million. At least two of three answers
// are trusted.
func TestInferSelection(t *testing.T) {
	testkit.Long(t)
	opt := frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.StudentKind}
	trained := newRegression(t, frameOf(t, responses(likelihood.GaussianKind, 1, 10, 6), opt), Options{Select: true})
	require.True(t, trained.Trains())
	cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 16, Steps: 1500}, Dir: t.TempDir()}
	result, err := trained.RunFamily(t.Context(), open(t, gpu.CPU), cfg)
	require.NoError(t, err)
	require.Len(t, result.Models, 4)
	infer := InferRun{Model: cfg.Dir, Shape: trained.Shape(), Fit: cfg.Fit.WithDefaults(), Dir: t.TempDir()}
	trusted := 0
	for seed := range uint64(3) {
		f := frameOf(t, responses(likelihood.GaussianKind, 2+seed, 7+2*int(seed), 5), opt)
		want, _ := runRegression(t, f, Options{Select: true}, vti.Config{Seed: 2})
		got, err := newRegression(t, f, Options{Select: true}).Infer(t.Context(), open(t, gpu.CPU), infer)
		require.NoError(t, err)
		t.Log(seed, *want.Certificate, *got.Certificate)
		if got.Certificate.Verdict != vti.Trusted {
			continue
		}
		trusted++
		for i, term := range want.Terms {
			require.InDelta(t, float64(term.Prob), float64(got.Terms[i].Prob), 5*math.Hypot(float64(term.SE), float64(got.Terms[i].SE))+1e-3, term.State)
		}
		require.InDelta(t, float64(*want.LogEvidence), float64(*got.LogEvidence), 5*math.Hypot(float64(*want.LogEvidenceSE), float64(*got.LogEvidenceSE)))
	}
	require.GreaterOrEqual(t, trusted, 2)
}

// A family answers for Student responses by one grouping. A table in which the response is a square
// of x is unlike the simulated tables, whatever its weights say.
func TestInferFromUnlikeTables(t *testing.T) {
	testkit.Slow(t)
	opt := frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.StudentKind}
	trained := newRegression(t, frameOf(t, responses(likelihood.GaussianKind, 1, 10, 6), opt), Options{})
	require.True(t, trained.Trains())
	cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 16, Steps: 300}, Dir: t.TempDir()}
	_, err := trained.RunFamily(t.Context(), open(t, gpu.CPU), cfg)
	require.NoError(t, err)
	random, text := rand.New(rand.NewPCG(7, 12)), "y,x,g\n"
	for row := range 120 {
		x := random.NormFloat64()
		text += fmt.Sprintf("%g,%g,g%d\n", x*x+0.1*random.NormFloat64(), x, row%8)
	}
	got, err := newRegression(t, frameOf(t, text, opt), Options{}).Infer(t.Context(), open(t, gpu.CPU), InferRun{Model: cfg.Dir, Shape: trained.Shape()})
	require.NoError(t, err)
	require.NotEqual(t, vti.Trusted, got.Certificate.Verdict)
	require.Contains(t, strings.Join(got.Certificate.Reasons, "\n"), "unlike those that were simulated for training")
}
