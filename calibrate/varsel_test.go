package calibrate

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel"
)

func quick(kind likelihood.Kind) varsel.Record {
	r := varsel.Record{Steps: 20, Batch: 64, Draws: 4096}
	r.Design.Target, r.Design.Likelihood, r.Model.Likelihood = "y", kind, kind
	return r
}

// The test makes a small study of problems drawn from the prior, whose answers are compared with
// the truth. The same seed must give the same study.
func TestVarselStudy(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	source := Varsel{Device: device, Record: quick(likelihood.GaussianKind), Rows: 20, Predictors: 2}
	cfg := Config{Replicates: 4, Seed: 1, Dir: t.TempDir()}
	list, err := Run(t.Context(), source, cfg)
	require.NoError(t, err)
	s := Summarize(source, cfg, list)
	require.Equal(t, 4, s.Verdicts[trusted], "%v", s.Verdicts)
	require.Len(t, s.Reliability, 2)
	require.Equal(t, 8, s.Reliability[0].Count, "two predictors of each table")
	require.NotEmpty(t, s.Uniformity)
	require.NoError(t, s.WriteFigure(cfg.Dir))
	require.FileExists(t, filepath.Join(cfg.Dir, figureName+".svg"))
	require.FileExists(t, filepath.Join(cfg.Dir, figureName+".png"))

	cfg.Dir = t.TempDir()
	cfg.Replicates = 1
	again, err := Run(t.Context(), source, cfg)
	require.NoError(t, err)
	require.Equal(t, list[0].Ranks, again[0].Ranks)
}

// A study with unordered categories draws responses from the priors, and ranks the true
// coefficients of log odds among their posterior draws. Ordered categories give an error.
func TestCategoricalStudy(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	source := Varsel{Device: device, Record: quick(likelihood.CategoricalKind), Rows: 20, Predictors: 2}
	cfg := Config{Replicates: 3, Seed: 2, Dir: t.TempDir()}
	list, err := Run(t.Context(), source, cfg)
	require.NoError(t, err)
	s := Summarize(source, cfg, list)
	require.Equal(t, 3, s.Verdicts[trusted], "%v", s.Verdicts)
	require.NotEmpty(t, s.Uniformity)
	source.Record = quick(likelihood.CumulativeLogitKind)
	_, _, err = source.draw(stream.Rand(1, "ordered"))
	require.ErrorContains(t, err, "ordered categories are not drawn yet")
}

// A trusted, wrong answer is listed with all its wrong numbers, the largest error first.
func TestWrongAnswersAreListed(t *testing.T) {
	r := &Replicate{Number: 3, About: "a table", Verdict: trusted, Command: "vti varsel t.csv",
		Comparisons: []Comparison{{Inclusion, "x1", 0.3, 0.001, 0.5}, {Inclusion, "x2", 0.9, 0.001, 0.2}, {Evidence, "", -10, 0.1, -10.01}}}
	s := Summarize(&counted{name: "a"}, Config{}, []*Replicate{r, {Verdict: refused}})
	require.Len(t, s.Wrong, 1)
	require.Equal(t, []string{"inclusion x2: 0.9000 ± 0.0010, exactly 0.2000", "inclusion x1: 0.3000 ± 0.0010, exactly 0.5000"}, s.Wrong[0].What)
	require.Equal(t, map[string]int{trusted: 1, refused: 1}, s.Verdicts)
}

// Summarize returns scores over all answers and for each kind of answer. Reasons that differ only
// in numbers are counted as one.
func TestScoresByKind(t *testing.T) {
	replicate := func(kind string, stated float64) *Replicate {
		return &Replicate{Kind: kind, Verdict: trusted, Comparisons: []Comparison{{Mean, "x", Number(stated), 0.5, 0}}}
	}
	doubtful := func(reasons string) *Replicate { return &Replicate{Kind: "a", Verdict: "doubtful", Reasons: reasons} }
	s := Summarize(&counted{name: "a"}, Config{}, []*Replicate{replicate("a", 1), replicate("a", -1), replicate("b", 2), doubtful("R-hat is 1.02; k̂ is 0.9"), doubtful("R-hat is 3")})
	require.Len(t, s.Scores, 3)
	for i, want := range []Score{{Count: 3, Error: 2}, {Kind: "a", Count: 2, Error: 1}, {Kind: "b", Count: 1, Error: 2}} {
		got := s.Scores[i]
		require.Equal(t, []any{want.Kind, want.Count, want.Error}, []any{got.Kind, got.Count, got.Error})
	}
	require.InDelta(t, 2*math.Sqrt2, float64(s.Scores[1].SD), 1e-12)
	require.Equal(t, map[string]int{"R-hat is #": 2, "k̂ is #": 1}, s.Reasons)
}

