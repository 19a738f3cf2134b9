package regression

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// groupedOrder returns a table of categories 1 to 3, with perGroup rows in each group.
func groupedOrder(y string, x func(i int) float64, perGroup int) string {
	text := "y,x,g\n"
	for i, v := range y {
		text += fmt.Sprintf("%c,%v,g%d\n", v, x(i), i/perGroup)
	}
	return text
}

// orderedEvidence returns log p(y) of three categories by definition. The probabilities of the
// categories at a predictor of 0 have the density of Dirichlet(1, 1, 1), x has a slope θ ~ N(0,
// 1.5²), and groups have effects N(0, s²) with half-normal s. It sums over grids of cut points, of
// θ and of s, and uses Gauss-Hermite rules over the effects.
func orderedEvidence(y, x []float64, group []int, groups int, cdf, quantile func(float64) float64) float64 {
	const points, slopes, spreads = 40, 12, 12
	nodes, weights := hermiteRule(1, 15)
	grid, weight := make([]float64, points), make([]float64, points)
	for i := range grid { // midpoints of v in (0, 1), mapped to u = v²(3−2v)
		v := (float64(i) + 0.5) / points
		grid[i], weight[i] = quantile(v*v*(3-2*v)), 6*v*(1-v)/points
	}
	var terms []float64
	for k := -slopes; k <= slopes; k++ {
		z := 5 * float64(k) / slopes
		for l := range spreads {
			s := 3.6 * (float64(l) + 0.5) / spreads
			logPrior := distuv.UnitNormal.LogProb(z) + math.Log(5.0/slopes) + math.Ln2 + distuv.UnitNormal.LogProb(s) + math.Log(3.6/spreads)
			below := make([][][]float64, len(y)) // F(c − η) by row, node and cut point
			for i := range y {
				below[i] = make([][]float64, len(nodes))
				for n, node := range nodes {
					below[i][n] = make([]float64, points)
					for c, cut := range grid {
						below[i][n][c] = cdf(cut - 1.5*z*x[i] - s*node[0])
					}
				}
			}
			for a := range grid {
				for b := a; b < points; b++ {
					sum := math.Log(2*weight[a]*weight[b]) + logPrior
					if a == b {
						sum -= math.Ln2
					}
					integrals := make([]float64, groups)
					for n := range nodes {
						product := make([]float64, groups)
						for g := range product {
							product[g] = math.Exp(weights[n] + distuv.UnitNormal.LogProb(nodes[n][0])) // the weights lack this factor
						}
						for i, v := range y {
							p := below[i][n][a]
							switch v {
							case 2:
								p = below[i][n][b] - p
							case 3:
								p = 1 - below[i][n][b]
							}
							product[group[i]] *= p
						}
						floats.Add(integrals, product)
					}
					for _, v := range integrals {
						sum += math.Log(math.Max(v, 1e-300))
					}
					terms = append(terms, sum)
				}
			}
		}
	}
	return floats.LogSumExp(terms)
}

// Evidences of a slope, cut points and effects of groups agree with the function orderedEvidence,
// for usual categories, for a category that is never seen, and for groups of one category each.
func TestOrderedGroups(t *testing.T) {
	testkit.Long(t)
	wave := func(i int) float64 { return math.Sin(float64(3*i)) + float64(i%2) }
	for name, y := range map[string]string{"usual": "112123233132", "never seen": "113133331313", "groups differ": "111333222113"} {
		for _, kind := range []likelihood.Kind{likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind} {
			if kind == likelihood.CumulativeProbitKind && name != "never seen" {
				continue // to save time
			}
			t.Run(fmt.Sprint(name, kind), func(t *testing.T) {
				f := frameOf(t, groupedOrder(y, wave, 3), frame.Options{Formula: "y ~ x + (1 | g)", Response: kind, Levels: []string{"1", "2", "3"}})
				require.Len(t, f.Columns, 1)
				r := newRegression(t, f, Options{})
				result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{})
				require.NoError(t, err)
				require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
				values := make([]float64, len(r.y))
				for i, v := range r.y {
					values[i] = v + 1
				}
				cdf, quantile := distuv.UnitNormal.CDF, distuv.UnitNormal.Quantile
				if kind == likelihood.CumulativeLogitKind {
					cdf, quantile = likelihood.LogitLink.Mean, func(p float64) float64 { return math.Log(p / (1 - p)) }
				}
				want := orderedEvidence(values, mat.Col(nil, 0, r.x), f.Groupings[0].Index, 4, cdf, quantile)
				require.InDelta(t, want, float64(*result.LogEvidence), 4*float64(*result.LogEvidenceSE)+0.01)
				require.Equal(t, modelcheck.Good, result.ModelCheck.Verdict, "%v", result.ModelCheck)
				require.Len(t, result.Cuts, 2)
				require.Equal(t, "1|2", result.Cuts[0].Name)
				require.Less(t, float64(result.Cuts[0].Mean), float64(result.Cuts[1].Mean))
			})
		}
	}
}

// Predictions of known and new groups are probabilities of the categories. Impossible formulas and
// tables are errors.
func TestOrderedFormulas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "data.csv")
	text := groupedOrder("112123233132", func(i int) float64 { return float64(i) }, 3)
	text = strings.NewReplacer("\n1,", "\nlow,", "\n2,", "\nmid,", "\n3,", "\nhigh,").Replace(text)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	record := &Record{Header: run.Header{Command: "hbm", Data: path}, Seed: 1,
		Frame: frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.CumulativeLogitKind, Levels: []string{"low", "mid", "high"}}}
	r, err := record.Regression(t.Context())
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(dir, record))
	_, err = r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 1}, Dir: dir})
	require.NoError(t, err)
	stored, err := OpenRun(dir)
	require.NoError(t, err)
	fresh, err := table.Parse("new", []byte("x,y,g\n-20,low,g1\n40,high,g9\n"))
	require.NoError(t, err)
	rows, err := stored.Rows(fresh)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 2}, rows.Y)
	result, err := predict.Summarise(t.Context(), rows, predict.Config{})
	require.NoError(t, err)
	for i, p := range result.Predictions {
		require.InDelta(t, 1, float64(p.Probabilities[0]+p.Probabilities[1]+p.Probabilities[2]), 1e-12)
		require.Greater(t, float64(p.Probabilities[2*i]), 0.5)
	}

	options := record.Frame
	for want, change := range map[string]func(o *frame.Options){
		"cut points in place of an intercept":      func(o *frame.Options) { o.Formula = "y ~ 0 + x + (1 | g)" },
		"got labels (high, low, mid) and no order": func(o *frame.Options) { o.Levels = nil },
		"want it as it is":                         func(o *frame.Options) { o.Formula = "log(x) ~ (1 | g)" },
		"levels of the response are for":           func(o *frame.Options) { o.Response, o.Formula = likelihood.GaussianKind, "x ~ (1 | g)" },
	} {
		changed := options
		change(&changed)
		data, err := table.ReadFile(path)
		require.NoError(t, err)
		_, err = frame.New(data, changed)
		require.ErrorContains(t, err, want)
	}
	options.Formula = "y ~ x"
	data, err := table.ReadFile(path)
	require.NoError(t, err)
	f, err := frame.New(data, options)
	require.NoError(t, err)
	_, err = New(f, Options{})
	require.ErrorContains(t, err, "needs effects that vary by a group")
}
