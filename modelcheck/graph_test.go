package modelcheck_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modelcheck"
)

// chainGraph checks columns as a graph in which the parent of each column is the column before it.
// Intercept, slope and noise scale are drawn from their posterior under a flat prior. The parent is
// centred, so that intercept and slope are independent.
func chainGraph(t *testing.T, columns []modelcheck.Column, random *rand.Rand) modelcheck.Report {
	return chainGraphOf(t, columns, nil, func(_, node, column int) bool { return column > node }, random)
}

// chainGraphOf does the same as chainGraph, with the fields Counted and Descends of
// [modelcheck.GraphInput] set to its arguments.
func chainGraphOf(t *testing.T, columns []modelcheck.Column, counted [][]int, descends func(d, node, column int) bool, random *rand.Rand) modelcheck.Report {
	report, err := modelcheck.Graph(t.Context(), modelcheck.GraphInput{
		Columns: columns, Counted: counted, Descends: descends,
		Draw: func(_, node int, mean, sd, replicate []float64) {
			rowsOf := func(column []float64) []float64 {
				if counted == nil {
					return column
				}
				return each(len(counted[node]), func(k int) float64 { return column[counted[node][k]] })
			}
			y := rowsOf(columns[node].Values)
			x, n := make([]float64, len(y)), float64(len(y))
			if node > 0 {
				x = rowsOf(columns[node-1].Values)
			}
			meanX, meanY := stat.Mean(x, nil), stat.Mean(y, nil)
			var xx, xy, squares float64
			for i := range y {
				xx += (x[i] - meanX) * (x[i] - meanX)
				xy += (x[i] - meanX) * (y[i] - meanY)
			}
			slope, free := 0.0, n-1
			if xx > 0 {
				slope, free = xy/xx, n-2
			}
			for i := range y {
				squares += math.Pow(y[i]-meanY-slope*(x[i]-meanX), 2)
			}
			sigma := math.Sqrt(squares / distuv.ChiSquared{K: free, Src: random}.Rand())
			level := meanY + sigma/math.Sqrt(n)*random.NormFloat64()
			if xx > 0 {
				slope += sigma / math.Sqrt(xx) * random.NormFloat64()
			}
			for i := range y {
				mean[i] = level + slope*(x[i]-meanX)
				sd[i] = sigma
				replicate[i] = mean[i] + sigma*random.NormFloat64()
			}
		},
	})
	require.NoError(t, err)
	return report
}

// nodes draws a linear chain of four columns.
func nodes(n int, random *rand.Rand) []modelcheck.Column {
	columns := make([]modelcheck.Column, 4)
	for j := range columns {
		slope := random.NormFloat64()
		columns[j] = modelcheck.Column{Name: fmt.Sprintf("v%d", j+1), Values: each(n, func(i int) float64 {
			v := random.NormFloat64()
			if j > 0 {
				v += slope * columns[j-1].Values[i]
			}
			return v
		})}
	}
	return columns
}

