package modelcheck

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// Shapes are functions of a column, such as its square, that residuals may follow. The check
// computes the correlations of residuals with shapes for a block of draws at once. The test
// computes them draw by draw in loops over rows, and requires the same sums of correlations over
// draws, and the same number of draws in each sum. Only every second row is used, interventions set
// the first rows, some columns are ignored in some draws, and the last block is not full. The test
// is made for residuals and for absolute residuals.
func TestShapesAgainstLoops(t *testing.T) {
	for _, sizes := range []bool{false, true} {
		shapesAgainstLoops(t, sizes)
	}
}

func shapesAgainstLoops(t *testing.T, sizes bool) {
	random := rand.New(rand.NewPCG(1, 2))
	const rows, draws = 250, MinDraws
	columns := []Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	for j := range columns {
		for range rows {
			columns[j].Values = append(columns[j].Values, random.NormFloat64())
		}
	}
	counted := make([]int, 0, rows)
	for i := 7; i < rows; i++ {
		counted = append(counted, i)
	}
	y := make([]float64, len(counted))
	for k, i := range counted {
		y[k] = columns[1].Values[i]
	}
	r := &response{name: "b", y: y, rows: counted}
	ignored := func(d, column int) bool { return (d+column)%3 == 0 }
	c := &checks{responses: []*response{r}, ignored: func(d, _, column int) bool { return ignored(d, column) }}
	c.addShapes(columns, int(curvatureWork), sizes) // the argument draws is so large that only every second row is used
	found := c.list[0]
	count := 6
	if sizes {
		count = 4
	}
	require.Equal(t, []int{0, count}, found.first)
	sd := make([]float64, len(y))
	for k := range sd {
		sd[k] = 1
	}
	var replicates [][]float64
	for range draws {
		replicate := make([]float64, len(y))
		for k := range replicate {
			replicate[k] = random.NormFloat64()
		}
		replicates = append(replicates, replicate)
	}
	require.NoError(t, c.run(context.Background(), func(d, _ int, mean, spread, replicate []float64) {
		for k := range mean {
			mean[k] = 0.3 * float64(d)
		}
		copy(spread, sd)
		copy(replicate, replicates[d])
	}))

	want := newFamily(count, false)
	statistic := func(s *sample, form shape) float64 {
		var sum, squares float64
		var values []float64
		for i := 0; i < len(y); i += 2 {
			values = append(values, s.clipped[i])
		}
		if sizes {
			for k, v := range values {
				values[k] = math.Abs(v)
			}
			centre := stat.Mean(values, nil)
			for k := range values {
				values[k] -= centre
			}
		}
		for k, v := range values {
			sum += form.values[k] * v
			squares += v * v
		}
		return math.Abs(sum) * math.Sqrt(float64(len(values))/squares)
	}
	members := newShapes(r, columns, sizes, 2).list
	for d := range draws {
		if d%drawsAtOnce == 0 && want.settled() {
			break
		}
		seen, drawn, mean := newSample(len(y)), newSample(len(y)), make([]float64, len(y))
		for k := range mean {
			mean[k] = 0.3 * float64(d)
		}
		seen.set(Continuous, y, mean, sd)
		drawn.set(Continuous, replicates[d], mean, sd)
		observed, replicated := make([]float64, count), make([]float64, count)
		for k, member := range members {
			observed[k], replicated[k] = statistic(seen, member), statistic(drawn, member)
			if ignored(d, member.place) {
				observed[k], replicated[k] = math.NaN(), math.NaN()
			}
		}
		want.add(observed, replicated)
	}
	require.Equal(t, want.draws, found.draws)
	require.Equal(t, want.upper, found.upper)
	require.InDeltaSlice(t, want.sum, found.sum, 1e-9)
}
