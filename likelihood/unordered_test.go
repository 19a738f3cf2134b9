package likelihood

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// unorderedRows returns rows of every category under usual and distant linear predictors, [M·n].
func unorderedRows(levels int) (y, eta []float64) {
	random := stream.Rand(1, "unordered")
	const each = 4
	for k := range levels {
		for range each {
			y = append(y, float64(k))
		}
	}
	for range (levels - 1) * len(y) {
		eta = append(eta, 3*random.NormFloat64())
	}
	return y, eta
}

// Independent linear predictors with variance one give the log odds of any two categories variance
// one, and scores sum to zero: no category is a reference.
func TestContrastsTreatCategoriesAlike(t *testing.T) {
	for _, levels := range []int{2, 3, 7} {
		c := NewCategories(CategoricalKind, levels).(UnorderedCategories)
		require.Equal(t, []int{levels, levels - 1, 0}, []int{c.Levels(), c.Predictors(), c.Parameters()})
		sum := make([]float64, levels-1)
		for a, row := range c.Contrasts() {
			floats.Add(sum, row)
			for _, other := range c.Contrasts()[:a] {
				distance := floats.Distance(row, other, 2)
				require.InDelta(t, 1, distance*distance, 1e-14)
			}
		}
		require.InDelta(t, 0, floats.Norm(sum, 2), 1e-14)
	}
}

// With two categories the distribution is logistic regression, to all digits.
func TestTwoCategoriesAreLogistic(t *testing.T) {
	c := NewCategories(CategoricalKind, 2)
	for _, eta := range []float64{-800, -30, -1.3, 0, 0.2, 5, 700} {
		for _, y := range []float64{0, 1} {
			e := NewExpansion(c, 1)
			c.At(nil).Expand([]float64{y}, []float64{eta}, e)
			want := logistic{}.LogKernelAt(y, eta, 1) + logistic{}.LogConstant(y)
			slope, curvature := logistic{}.NewtonAt(y, eta, 1)
			require.InDelta(t, 0, c.At(nil).LogProbs([]float64{y}, []float64{eta})-want, 1e-15*math.Abs(want)+1e-300, "%v %v", y, eta)
			require.InDelta(t, slope, e.Slope[0][0], 1e-15)
			if math.Abs(eta) < 10 { // for larger |η| logistic returns its least curvature instead
				require.InEpsilon(t, curvature, e.Curvature[0][0], 1e-13)
			}
		}
	}
}

// Log probabilities agree with a naive softmax, and slopes and curvatures with finite differences.
func TestUnorderedIsSoftmax(t *testing.T) {
	const h = 1e-5
	for _, levels := range []int{2, 3, 6} {
		c := NewCategories(CategoricalKind, levels).(*unordered)
		y, eta := unorderedRows(levels)
		n, predictors := len(y), levels-1
		e, p := NewExpansion(c, n), make([]float64, levels)
		c.Expand(y, eta, e)
		total := 0.0
		for i, v := range y {
			rowEta := make([]float64, predictors)
			for m := range rowEta {
				rowEta[m] = eta[m*n+i]
			}
			c.Probabilities(rowEta, p)
			require.InDelta(t, 1, floats.Sum(p), 1e-14)
			naive := 0.0
			for k := range levels {
				naive += math.Exp(c.score(k, rowEta, 0, 1))
			}
			for k := range levels {
				require.InEpsilon(t, math.Exp(c.score(k, rowEta, 0, 1))/naive, p[k], 1e-13)
			}
			total += math.Log(p[int(v)])
			for m := range rowEta {
				expansionAt := func(by float64) *Expansion {
					moved, to := append([]float64(nil), rowEta...), NewExpansion(c, 1)
					moved[m] += by
					c.Expand([]float64{v}, moved, to)
					return to
				}
				value := func(by float64) float64 {
					moved := append([]float64(nil), rowEta...)
					moved[m] += by
					return c.LogProbs([]float64{v}, moved)
				}
				require.InDelta(t, (value(h)-value(-h))/(2*h), e.Slope[m][i], 1e-8)
				up, down := expansionAt(h), expansionAt(-h)
				for other := range rowEta {
					require.InDelta(t, -(up.Slope[other][0]-down.Slope[other][0])/(2*h), e.Curvature[m*predictors+other][i], 1e-8)
				}
			}
		}
		require.InEpsilon(t, total, c.LogProbs(y, eta), 1e-13)
	}
}