// The test first checks 20 tables drawn from linear graphs. All but three must be called good. If 4
// percent of such tables have a finding, this fails with a probability of 0.7 percent. The test
// then spoils one column in several ways, and requires the finding that describes each way.
func TestGraph(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	good := 0
	repeats := 20
	if testing.Short() {
		repeats = 6
	}
	for k := range repeats {
		report := chainGraph(t, nodes(40+10*k, random), random)
		if report.Verdict == modelcheck.Good {
			good++
		} else {
			t.Logf("%v", report.Findings)
		}
	}
	t.Logf("%d of %d linear graphs are called good", good, repeats)
	require.GreaterOrEqual(t, good, repeats-3)

	for _, spoiled := range []struct {
		term  string
		spoil func(v, parent []float64)
	}{
		{"curvature", func(v, parent []float64) {
			for i := range v {
				v[i] = parent[i]*parent[i] + 0.3*v[i]
			}
		}},
		{"few values", func(v, _ []float64) {
			for i := range v {
				v[i] = max(-1, min(1, math.Round(v[i])))
			}
		}},
		{"two values", func(v, _ []float64) {
			for i := range v {
				v[i] = math.Copysign(1, v[i])
			}
		}},
		{"suspicious value", func(v, _ []float64) { v[5] = -999 }},
		{"outlier", func(v, _ []float64) { v[5] = 1e6 }},
		{"heavy tails", func(v, _ []float64) {
			for i := range v {
				v[i] = math.Sinh(4 * v[i])
			}
		}},
	} {
		columns := nodes(150, random)
		spoiled.spoil(columns[3].Values, columns[2].Values)
		report := chainGraph(t, columns, random)
		require.True(t, mentions(report, spoiled.term), "%s: %v", spoiled.term, report.Findings)
		require.NotEqual(t, modelcheck.Good, report.Verdict)
	}

	columns := nodes(60, random)
	for j := range columns {
		columns[j].Values = append(columns[j].Values, columns[j].Values[20:40]...)
	}
	require.True(t, mentions(chainGraph(t, columns, random), "duplicated rows"))
}

// Rows in which an intervention set a node are not counted for this node.
func TestGraphCountsOnlyRowsThatWereNotSet(t *testing.T) {
	columns := []modelcheck.Column{{Name: "a", Values: each(40, func(i int) float64 { return math.Sin(float64(i * i)) })}}
	var rows []int
	for i := range 40 {
		if i%4 == 0 {
			columns[0].Values[i] = 50
		} else {
			rows = append(rows, i)
		}
	}
	random := rand.New(rand.NewPCG(9, 10))
	sizes := make(map[int]bool)
	report, err := modelcheck.Graph(t.Context(), modelcheck.GraphInput{
		Columns: columns, Counted: [][]int{rows},
		Draw: func(_, _ int, mean, sd, replicate []float64) {
			sizes[len(mean)] = true
			for i := range mean {
				mean[i], sd[i], replicate[i] = 0, 0.7, 0.7*random.NormFloat64()
			}
		},
	})
	require.NoError(t, err)
	require.Equal(t, map[int]bool{30: true}, sizes)
	require.False(t, mentions(report, "outlier"), "%v", report.Findings)
}

// Interventions that set a node to a distant value bend the regression of the node on its
// descendants, although every mechanism is linear. Such graphs are called good as often as others.
// If nodes were compared with descendants, most graphs would have a finding.
func TestGraphWithInterventions(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(13, 14))
	tables := 16
	if testing.Short() {
		tables = 8
	}
	good, bent := 0, 0
	for range tables {
		const n = 120
		columns, counted := make([]modelcheck.Column, 4), make([][]int, 4)
		for j := range columns {
			slope := 0.5 + random.Float64()
			columns[j] = modelcheck.Column{Name: fmt.Sprintf("v%d", j+1), Values: each(n, func(i int) float64 {
				if i%6 == 0 && j == 1+i/6%3 {
					return 8 + random.NormFloat64()
				}
				counted[j] = append(counted[j], i)
				v := random.NormFloat64()
				if j > 0 {
					v += slope * columns[j-1].Values[i]
				}
				return v
			})}
		}
		if chainGraphOf(t, columns, counted, func(_, node, column int) bool { return column > node }, random).Verdict == modelcheck.Good {
			good++
		}
		if mentions(chainGraphOf(t, columns, counted, nil, random), "curvature") {
			bent++
		}
	}
	t.Logf("of %d graphs %d are good, and %d bent if compared with descendants", tables, good, bent)
	// At a rate of 4 percent, more than 2 of 16 tables have findings with probability 2.5 percent,
	// and more than 2 of 8 with 0.3 percent.
	require.GreaterOrEqual(t, good, tables-2)
	require.Greater(t, bent, tables/2)
}
