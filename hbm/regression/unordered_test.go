package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// naive is an answer from draws of the prior, each weighted by its likelihood. It has only Monte
// Carlo errors.
type naive struct {
	logEvidence, logEvidenceSE float64
	mean, meanSE               []float64 // of population effects, on the scale of answers
}

// naiveSums are sums over draws with weights w: of w, w² and, for each population effect x, of w x,
// w² x and w² x².
type naiveSums struct {
	w, ww      float64
	wx, x, xx2 []float64
}

func (s *naiveSums) add(at int, w, x float64) {
	s.wx[at] += w * x
	s.x[at] += w * w * x
	s.xx2[at] += w * w * x * x
}

// naiveUnordered draws from the prior in its symmetric form. Each of the K categories has its own
// score; coefficients and effects are independent between categories and have half of the variance
// of log odds. A part that all categories have in common makes no difference. Standard deviations
// are half-normal(1); two varying columns have an LKJ(2) correlation, and more columns none.
func naiveUnordered(r *Regression, draws int) naive {
	const chunks = 16
	parts := make([]naiveSums, chunks)
	_ = parallel.Do(chunks, func(c int) error {
		size := r.coefficients()
		parts[c] = naiveSums{wx: make([]float64, size), x: make([]float64, size), xx2: make([]float64, size)}
		random := stream.Rand(uint64(c), "naive")
		for range draws / chunks {
			r.naiveDraw(&parts[c], random)
		}
		return nil
	})
	total := parts[0]
	for _, p := range parts[1:] {
		total.w, total.ww = total.w+p.w, total.ww+p.ww
		floats.Add(total.wx, p.wx)
		floats.Add(total.x, p.x)
		floats.Add(total.xx2, p.xx2)
	}
	n := float64(draws)
	answer := naive{logEvidence: math.Log(total.w / n), logEvidenceSE: math.Sqrt(total.ww/(total.w*total.w) - 1/n)}
	for at := range total.wx {
		mean := total.wx[at] / total.w
		answer.mean = append(answer.mean, mean)
		answer.meanSE = append(answer.meanSE, math.Sqrt(total.xx2[at]-2*mean*total.x[at]+mean*mean*total.ww)/total.w)
	}
	return answer
}

// naiveDraw adds one draw to sums.
func (r *Regression) naiveDraw(sums *naiveSums, random *rand.Rand) {
	categories, columns := len(r.Frame.Labels), len(r.Frame.Columns)
	half := func(sd float64) float64 { return sd * random.NormFloat64() / math.Sqrt2 }
	beta := make([]float64, columns*categories)
	for j := range columns {
		for k := range categories {
			beta[j*categories+k] = half(r.coordinates[j].sd)
		}
	}
	scores := make([]float64, len(r.y)*categories)
	for i := range r.y {
		for k := range categories {
			for j := range columns {
				scores[i*categories+k] += r.x.At(i, j) * beta[j*categories+k]
			}
		}
	}
	for _, g := range r.groups {
		q := len(g.Columns)
		sd := make([]float64, q)
		for a := range sd {
			sd[a] = math.Abs(random.NormFloat64())
		}
		three := []float64{random.Float64(), random.Float64(), random.Float64()}
		slices.Sort(three)
		rho := 2*three[1] - 1 // Beta(2, 2) on (−1, 1)
		effects := make([]float64, len(g.Levels)*categories*q)
		for at := 0; at < len(effects); at += q {
			for a := range q {
				effects[at+a] = half(1)
			}
			if q == 2 {
				effects[at+1] = rho*effects[at] + math.Sqrt(1-rho*rho)*effects[at+1]
			}
			for a := range q {
				effects[at+a] *= sd[a]
			}
		}
		for i, level := range g.Index {
			for k := range categories {
				for a := range q {
					scores[i*categories+k] += g.z.At(i, a) * effects[(level*categories+k)*q+a]
				}
			}
		}
	}
	w := 0.0
	for i, y := range r.y {
		rowScores := scores[i*categories:][:categories]
		w += rowScores[int(y)] - floats.LogSumExp(rowScores)
	}
	w = math.Exp(w)
	sums.w, sums.ww = sums.w+w, sums.ww+w*w
	for k := 1; k < categories; k++ {
		intercept := 0.0 // intercept of the table, where all columns are zero
		for j := columns - 1; j >= 0; j-- {
			odds := (beta[j*categories+k] - beta[j*categories]) / r.xSD[j]
			if r.Frame.Columns[j].Name == formula.InterceptName { // the first column
				odds += intercept
			}
			intercept -= odds * r.xMean[j]
			sums.add((k-1)*columns+j, w, odds)
		}
	}
}

