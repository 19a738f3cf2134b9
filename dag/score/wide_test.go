package score_test

import (
	"context"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// wideLogDensity returns log N(x_j; 0, σ²I + σ0²XXᵀ) by a Cholesky decomposition with 300 bits.
func wideLogDensity(d *tables.Data, f dgraph.Family, sigma, priorSD float64) float64 {
	wide := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	zero := func() *big.Float { return wide(0) }
	var rows []int
	for row := range d.Rows() {
		if d.Counts(row, f.Node) {
			rows = append(rows, row)
		}
	}
	x := mat.NewDense(d.Rows(), d.Nodes(), nil)
	for row := range d.Rows() {
		d.RowFor(f.Node, row, x.RawRowView(row))
	}
	lower, solved := make([][]*big.Float, len(rows)), make([]*big.Float, len(rows))
	sum := 0.0
	for a, row := range rows {
		lower[a] = make([]*big.Float, a+1)
		solved[a] = wide(x.At(row, f.Node))
		for b := range a + 1 {
			value := zero()
			if a == b {
				value.Mul(wide(sigma), wide(sigma))
			}
			for i := range f.Parents.Nodes() {
				term := zero().Mul(wide(x.At(row, i)), wide(x.At(rows[b], i)))
				value.Add(value, term.Mul(term, zero().Mul(wide(priorSD), wide(priorSD))))
			}
			for k := range b {
				value.Sub(value, zero().Mul(lower[a][k], lower[b][k]))
			}
			if a == b {
				lower[a][a] = zero().Sqrt(value)
			} else {
				lower[a][b] = zero().Quo(value, lower[b][b])
				solved[a].Sub(solved[a], zero().Mul(lower[a][b], solved[b]))
			}
		}
		solved[a].Quo(solved[a], lower[a][a])
		z, _ := solved[a].Float64()
		pivot, _ := lower[a][a].Float64()
		sum -= z*z/2 + math.Log(pivot) + score.HalfLog2Pi
	}
	return sum
}

// Log evidences agree with 300-bit arithmetic if columns are copies of each other up to 1e-8, if
// their scales differ by a factor of 1e18, and for copies up to 1e-6 on different scales. Noise
// scales are from far below to far above the scale of the residuals.
func TestExactScoresKeepDigits(t *testing.T) {
	testkit.Slow(t)
	for name, test := range map[string]struct {
		rows  int
		scale tables.Scaling
		row   func(e [4]float64) []float64
	}{
		"near copies": {30, tables.Standardize, func(e [4]float64) []float64 { return []float64{e[0], e[0] + 1e-8*e[1], e[0] + 1e-4*e[2], e[0] + e[3]} }},
		"near sum": {30, tables.Standardize, func(e [4]float64) []float64 {
			return []float64{e[0], e[1], e[0] + e[1] + 1e-7*e[2], e[0] - e[1] + e[3]}
		}},
		"scales": {30, tables.Center, func(e [4]float64) []float64 {
			return []float64{1e9 * e[0], 1e-9 * (e[0] + e[1]), e[0] + e[2], 1e-3 * e[3]}
		}},
		"scales, few rows":   {6, tables.Center, func(e [4]float64) []float64 { return []float64{1e9 * e[0], 1e-9 * e[1], e[2], e[3]} }},
		"copies and scales":  {20, tables.Center, func(e [4]float64) []float64 { return []float64{1e9 * e[0], e[0] + 1e-6*e[1], 1e-9 * e[2], e[0] + e[3]} }},
		"common mean of 1e6": {25, tables.Standardize, func(e [4]float64) []float64 { return []float64{1e6 + e[0], 1e6 + e[0] + 1e-3*e[1], e[2], e[3]} }},
	} {
		random := dagtest.Random(77)
		values := make([][]float64, test.rows)
		for i := range values {
			values[i] = test.row([4]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64(), random.NormFloat64()})
		}
		d, err := tables.NewData(dagtest.Table(t, []string{"a", "b", "c", "d"}, values), tables.DataOptions{Scaling: test.scale})
		require.NoError(t, err)
		for _, f := range dgraph.FreeStructure(4).Families() {
			for _, factor := range []float64{1e-6, 1e-3, 0.1, 1, 10} {
				sigma := factor * math.Exp(d.LogSD(f.Node))
				want := wideLogDensity(d, f, sigma, 1.3)
				require.InDelta(t, want, score.NewLinearForm(d, f.Node, sem.Layout{Nodes: 4, Mechanism: sem.Linear, Sigma: sigma}, 1.3).LogEvidence(f.Parents), 1e-8+1e-9*math.Abs(want),
					"%s: node %d, parents %v, σ = %g sd", name, f.Node, f.Parents.List(), factor)
			}
		}
	}
}

