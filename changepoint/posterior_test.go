package changepoint

import (
	gocontext "context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/table"
)

// problemOf returns the problem of a series y at times 0, 1, 2, ….
func problemOf(t testing.TB, options Options, y []float64) *Problem {
	t.Helper()
	times := make([]float64, len(y))
	for i := range times {
		times[i] = float64(i)
	}
	options.Time, options.Value = "t", "y"
	data, err := table.New("memory", table.Numbers("t", times), table.Numbers("y", y))
	require.NoError(t, err)
	p, err := NewProblem(data, options)
	require.NoError(t, err)
	return p
}

// subsets calls visit with every increasing list of k boundaries from 1 to n.
func subsets(n, k int, visit func(places []int)) {
	places := make([]int, k)
	var choose func(j, from int)
	choose = func(j, from int) {
		if j == k {
			visit(places)
			return
		}
		for i := from; i <= n; i++ {
			places[j] = i
			choose(j+1, i+1)
		}
	}
	choose(0, 1)
}

// The evidences and the probabilities of numbers and places of changes, which recursions give,
// agree with the sum over all sets of places. The quadrature over the shared parameter agrees with
// a finer quadrature.
func TestPosteriorIsThatOfAllPartitions(t *testing.T) {
	y, _ := smallSeries()
	counts := []float64{2, 0, 1, 5, 7, 4, 0, 1}
	for _, options := range []Options{
		{Kind: Both, MaxChanges: 3}, {Kind: Both, MaxChanges: 1, Shortest: 3}, {Kind: Both, MaxChanges: 3, Places: Spaced},
		{Kind: Rate, MaxChanges: 7, MeanChanges: 1}, {Kind: Mean, MaxChanges: 3}, {Kind: Slope, MaxChanges: 2, Places: Spaced}, {Kind: Variance, MaxChanges: 3},
	} {
		t.Run(fmt.Sprintf("%v %v", options.Kind, options.Places), func(t *testing.T) {
			values := y
			if options.Kind == Rate {
				values = counts
			}
			p := problemOf(t, options, values)
			post, err := p.Posterior(gocontext.Background())
			require.NoError(t, err)
			s := newSums(p.y, p.unitTimes())
			var nodes []float64
			logWeight := func(float64) float64 { return 0 }
			make := func(float64) family { return post.nodes[0].recursion.data.(rows).family }
			switch options.Kind {
			case Mean, Slope:
				l := p.noise(s)
				make = l.family
				for x := math.Log(p.resolution / math.Sqrt(12)); x < 5; x += 0.01 {
					nodes = append(nodes, x)
				}
				logWeight = func(x float64) float64 { return l.logPrior(x) + math.Log(0.01) }
			case Variance:
				l := p.commonMean(s)
				make = l.family
				for x := -6.0; x < 6; x += 0.01 {
					nodes = append(nodes, x)
				}
				logWeight = func(x float64) float64 { return l.logPrior(x) + math.Log(0.01) }
			default:
				nodes = []float64{0}
			}
			prior := p.logPriorCount()
			total := math.Inf(-1)
			best, bestPlaces := math.Inf(-1), []int(nil)
			counted, placed := map[int]float64{}, map[[3]int]float64{}
			for _, x := range nodes {
				data := p.rows(make(x))
				for k := 0; k <= p.Options.MaxChanges; k++ {
					subsets(len(y)-1, k, func(places []int) {
						log := logWeight(x) + prior[k] + data.logConstant(k)
						from := 0
						for _, i := range append(places[:k:k], len(y)) {
							log += data.logSegment(from, i)
							from = i
						}
						total = logsum.Add(total, log)
						if k == p.Options.MaxChanges && x == nodes[0] && log > best {
							best, bestPlaces = log, slices.Clone(places)
						}
						counted[k] += math.Exp(log)
						for j, i := range places {
							placed[[3]int{k, j + 1, i}] += math.Exp(log)
						}
					})
				}
			}
			require.InDelta(t, total+p.logJacobian(), post.LogEvidence, 1e-4)
			for k, probability := range post.Probabilities {
				require.InDelta(t, counted[k]/math.Exp(total), probability, 1e-5, "k = %d", k)
			}
			if len(nodes) == 1 {
				require.Equal(t, bestPlaces, post.nodes[0].recursion.best(p.Options.MaxChanges))
			}
			anywhere := post.Anywhere()
			for k := 1; k <= p.Options.MaxChanges; k++ {
				for j := 1; j <= k; j++ {
					for i, probability := range post.Place(k, j) {
						require.InDelta(t, placed[[3]int{k, j, i + 1}]/counted[k], probability, 1e-4)
						anywhere[i] -= probability * post.Probabilities[k]
					}
				}
			}
			for _, rest := range anywhere {
				require.InDelta(t, 0, rest, 1e-9)
			}
		})
	}
}

// The prior of places sums to one over all partitions.
func TestPriorOfPlacesIsNormalised(t *testing.T) {
	for _, s := range []rows{{count: 9, shortest: 1}, {count: 9, shortest: 2}, {count: 9, shortest: 1, even: true}} {
		for k := range 4 {
			total := math.Inf(-1)
			subsets(s.count-1, k, func(places []int) {
				log, from := s.logConstant(k), 0
				for _, i := range append(places[:k:k], s.count) {
					switch {
					case i-from < s.shortest:
						log = math.Inf(-1)
					case s.even:
						log += math.Log(float64(i - from))
					}
					from = i
				}
				total = logsum.Add(total, log)
			})
			require.InDelta(t, 0, total, 1e-12, "k = %d", k)
		}
	}
}