// unorderedTable returns a table of categories a, b, … with groups g and h.
func unorderedTable(y string, perGroup int) string {
	text := "y,x,g,h\n"
	for i, v := range y {
		text += fmt.Sprintf("%c,%.3f,g%d,h%d\n", v, math.Sin(float64(3*i))+float64(i%2), i/perGroup, i%3)
	}
	return text
}

func unorderedRegression(t *testing.T, text, source string, labels string) *Regression {
	f := frameOf(t, text, frame.Options{Formula: source, Response: likelihood.CategoricalKind, Levels: strings.Split(labels, "")})
	return newRegression(t, f, Options{InterceptScale: 1.5})
}

func runUnordered(t *testing.T, r *Regression) *Result { return runSeed(t, r, 0) }

func runSeed(t *testing.T, r *Regression, seed uint64) *Result {
	result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: seed}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	return result
}

// Evidences and means agree with draws from the prior: for one grouping and two, effects of columns
// that vary, 2 to 5 categories, a category never seen, one row a group, and categories that a
// column separates. One of 60 comparisons within four standard errors fails once in 260 tests.
func TestUnorderedGroups(t *testing.T) {
	for name, c := range map[string]struct {
		y, labels, formula string
		perGroup           int
	}{
		"one grouping":     {"abcabbcacbca", "abc", "y ~ x + (1 | g)", 3},
		"groups differ":    {"aabbbcccaabb", "abc", "y ~ x + (1 | g)", 3},
		"crossed":          {"abcabbcacbca", "abc", "y ~ x + (1 | g) + (1 | h)", 4},
		"column varies":    {"abcabbcacbca", "abc", "y ~ x + (x | g)", 4},
		"two":              {"abbabbaaabba", "ab", "y ~ x + (x | g)", 4},
		"four columns":     {"abbabbaaabba", "ab", "y ~ 1 + (x + I(x^2) + I(x^3) || g)", 4},
		"four":             {"abcdabbdacbd", "abcd", "y ~ 1 + (1 | g)", 3},
		"five":             {"abcdeabbdacb", "abcde", "y ~ 1 + (1 | g)", 4},
		"never seen":       {"abaabbababba", "abc", "y ~ x + (1 | g)", 3},
		"one row a group":  {"abcabbca", "abc", "y ~ 1 + (1 | g)", 1},
		"separated":        {"acacacacbc", "abc", "y ~ x + (1 | g)", 5},
		"few rows of four": {"abcdcdbaabdd", "abcd", "y ~ x + (1 | g) + (1 | h)", 6},
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains([]string{"two", "four columns", "one row a group"}, name) {
				testkit.Long(t)
			}
			t.Parallel()
			r := unorderedRegression(t, unorderedTable(c.y, c.perGroup), c.formula, c.labels)
			result := runUnordered(t, r)
			want := naiveUnordered(r, 1<<17)
			require.Less(t, want.logEvidenceSE, 0.05)
			require.InDelta(t, want.logEvidence, float64(*result.LogEvidence), 4*math.Hypot(want.logEvidenceSE, float64(*result.LogEvidenceSE)))
			for at, e := range result.Effects {
				require.InDelta(t, want.mean[at], float64(e.Mean), 4*math.Hypot(want.meanSE[at], float64(e.MeanSE)), e.Name)
			}
		})
	}
}