// If the standard error of a probability is at least as large as its distance from 0 or 1, it is a
// bound: it counts in Bounds and Held, and not in the standard deviation of z.
func TestBoundsAreScoredApart(t *testing.T) {
	r := &Replicate{Kind: "a", Verdict: trusted, Comparisons: []Comparison{
		{Inclusion, "x1", 0, 1e-3, 1e-9}, {Inclusion, "x2", 1, 1e-4, 0.99999}, {Inclusion, "x3", 1e-4, 1e-4, 5e-4}, {Inclusion, "x4", 0.5, 0.1, 0.4}, {Inclusion, "x5", 0.5, 0.1, 0.6},
	}}
	s := Summarize(&counted{name: "a"}, Config{}, []*Replicate{r})
	require.Len(t, s.Scores, 1)
	got := s.Scores[0]
	require.Equal(t, []any{"a", 5, 3, 2}, []any{got.Kind, got.Count, got.Bounds, got.Held})
	require.InDelta(t, math.Sqrt2, float64(got.SD), 1e-9)
}

// Models are drawn with their prior probabilities: the frequencies in 4,000 draws are within 5
// standard errors of them.
func TestDrawModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	prior := varsel.Prior{Kind: varsel.BernoulliPrior, Pi: 0.3}
	const n = 4000
	counts := make(map[[3]bool]int)
	for range n {
		counts[[3]bool(prior.Draw(3, random))]++
	}
	for a := range 8 {
		in := [3]bool{a&1 == 1, a&2 == 2, a&4 == 4}
		p := 1.0
		for _, one := range in {
			if one {
				p *= 0.3
			} else {
				p *= 0.7
			}
		}
		require.InDelta(t, p, float64(counts[in])/n, 5*math.Sqrt(p*(1-p)/n))
	}
}

// A trusted answer by a sum over all models is returned even if the approximation q is trained
// afterwards. For this table a second sum with other random numbers is less precise than requested,
// and importance sampling with q is still doubtful after 3,150 training steps.
func TestTrainingKeepsTheSum(t *testing.T) {
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	record := varsel.Record{}
	record.Design.Target, record.Design.Likelihood, record.Model.Likelihood = "y", likelihood.PoissonKind, likelihood.PoissonKind
	r, err := One(t.Context(), Varsel{Device: device, Record: record, Rows: 60, Predictors: 4}, Config{Replicates: 1, Seed: 31, Dir: t.TempDir()}, 112)
	require.NoError(t, err)
	require.Equal(t, trusted, r.Verdict, r.Reasons)
}

// If a trained network is not meant for tables of this size, the verdict is "refused", so that a
// study draws another table instead of ending with an error.
func TestTablesThatNetworksAreNotForAreRefused(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	family, err := varsel.NewFamily(varsel.FamilyConfig{Predictors: varsel.Range{Low: 2, High: 2}, Rows: varsel.Range{Low: 10, High: 12}})
	require.NoError(t, err)
	record := quick(likelihood.GaussianKind)
	record.From = filepath.Join(t.TempDir(), "network")
	_, err = amortize.Fit(t.Context(), device, family, amortize.Config{Steps: 1, Batch: 2, Checkpoint: record.From})
	require.NoError(t, err)
	source := Varsel{Device: device, Record: record, Rows: 20, Predictors: 2}
	p, _, err := source.draw(stream.Rand(1, "table"))
	require.NoError(t, err)
	r, err := AnswerVarsel(t.Context(), device, p, 1, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, refused, r.Verdict)
	require.Contains(t, r.Error, "for 10 to 12 rows")
}