// Log densities and gradients computed in graphs agree with the values on the host. In float32 they
// are finite even for extreme linear predictors.
func TestUnorderedInGraphs(t *testing.T) {
	run := func(c *unordered, y, eta []float64, dtype dtypes.DType) (value, gradient []float64) {
		outputs := MustExecOnceN(testkit.Backend(t), func(eta *Node) []*Node {
			eta = ConvertDType(Reshape(eta, 1, c.Predictors(), len(y)), dtype)
			value := c.LogProb(y, eta, nil)
			value.AssertDims(1, len(y))
			return []*Node{ConvertDType(value, dtypes.Float64), ConvertDType(Gradient(ReduceAllSum(value), eta)[0], dtypes.Float64)}
		}, eta)
		return tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1])
	}
	for _, levels := range []int{2, 3, 6} {
		c := NewCategories(CategoricalKind, levels).(*unordered)
		y, eta := unorderedRows(levels)
		e := NewExpansion(c, len(y))
		c.Expand(y, eta, e)
		value, gradient := run(c, y, eta, dtypes.Float64)
		require.InEpsilon(t, c.LogProbs(y, eta), floats.Sum(value), 1e-13)
		for m := range levels - 1 {
			require.InDeltaSlice(t, e.Slope[m], gradient[m*len(y):(m+1)*len(y)], 1e-13)
		}
		floats.Scale(1000, eta)
		value, gradient = run(c, y, eta, dtypes.Float32)
		require.InEpsilon(t, c.LogProbs(y, eta), floats.Sum(value), 1e-5)
		for _, v := range append(value, gradient...) {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
		}
	}
}

// Log odds against the first category are differences of scores and give the same probabilities.
// Coordinates maps them back to the linear predictors.
func TestLogOddsAgainstFirst(t *testing.T) {
	for _, levels := range []int{2, 3, 7} {
		c := NewCategories(CategoricalKind, levels).(*unordered)
		_, v := unorderedRows(levels)
		v = v[:levels-1]
		odds, back := make([]float64, levels-1), make([]float64, levels-1)
		c.LogOdds(v, odds)
		c.Coordinates(odds, back)
		require.InDeltaSlice(t, v, back, 1e-13)
		p, same := make([]float64, levels), make([]float64, levels)
		c.Probabilities(v, p)
		for k, o := range odds {
			require.InDelta(t, c.score(k+1, v, 0, 1)-c.score(0, v, 0, 1), o, 1e-13)
		}
		AgainstFirst(levels).Probabilities(odds, same)
		require.InDeltaSlice(t, p, same, 1e-14)
		for k := range p {
			require.InDelta(t, math.Log(p[k]), AgainstFirst(levels).LogProbs([]float64{float64(k)}, odds), 1e-13)
		}
	}
}

// Sums over many rows, and their slopes and curvatures, equal the results row by row.
func TestUnorderedRowsAtOnce(t *testing.T) {
	for _, levels := range []int{2, 3, 6} {
		c := NewCategories(CategoricalKind, levels).(UnorderedCategories)
		y, eta := unorderedRows(levels)
		n, m := len(y), levels-1
		times := make([]float64, n)
		for i := range times {
			times[i] = float64(i % 3)
		}
		far := slices.Clone(eta)
		floats.Scale(200, far)
		sums := make([]float64, 2)
		for _, repeated := range [][]float64{nil, times} {
			c.LogProbSums(y, repeated, slices.Concat(eta, far), sums)
			for set, predictors := range [][]float64{eta, far} {
				want := 0.0
				for i := range y {
					row := make([]float64, m)
					for k := range row {
						row[k] = predictors[k*n+i]
					}
					want += timesOf(repeated, i) * c.At(nil).LogProbs(y[i:i+1], row)
				}
				require.InDelta(t, want, sums[set], 1e-12*math.Abs(want))
			}
			e := NewExpansion(c, n)
			c.At(nil).Expand(y, eta, e)
			slope, curvature := make([]float64, m*n), make([]float64, m*(m+1)/2*n)
			c.Newtons(y, repeated, eta, slope, curvature)
			for i := range y {
				for a := range m {
					require.InDelta(t, timesOf(repeated, i)*e.Slope[a][i], slope[a*n+i], 1e-15)
					for b := range a + 1 {
						require.InDelta(t, timesOf(repeated, i)*e.Curvature[a*m+b][i], curvature[(a*(a+1)/2+b)*n+i], 1e-15)
					}
				}
			}
		}
	}
}