// A response of two categories has the answers of logistic regression.
func TestTwoCategoriesAreLogistic(t *testing.T) {
	testkit.Slow(t)
	text := unorderedTable("abbabbaaabbaabab", 4)
	multinomial := runUnordered(t, unorderedRegression(t, text, "y ~ x + (1 | g) + (1 | h)", "ab"))
	f := frameOf(t, text, frame.Options{Formula: "y ~ x + (1 | g) + (1 | h)", Response: likelihood.LogisticKind})
	logistic := runUnordered(t, newRegression(t, f, Options{InterceptScale: 1.5}))
	require.InDelta(t, float64(*logistic.LogEvidence), float64(*multinomial.LogEvidence), 4*math.Hypot(float64(*multinomial.LogEvidenceSE), float64(*logistic.LogEvidenceSE)))
	require.Equal(t, []string{"b:(Intercept)", "b:x"}, []string{multinomial.Effects[0].Name, multinomial.Effects[1].Name})
	same := func(a, b Summary) {
		require.InDelta(t, float64(a.Mean), float64(b.Mean), 4*math.Hypot(float64(a.MeanSE), float64(b.MeanSE)), a.Name)
		require.InDelta(t, float64(a.SD), float64(b.SD), 4*math.Hypot(float64(a.SDSE), float64(b.SDSE)), a.Name)
	}
	for k := range multinomial.Effects {
		same(logistic.Effects[k], multinomial.Effects[k])
	}
	for k := range multinomial.SDs {
		same(logistic.SDs[k], multinomial.SDs[k])
	}
	for k, level := range multinomial.Varying {
		other := logistic.Varying[k]
		require.Equal(t, "b:"+other.Term, level.Term)
		same(Summary{other.Level, other.Mean, other.MeanSE, other.SD, other.SDSE, 0, 0}, Summary{level.Level, level.Mean, level.MeanSE, level.SD, level.SDSE, 0, 0})
		require.InDelta(t, float64(other.Pooling), float64(level.Pooling), 0.05)
	}
}

// The order of the categories changes neither evidence nor selection. Log odds against another
// category are differences of the log odds against the first.
func TestCategoriesHaveNoOrder(t *testing.T) {
	testkit.Long(t)
	text := unorderedTable("acacbcacabbcacabcacb", 4)
	options := func(labels string) *Regression {
		f := frameOf(t, text, frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.CategoricalKind, Levels: strings.Split(labels, "")})
		return newRegression(t, f, Options{InterceptScale: 1.5, Select: true})
	}
	// with four of ten other seeds, draws do not determine the tail of one effect
	first, other := runSeed(t, options("abc"), 1), runSeed(t, options("cab"), 1)
	require.InDelta(t, float64(*first.LogEvidence), float64(*other.LogEvidence), 4*math.Hypot(float64(*first.LogEvidenceSE), float64(*other.LogEvidenceSE)))
	require.Equal(t, len(first.Terms), len(other.Terms))
	for k, term := range first.Terms {
		require.InDelta(t, float64(term.Prob), float64(other.Terms[k].Prob), 4*math.Hypot(float64(term.SE), float64(other.Terms[k].SE))+1e-3, term.Term+" "+term.State)
	}
	effects := func(r *Result) map[string]Summary {
		named := map[string]Summary{}
		for _, e := range r.Effects {
			named[e.Name] = e
		}
		return named
	}
	a, c := effects(first), effects(other)
	for _, column := range []string{"(Intercept)", "x"} {
		one, two := a["c:"+column], c["a:"+column]
		require.InDelta(t, float64(one.Mean), -float64(two.Mean), 4*math.Hypot(float64(one.MeanSE), float64(two.MeanSE)))
		b := c["b:"+column]
		require.InDelta(t, float64(a["b:"+column].Mean), float64(b.Mean-two.Mean), 4*(float64(b.MeanSE+two.MeanSE)+float64(a["b:"+column].MeanSE)))
	}
	sum := 0.0
	for _, m := range first.Models { // compared with a run of each model
		require.NotNil(t, m.LogEvidence)
		sum += float64(m.Certified)
		if m.Formula == "y ~ 1 + x + (1 | g)" {
			f := frameOf(t, text, frame.Options{Formula: m.Formula, Response: likelihood.CategoricalKind})
			alone := runUnordered(t, newRegression(t, f, Options{InterceptScale: 1.5}))
			require.InDelta(t, float64(*alone.LogEvidence), float64(*m.LogEvidence), 4*math.Hypot(float64(*alone.LogEvidenceSE), float64(*m.LogEvidenceSE)))
		}
	}
	require.InDelta(t, 1, sum, 1e-9)
}