// coal returns the problem of Green (1995, section 4): explosions in British coal mines, with times
// in years.
func coal(t *testing.T) *Problem {
	t.Helper()
	data, err := table.ReadFile(filepath.Join("..", "testdata", "coal.csv"))
	require.NoError(t, err)
	from, to := 1851.0, 1963.0
	p, err := NewProblem(data, Options{Time: "date", From: &from, To: &to, RateExposure: 200 / 365.25})
	require.NoError(t, err)
	return p
}

// The times of boundaries increase. The weight of a quadrature node is the length of its interval,
// which contains the node.
func TestNodesBetweenEvents(t *testing.T) {
	m := newMoments([]float64{1, 1, 2.5, 4}, 1, 6, 3, 1, 1, true)
	require.Equal(t, 9, m.places())
	require.Equal(t, []int{0, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4}, m.counts)
	for i := 1; i <= m.places(); i++ {
		require.Greater(t, m.times[i], m.times[i-1])
		require.InDelta(t, m.cells[i]-m.cells[i-1], math.Exp(m.logWeights[i]), 1e-12)
		require.Greater(t, m.times[i], m.cells[i-1])
		require.Less(t, m.times[i], m.cells[i])
	}
	require.InDelta(t, 6, m.cells[9], 1e-12)
}

// Errors about invalid tables name the cell or the column.
func TestBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		csv     string
		options Options
		want    string
	}{
		"constant":        {"t,y\n1,2\n2,2\n3,2\n4,2\n", Options{Time: "t", Value: "y"}, `column "y" is constant: every value is 2`},
		"duplicate times": {"t,y\n1,2\n2,3\n2,4\n4,5\n", Options{Time: "t", Value: "y"}, "lines 3 and 4 have the same t, 2"},
		"gap":             {"t,y\n1,2\n2,3\n3,4\n9,5\n", Options{Time: "t", Value: "y"}, "t goes from 3 (line 4) to 9 (line 5), where rows are usually 1 apart"},
		"negative count":  {"t,y\n1,2\n2,-3\n3,4\n4,5\n", Options{Time: "t", Value: "y", Kind: Rate}, `line 3, column "y": got -3, want counts`},
		"half a count":    {"t,y\n1,2\n2,0.5\n3,4\n4,5\n", Options{Time: "t", Value: "y", Kind: Rate}, `line 3, column "y": got 0.5, want counts`},
		"all zero":        {"t,y\n1,0\n2,0\n3,0\n4,0\n", Options{Time: "t", Value: "y", Kind: Rate}, "all counts are 0"},
		"missing":         {"t,y\n1,2\n2,\n3,4\n4,5\n", Options{Time: "t", Value: "y"}, `line 3, column "y": the value is missing`},
		"texts":           {"t,y\n1,a\n2,b\n3,c\n4,d\n", Options{Time: "t", Value: "y"}, `column "y": got text ("a" in line 2), want numbers`},
		"few rows":        {"t,y\n1,2\n2,3\n", Options{Time: "t", Value: "y"}, "got 2 rows, want 4 to"},
		"too many":        {"t,y\n1,2\n2,3\n3,4\n4,5\n", Options{Time: "t", Value: "y", MaxChanges: 9}, "4 rows can hold at most 3 changes"},
		"no value":        {"t,y\n1,2\n2,3\n3,4\n4,5\n", Options{Time: "t", Kind: Mean}, "model mean wants a column of values"},
		"time is value":   {"t,y\n1,2\n2,3\n3,4\n4,5\n", Options{Time: "t", Value: "t"}, `column "t" is both time and value`},
		"before window":   {"t\n1\n2\n3\n4\n", Options{Time: "t", From: pointer(1.5)}, "line 2, column \"t\": the event at 1 lies before the window"},
		"after window":    {"t\n1\n2\n3\n4\n", Options{Time: "t", To: pointer(3.5)}, "line 5, column \"t\": the event at 4 lies after the window"},
		"rounded events":  {"t\n1\n1\n1\n4\n4\n", Options{Time: "t"}, "3 of 5 events have the moment of another"},
		"window":          {"t\n1\n2\n3\n4\n", Options{Time: "t", From: pointer(5), To: pointer(5)}, "the window goes from 5 to 5"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := table.Parse("data.csv", []byte(test.csv))
			require.NoError(t, err)
			_, err = NewProblem(data, test.options)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := problemOf(t, Options{}, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}).Posterior(gocontext.Background())
	require.ErrorIs(t, err, errNoNoise)
}

func pointer(x float64) *float64 { return &x }

// A run writes all its files, and the first line of its output states the number and the place of
// the changes.
func TestRunWritesItsFiles(t *testing.T) {
	dir := t.TempDir()
	y := make([]float64, 40)
	for i := range y {
		y[i] = math.Sin(float64(7 * i)) // a stand-in for noise
		if i >= 25 {
			y[i] += 6
		}
	}
	r, err := Run(gocontext.Background(), problemOf(t, Options{}, y), RunConfig{Dir: dir})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(r.Answer, "Most probably 1 change (probability "), r.Answer)
	require.Contains(t, r.Answer, "at t 25.")
	for _, name := range Files() {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Positive(t, info.Size())
	}
	require.Equal(t, [][2]Number{{25, 25}}, r.Given.Places[0].Set)
	require.InDelta(t, 6, float64(r.Given.Segments[1].Mean.Mean-r.Given.Segments[0].Mean.Mean), 0.4)
}
