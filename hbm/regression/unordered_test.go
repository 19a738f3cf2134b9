package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// naive is an answer by draws from the prior, each weighted by the likelihood: nothing is
// approximated, and errors are known.
type naive struct {
	logEvidence, logEvidenceSE float64
	mean, meanSE               []float64 // of population effects, as answers have them
}

// naiveSums are sums over draws with weights w: of w, of w², and for each population effect x of w
// x, w² x and w² x².
type naiveSums struct {
	w, ww      float64
	wx, x, xx2 []float64
}

func (s *naiveSums) add(at int, w, x float64) {
	s.wx[at] += w * x
	s.x[at] += w * w * x
	s.xx2[at] += w * w * x * x
}

// naiveUnordered draws from the prior in its symmetric form: each of the K categories has a score of
// its own, with coefficients and effects that are independent between categories and have half of
// the variance of log odds. What all categories have in common makes no difference. Standard
// deviations are half-normal(1), and correlations LKJ(2).
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

// naiveDraw adds one draw.
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
		sd := []float64{math.Abs(random.NormFloat64()), math.Abs(random.NormFloat64())}
		three := []float64{random.Float64(), random.Float64(), random.Float64()}
		slices.Sort(three)
		rho := 2*three[1] - 1 // Beta(2, 2) on (−1, 1)
		effects := make([]float64, len(g.Levels)*categories*q)
		for at := 0; at < len(effects); at += q {
			u := half(1)
			effects[at] = sd[0] * u
			if q == 2 {
				effects[at+1] = sd[1] * (rho*u + math.Sqrt(1-rho*rho)*half(1))
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
		own := scores[i*categories:][:categories]
		w += own[int(y)] - floats.LogSumExp(own)
	}
	w = math.Exp(w)
	sums.w, sums.ww = sums.w+w, sums.ww+w*w
	for k := 1; k < categories; k++ {
		intercept := 0.0 // of the table, where the columns are zero
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

// unorderedTable is a table of categories a, b, … with groups g and h.
func unorderedTable(y string, perGroup int) string {
	text := "y,x,g,h\n"
	for i, v := range y {
		text += fmt.Sprintf("%c,%.3f,g%d,h%d\n", v, math.Sin(float64(3*i))+float64(i%2), i/perGroup, i%3)
	}
	return text
}

func unorderedRegression(t *testing.T, text, source string, labels string) *Regression {
	f := frameOf(t, text, FrameOptions{Formula: source, Response: likelihood.CategoricalKind, Levels: strings.Split(labels, "")})
	return newRegression(t, f, Options{InterceptScale: 1.5})
}

// Evidences and means are those of draws from the prior: one grouping and two, effects of a column
// that vary, 2 to 5 categories; a category never seen, one row a group, and categories that a column
// separates. Of 30 comparisons within four standard errors one fails by chance in 500 such tests.
func TestUnorderedGroups(t *testing.T) {
	for name, c := range map[string]struct {
		y, labels, formula string
		perGroup           int
	}{
		"one grouping":     {"abcabbcacbca", "abc", "y ~ x + (1 | g)", 3},
		"groups differ":    {"aaabbbcccabb", "abc", "y ~ x + (1 | g)", 3},
		"crossed":          {"abcabbcacbca", "abc", "y ~ x + (1 | g) + (1 | h)", 4},
		"column varies":    {"abcabbcacbca", "abc", "y ~ x + (x | g)", 4},
		"two":              {"abbabbaaabba", "ab", "y ~ x + (x | g)", 4},
		"four":             {"abcdabbdacbd", "abcd", "y ~ 1 + (1 | g)", 3},
		"five":             {"abcdeabbdacb", "abcde", "y ~ 1 + (1 | g)", 4},
		"never seen":       {"abaabbababba", "abc", "y ~ x + (1 | g)", 3},
		"one row a group":  {"abcabbca", "abc", "y ~ 1 + (1 | g)", 1},
		"separated":        {"acacacacbc", "abc", "y ~ x + (1 | g)", 5},
		"few rows of four": {"abcdcdbaabdd", "abcd", "y ~ x + (1 | g) + (1 | h)", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := unorderedRegression(t, unorderedTable(c.y, c.perGroup), c.formula, c.labels)
			result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
			want := naiveUnordered(r, 1<<19)
			require.Less(t, want.logEvidenceSE, 0.03)
			require.InDelta(t, want.logEvidence, float64(*result.LogEvidence), 4*math.Hypot(want.logEvidenceSE, float64(*result.LogEvidenceSE)))
			for at, e := range result.Effects {
				require.InDelta(t, want.mean[at], float64(e.Mean), 4*math.Hypot(want.meanSE[at], float64(e.MeanSE)), e.Name)
			}
			t.Logf("%.3f (%.3f) %.3f (%.3f)", want.logEvidence, want.logEvidenceSE, float64(*result.LogEvidence), float64(*result.LogEvidenceSE))
		})
	}
}