// Predictions of known and new groups are probabilities of the categories. Impossible formulas and
// tables are errors.
func TestUnorderedFormulas(t *testing.T) {
	testkit.Long(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "data.csv")
	text := strings.NewReplacer("\na,", "\nred,", "\nb,", "\nblue,", "\nc,", "\ngreen,").Replace(unorderedTable("ababbccabcac", 3))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	record := &Record{Header: run.Header{Command: "hbm", Data: path}, Seed: 1,
		Frame: frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.CategoricalKind}}
	r, err := record.Regression(t.Context())
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(dir, record))
	result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 1}, Dir: dir})
	require.NoError(t, err)
	require.Equal(t, []string{"blue", "green", "red"}, result.Categories)
	require.Equal(t, modelcheck.Good, result.ModelCheck.Verdict, "%v", result.ModelCheck)
	require.Equal(t, "share of blue", result.Checks[0].Statistic)
	require.InDelta(t, 4.0/12, float64(result.Checks[0].Observed), 1e-15)
	stored, err := OpenRun(dir)
	require.NoError(t, err)
	fresh, err := table.Parse("new", []byte("x,y,g\n0.5,red,g1\n0.5,blue,g9\n"))
	require.NoError(t, err)
	rows, err := stored.Rows(fresh)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 0}, rows.Y)
	predicted, err := predict.Summarise(t.Context(), rows, predict.Config{})
	require.NoError(t, err)
	for _, p := range predicted.Predictions {
		require.InDelta(t, 1, float64(p.Probabilities[0]+p.Probabilities[1]+p.Probabilities[2]), 1e-12)
	}
	// The effects of a new group are drawn anew, with the variance of the groups.
	sample, err := draws.Read(filepath.Join(dir, draws.ParquetFile))
	require.NoError(t, err)
	sd := slices.Index(sample.Coordinates, "sd((Intercept) | g)")
	eta, sum, squares := make([]float64, 2*rows.Draws()), 0.0, 0.0
	rows.Predictor(1, eta)
	population := slices.Clone(eta)
	everyone, err := stored.Population(fresh)
	require.NoError(t, err)
	everyone.Predictor(1, population)
	for s := range rows.Draws() {
		between := eta[2*s+1] - population[2*s+1] - eta[2*s] + population[2*s] // red against green
		between /= sample.Values(s)[sd]
		sum, squares = sum+between, squares+between*between
	}
	n := float64(rows.Draws())
	require.InDelta(t, 0, sum/n, 4/math.Sqrt(n))
	require.InDelta(t, 1, squares/n, 4*math.Sqrt(2/n))

	options := record.Frame
	for want, change := range map[string]func(o *frame.Options){
		"an offset belongs to none of them": func(o *frame.Options) { o.Formula = "y ~ offset(x) + (1 | g)" },
		"want one of the levels":            func(o *frame.Options) { o.Levels = []string{"red", "blue"} },
		"want it as it is":                  func(o *frame.Options) { o.Formula = "log(x) ~ (1 | g)" },
	} {
		changed := options
		change(&changed)
		data, err := table.ReadFile(path)
		require.NoError(t, err)
		_, err = frame.New(data, changed)
		require.ErrorContains(t, err, want)
	}
	for source, want := range map[string]string{
		"y ~ x":                    "needs effects that vary by a group",
		"y ~ x + (x + I(x^2) | g)": "3 categories have 2 log odds, and 3 columns by g makes 6 effects of each group; with the categorical likelihood at most 4 can vary",
	} {
		options.Formula = source
		data, err := table.ReadFile(path)
		require.NoError(t, err)
		f, err := frame.New(data, options)
		require.NoError(t, err)
		_, err = New(f, Options{})
		require.ErrorContains(t, err, want)
	}
	options.Formula = "y ~ x + (1 | g)"
	f := frameOf(t, text, options)
	_, err = New(f, Options{Intercept: &NormalPrior{Mean: 1, SD: 2}})
	require.ErrorContains(t, err, "got mean 1, want 0, as log odds")
	_, err = New(f, Options{Terms: []TermPrior{{Effect: "x", Mean: 1, Scale: 2}}})
	require.ErrorContains(t, err, "want mean 0, as log odds")
	narrow, err := New(f, Options{Terms: []TermPrior{{Effect: "x", Scale: 2}}})
	require.NoError(t, err)
	require.Equal(t, narrow.coordinates[1].sd, narrow.coordinates[3].sd)
	require.InDelta(t, 2*narrow.xSD[1], narrow.coordinates[3].sd, 1e-12)
	require.Contains(t, narrow.Priors()[0], "categorical of 3 categories without an order, blue, green, red")
}
