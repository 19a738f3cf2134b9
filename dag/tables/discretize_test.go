package tables

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

func TestQuantileClasses(t *testing.T) {
	values := []float64{5, 1, 9, 3, 7, 2, 8, 4, 6}
	require.Equal(t, []float64{3, 6}, quantileCuts(values, 3))
	require.Equal(t, []int{1, 0, 2, 0, 2, 0, 2, 1, 1}, classes(values, []float64{3, 6}))
	require.Equal(t, []float64{0}, quantileCuts([]float64{0, 0, 0, 0, 1}, 3), "ties are in one class")
	require.Empty(t, quantileCuts([]float64{2, 2, 2}, 2))
	require.Equal(t, []string{"up to 3", "3 to 6", "above 6"}, classNames([]float64{3, 6}))
	for text, want := range map[string]Discretization{"": {}, "terciles": {Classes: 3}, "quantiles:4": {Classes: 4}, "hartemink:3": {Classes: 3, Hartemink: true}} {
		got, err := ParseDiscretization(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		again, err := ParseDiscretization(got.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, text := range []string{"quantiles", "quantiles:1", "deciles", "hartemink:x"} {
		_, err := ParseDiscretization(text)
		require.ErrorContains(t, err, "want terciles")
	}
}

// information returns the mutual information of two columns of codes times the number of rows, in
// nats.
func information(a, b []int) (sum float64) {
	joint, first, second := map[[2]int]float64{}, map[int]float64{}, map[int]float64{}
	for row := range a {
		joint[[2]int{a[row], b[row]}]++
		first[a[row]]++
		second[b[row]]++
	}
	for pair, n := range joint {
		sum += n * math.Log(n*float64(len(a))/(first[pair[0]]*second[pair[1]]))
	}
	return sum
}

// If one column depends on another by a step, Hartemink's method cuts at the step. The loss
// computed for a join of two classes equals the fall of the mutual information.
func TestHarteminkClasses(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 0))
	x, y := make([]float64, 500), make([]float64, 500)
	for i := range x {
		x[i] = random.Float64()
		y[i] = random.NormFloat64()
		if x[i] > 0.83 {
			y[i] += 6
		}
	}
	columns := []*table.Column{{Name: "x", Kind: table.Numeric, Values: x}, {Name: "y", Kind: table.Numeric, Values: y}}
	Discretization{Classes: 2, Hartemink: true}.apply(columns, make([]bool, 2))
	for row, value := range x {
		if math.Abs(value-0.83) > 0.02 { // the step is at 0.83, and the 60 quantiles are closer together than 0.02
			require.Equal(t, map[bool]int{true: 1}[value > 0.83], columns[0].Codes[row])
		}
	}
	a, b := classes(x, quantileCuts(x, 6)), classes(y, quantileCuts(y, 5))
	counts := make([][]float64, 6)
	for k := range counts {
		counts[k] = make([]float64, 5)
	}
	for row := range a {
		counts[a[row]][b[row]]++
	}
	joined := make([]int, len(a))
	for row, code := range a {
		joined[row] = code
		if code == 3 {
			joined[row] = 2
		}
	}
	require.InDelta(t, information(a, b)-information(joined, b), lostInformation([][][]float64{counts}, 2), 1e-9)
}

// A clamp sets a node to a level in marked rows, and these rows do not count for the node. The
// column that marks the rows is not a node. An exogenous node has no parents.
func TestClamp(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b,drug\n")
	for i := range 12 {
		fmt.Fprintf(&text, "%d,%d,%d\n", i*i, 20-i, i%2)
	}
	parsed, err := table.Parse("clamp.csv", []byte(text.String()))
	require.NoError(t, err)
	d, err := NewData(parsed, DataOptions{Clamp: []string{"drug=b:low"}, Discretize: Discretization{Classes: 3}})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, d.Names)
	require.Equal(t, 6, d.RowsOf(1))
	require.Equal(t, 12, d.RowsOf(0))
	for row := range 12 {
		if row%2 == 1 {
			require.Zero(t, d.X.At(row, 1))
		}
	}
	require.Equal(t, 2.0, d.X.At(0, 1))
	measured, err := NewData(parsed, DataOptions{Clamp: []string{"drug=b"}, Scaling: Unscaled})
	require.NoError(t, err)
	require.Equal(t, 19.0, measured.X.At(1, 1))
	require.Equal(t, 6, measured.RowsOf(1))
	high, err := NewData(parsed, DataOptions{Clamp: []string{"drug=b:high"}, Scaling: Unscaled})
	require.NoError(t, err)
	require.Equal(t, 20.0, high.X.At(1, 1))
	for text, want := range map[string]string{
		"drug":         "want column=node:level",
		"drugs=b:low":  `"drug"`,
		"drug=z:low":   `no node "z"`,
		"drug=b:weird": "want low or high",
	} {
		_, err := NewData(parsed, DataOptions{Clamp: []string{text}})
		require.ErrorContains(t, err, want)
	}
	s, err := d.NewStructure(Constraints{Exogenous: []string{"a"}})
	require.NoError(t, err)
	require.True(t, s.Allowed[0].Empty())
	_, err = d.NewStructure(Constraints{Exogenous: []string{"a"}, Require: []string{"b->a"}})
	require.ErrorContains(t, err, `against "a" being exogenous`)
}