// In a table with no more rows than columns, other columns can reproduce a column exactly. Log
// evidences, with unknown noise, still agree with 300-bit arithmetic.
func TestExactScoresOfFewRows(t *testing.T) {
	testkit.Slow(t)
	for _, size := range []struct{ rows, columns int }{{3, 3}, {3, 5}, {4, 4}, {5, 6}, {6, 6}} {
		d := noiseData(t, size.rows, size.columns)
		p, err := score.NewProblem(d, score.ModelOptions{PriorSD: 1.3}, tables.Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(context.Background(), nil)
		require.NoError(t, err)
		for i, f := range scores.Families {
			if f.Node == 0 { // one node suffices, because all nodes are alike
				require.InDelta(t, wideScore(d, f, 1.3), scores.LogEvidence[i], 1e-6, "%d rows, parents %v", size.rows, f.Parents.List())
			}
		}
	}
}

// Log evidences agree with 300-bit arithmetic if parents explain a node up to a noise of 1e-9, so
// that sums of squares cannot distinguish the residual from rounding.
func TestExactScoresOfLittleNoise(t *testing.T) {
	for _, noise := range []float64{1e-3, 1e-6, 1e-9} {
		random := dagtest.Random(5)
		values := make([][]float64, 12)
		for i := range values {
			a, b := random.NormFloat64(), random.NormFloat64()
			values[i] = []float64{a, b, a + b + noise*random.NormFloat64()}
		}
		d, err := tables.NewData(dagtest.Table(t, []string{"a", "b", "c"}, values), tables.DataOptions{Scaling: tables.Center})
		require.NoError(t, err)
		for _, f := range []dgraph.Family{{Node: 2, Parents: dgraph.SetOf(0, 1)}, {Node: 0, Parents: dgraph.SetOf(1, 2)}} {
			for _, sigma := range []float64{noise, 1} {
				want := wideLogDensity(d, f, sigma, 1)
				require.InDelta(t, want, score.NewLinearForm(d, f.Node, sem.Layout{Nodes: 3, Mechanism: sem.Linear, Sigma: sigma}, 1).LogEvidence(f.Parents), 1e-6*math.Abs(want), "noise %g, σ = %g", noise, sigma)
			}
		}
	}
}

// wideScore returns the log evidence with unknown noise: the log of the integral of
// exp(wideLogDensity) times the prior over log σ, by a Riemann sum.
func wideScore(d *tables.Data, f dgraph.Family, priorSD float64) float64 {
	const step = 0.2
	var logs []float64
	for z := -30.0; z < 16; z += step { // in standard deviations of 2 from the prior mean, the log standard deviation of the node
		logs = append(logs, wideLogDensity(d, f, math.Exp(d.LogSD(f.Node)+z), priorSD)-dgraph.Square(z/score.LogSigmaSD)/2-math.Log(score.LogSigmaSD)-score.HalfLog2Pi+math.Log(step))
	}
	return logsum.Of(logs)
}

// noiseData returns columns of independent standard normal numbers.
func noiseData(t *testing.T, rows, columns int) *tables.Data {
	t.Helper()
	random := dagtest.Random(uint64(100*rows + columns))
	names, values := []string{"a", "b", "c", "d", "e", "f"}[:columns], make([][]float64, rows)
	for i := range values {
		for range columns {
			values[i] = append(values[i], random.NormFloat64())
		}
	}
	d, err := tables.NewData(dagtest.Table(t, names, values), tables.DataOptions{})
	require.NoError(t, err)
	return d
}
