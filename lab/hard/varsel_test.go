package hard

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/calibrate"
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

// TestVarselStudy checks that the numbers in trusted answers are right, for a few tables drawn from
// the prior.
func TestVarselStudy(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	source := calibrate.Varsel{Device: device, Exact: ExactVarsel, Record: quick(likelihood.GaussianKind), Rows: 20, Predictors: 2}
	cfg := calibrate.Config{Replicates: 4, Seed: 1, Dir: t.TempDir()}
	list, err := calibrate.Run(t.Context(), source, cfg)
	require.NoError(t, err)
	s := calibrate.Summarize(source, cfg, list)
	require.Empty(t, s.Wrong)
	require.Equal(t, 4, s.Compared, "%v", s.Verdicts)
}

// TestHardCategories checks that the trusted numbers of difficult tables of categories are right,
// for ordered and unordered categories.
func TestHardCategories(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	for _, kind := range []likelihood.Kind{likelihood.CategoricalKind, likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind} {
		source := Varsel{Device: device, Record: quick(kind), Only: &kind}
		source.Record.Precision = 0.02
		cfg := calibrate.Config{Replicates: 3, Seed: 3, Dir: t.TempDir()}
		list, err := calibrate.Run(t.Context(), source, cfg)
		require.NoError(t, err)
		s := calibrate.Summarize(source, cfg, list)
		require.Empty(t, s.Wrong, kind)
		require.Positive(t, s.Compared, "%v: %v", kind, s.Verdicts)
	}
}

// TestHardTables checks that the generator draws tables with few rows, columns that are nearly
// copies, factors, large scales, rare values and g-priors.
func TestHardTables(t *testing.T) {
	h := Varsel{Record: quick(likelihood.GaussianKind)}
	var few, wide, factors, large, constant, slabs int
	for seed := range uint64(300) {
		p := h.draw(stream.Rand(seed, "hard"))
		require.Equal(t, string(p.CSV), string(h.draw(stream.Rand(seed, "hard")).CSV))
		rows := -1
		for _, b := range p.CSV {
			if b == '\n' {
				rows++
			}
		}
		few += min(1, max(0, 4-rows))
		for _, count := range []struct {
			counter *int
			word    string
		}{{&wide, "copy"}, {&factors, "factor"}, {&large, "e+"}, {&constant, "rare"}, {&slabs, "slab g:"}} {
			if strings.Contains(p.About, count.word) {
				*count.counter++
			}
		}
	}
	for _, count := range []int{few, wide, factors, large, constant, slabs} {
		require.Greater(t, count, 10)
	}
}

// TestWideTables checks that the generator draws tables of more than 300 predictors, every shape of
// block and both kinds of prior.
func TestWideTables(t *testing.T) {
	w := Wide{}
	counts := map[string]int{}
	for seed := range uint64(40) {
		p := w.draw(stream.Rand(seed, "wide"))
		require.Equal(t, string(p.CSV), string(w.draw(stream.Rand(seed, "wide")).CSV))
		if strings.Count(string(p.CSV[:bytes.IndexByte(p.CSV, '\n')]), ",") > 300 {
			counts["many"]++
		}
		for _, word := range []string{"copies", "pair", "three", "random", "betabinomial", "bernoulli", "gaussian", "logistic", "poisson"} {
			if strings.Contains(p.About, word) {
				counts[word]++
			}
		}
	}
	require.Len(t, counts, 10)
	for word, count := range counts {
		require.Greater(t, count, 3, word)
	}
}

// TestWideStudy checks that the trusted numbers of tables of very many predictors are right.
func TestWideStudy(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	gaussian := likelihood.GaussianKind
	w := Wide{Device: device, Only: &gaussian}
	w.Record.Precision = 0.02
	cfg := calibrate.Config{Replicates: 4, Seed: 2, Dir: t.TempDir()}
	list, err := calibrate.Run(t.Context(), w, cfg)
	require.NoError(t, err)
	s := calibrate.Summarize(w, cfg, list)
	require.Empty(t, s.Wrong)
	require.Positive(t, s.Compared, "%v", s.Verdicts)
}

// TestModesAndTailsThatMoveMoments checks that trusted answers are right for four tables with modes
// or tails that are easily missed. In the tables of nine and 25 rows, rows contradict each other by
// a thousand times the noise, and a mode far away has a probability of a thousandth. If it is
// missed, standard deviations are 10 percent too small, and a mean is wrong by 4.7 standard errors.
// In the table of three rows, one row is far away, and importance weights have a k-hat of 0.56,
// which means infinite variance. Alone they miss a hundredth of the evidence, four times the stated
// standard error.
func TestModesAndTailsThatMoveMoments(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	for _, c := range []struct {
		seed   uint64
		number int
		about  string
	}{
		{301, 447, "student, 9 rows"},
		{301, 684, "student, 9 rows"},
		{1302, 660, "student, 25 rows"},
		{1302, 665, "student, 3 rows"},
	} {
		record := varsel.Record{}
		record.Precision = 0.02
		record.Design.Target = "y"
		source, cfg := Varsel{Device: device, Record: record}, calibrate.Config{Replicates: 1, Seed: c.seed, Dir: t.TempDir()}
		r, err := calibrate.One(t.Context(), source, cfg, c.number)
		require.NoError(t, err)
		require.Contains(t, r.About, c.about)
		require.Equal(t, "trusted", r.Verdict, r.Reasons)
		require.NotEmpty(t, r.Comparisons)
		require.Empty(t, calibrate.Summarize(source, cfg, []*calibrate.Replicate{r}).Wrong)
	}
}
