package modelcheck_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/modelcheck"
)

// chainGraph checks columns as a graph in which each has the one before it as its parent, with
// draws of intercept, slope and noise scale from their posterior under a flat prior. The slope is
// that of the centred parent, which makes the two independent.
func chainGraph(t *testing.T, columns []modelcheck.Column, random *rand.Rand) modelcheck.Report {
	n := float64(len(columns[0].Values))
	report, err := modelcheck.Graph(t.Context(), modelcheck.GraphInput{
		Columns: columns, Draws: modelcheck.MinDraws,
		Draw: func(_, node int, mean, sd, replicate []float64) {
			y, x := columns[node].Values, make([]float64, len(columns[node].Values))
			if node > 0 {
				x = columns[node-1].Values
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

// Linear graphs are good at least 95 times in 100, and each way to spoil one of their columns is
// found. With the true rate of 4 percent the first part fails with probability 2 percent at most.
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

// Rows in which a node was set do not count for it.
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
		Columns: columns, Counted: [][]int{rows}, Draws: modelcheck.MinDraws,
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
