package mixture

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// logDeterminant returns the log absolute determinant of the derivative of f at x, computed by
// finite differences.
func logDeterminant(f func(x []float64) []float64, x []float64) float64 {
	const d = 1e-6
	jacobian := mat.NewDense(len(x), len(x), nil)
	for j := range x {
		up, down := append([]float64(nil), x...), append([]float64(nil), x...)
		up[j] += d
		down[j] -= d
		high, low := f(up), f(down)
		for i := range high {
			jacobian.Set(i, j, (high[i]-low[i])/(2*d))
		}
	}
	log, _ := mat.LogDet(jacobian)
	return log
}

// autodiff returns the log absolute determinant of the derivative of f at x, computed by automatic
// differentiation, and the value f(x).
func autodiff(t *testing.T, f func(x []*Node) []*Node, x []float64) (log float64, values []float64) {
	t.Helper()
	jacobian := mat.NewDense(len(x), len(x), nil)
	for i := range x {
		out, err := ExecOnce(testkit.Backend(t), func(in *Node) *Node {
			scalars := make([]*Node, len(x))
			for j := range x {
				unit := make([]float64, len(x))
				unit[j] = 1
				scalars[j] = ReduceAllSum(Mul(in, Const(in.Graph(), unit))) // Slice has no derivative
			}
			y := f(scalars)[i]
			return Concatenate([]*Node{Reshape(y, 1), Gradient(y, in)[0]}, 0)
		}, x)
		require.NoError(t, err)
		list := out.Value().([]float64)
		values = append(values, list[0])
		jacobian.SetRow(i, list[1:])
	}
	log, _ = mat.LogDet(jacobian)
	return log, values
}

// normalSplit is the split of normal components as a graph. Its arguments are weight, mean,
// variance, u₁, u₂ and u₃.
func normalSplit(x []*Node) []*Node {
	w, m, v, u1, u2, u3 := x[0], x[1], x[2], x[3], x[4], x[5]
	rest, sd := OneMinus(u1), Sqrt(v)
	inner := Mul(v, OneMinus(Square(u2)))
	return []*Node{
		Mul(w, u1), Mul(w, rest),
		Sub(m, Mul(Mul(u2, sd), Sqrt(Div(rest, u1)))), Add(m, Mul(Mul(u2, sd), Sqrt(Div(u1, rest)))),
		Div(Mul(u3, inner), u1), Div(Mul(OneMinus(u3), inner), rest),
	}
}

// poissonSplit is the split of Poisson components as a graph. Its arguments are weight, rate, u₁
// and u₂.
func poissonSplit(x []*Node) []*Node {
	w, m, u1, u2 := x[0], x[1], x[2], x[3]
	rest := OneMinus(u1)
	return []*Node{Mul(w, u1), Mul(w, rest), Mul(m, u2), Div(Mul(m, OneMinus(Mul(u1, u2))), rest)}
}

// The Jacobian of a split agrees with automatic differentiation. merge inverts split, and both keep
// the weight, the mean and, for normal components, the variance.
func TestSplit(t *testing.T) {
	random := stream.Rand(1, "splits")
	for range 5 {
		one := component{weight: 0.1 + 0.8*random.Float64(), mean: 0.1 + random.Float64(), variance: 0.01 + random.Float64()}
		u := unitNumbers{}.draw(random)
		for name, family := range map[string]family{"normal": normals{}, "poisson": counts{}} {
			left, right := family.split(one, u)
			require.Less(t, left.mean, right.mean)
			require.InDelta(t, one.weight, left.weight+right.weight, 1e-12)
			require.InDelta(t, one.weight*one.mean, left.weight*left.mean+right.weight*right.mean, 1e-12)
			back, numbers := family.merge(left, right)
			var log float64
			var values, want []float64
			if name == "normal" {
				second := func(c component) float64 { return c.weight * (c.mean*c.mean + c.variance) }
				require.InDelta(t, second(one), second(left)+second(right), 1e-12)
				require.InDeltaSlice(t, []float64{one.weight, one.mean, one.variance, u[0], u[1], u[2]}, []float64{back.weight, back.mean, back.variance, numbers[0], numbers[1], numbers[2]}, 1e-9)
				log, values = autodiff(t, normalSplit, []float64{one.weight, one.mean, one.variance, u[0], u[1], u[2]})
				want = []float64{left.weight, right.weight, left.mean, right.mean, left.variance, right.variance}
			} else {
				require.InDeltaSlice(t, []float64{one.weight, one.mean, u[0], u[1]}, []float64{back.weight, back.mean, numbers[0], numbers[1]}, 1e-9)
				log, values = autodiff(t, poissonSplit, []float64{one.weight, one.mean, u[0], u[1]})
				want = []float64{left.weight, right.weight, left.mean, right.mean}
			}
			require.InDeltaSlice(t, want, values, 1e-9)
			require.InDelta(t, log, family.logJacobian(one, left, right, u), 1e-8, name)
			// Clusters have no weights: given u₁, the Jacobian of their parameters is the Jacobian
			// of components with weight 1.
			alone := one
			alone.weight = 1
			left, right = family.split(alone, u)
			x := []float64{one.mean, one.variance, u[1], u[2]}
			rest := func(x []float64) []float64 {
				l, r := family.split(component{weight: 1, mean: x[0], variance: x[1]}, []float64{u[0], x[2], x[3]})
				return []float64{l.mean, r.mean, l.variance, r.variance}
			}
			if name == "poisson" {
				x = []float64{one.mean, u[1]}
				rest = func(x []float64) []float64 {
					l, r := family.split(component{weight: 1, mean: x[0]}, []float64{u[0], x[1], 0.5})
					return []float64{l.mean, r.mean}
				}
			}
			require.InDelta(t, logDeterminant(rest, x), family.logJacobian(alone, left, right, u), 1e-4)
		}
	}
}

// A birth of a component with weight w multiplies the k weights of a mixture by 1−w. Since the
// weight w_k is not free, it is the map (w₁ … w_{k−1}, w) → ((1−w)w₁ … (1−w)w_{k−1}, w). The test
// checks that its Jacobian (1−w)^(k−1) turns the product of a Dirichlet density of k weights and
// the density Beta(δ, kδ) of w into a Dirichlet density of k+1 weights, so that the likelihood
// alone decides births and deaths.
func TestBirthRatio(t *testing.T) {
	const d, k = 1.7, 3
	w := []float64{0.2, 0.5, 0.3}
	born := 0.35
	log, _ := autodiff(t, func(x []*Node) []*Node {
		return []*Node{Mul(x[0], OneMinus(x[2])), Mul(x[1], OneMinus(x[2])), x[2]}
	}, []float64{w[0], w[1], born})
	dirichlet := func(weights []float64) float64 {
		total := logsum.Gamma(float64(len(weights))*d) - float64(len(weights))*logsum.Gamma(d)
		for _, x := range weights {
			total += (d - 1) * math.Log(x)
		}
		return total
	}
	after := []float64{0.65 * 0.2, 0.65 * 0.5, 0.65 * 0.3, born}
	proposal := dirichlet(w) + logsum.Gamma(d+k*d) - logsum.Gamma(d) - logsum.Gamma(k*d) + (d-1)*math.Log(born) + (k*d-1)*math.Log1p(-born)
	require.InDelta(t, proposal-log, dirichlet(after), 1e-9)
}

// The acceptance ratio of a split is the product of three ratios: of the densities of the states,
// of the probabilities of choosing the moves, and of the densities of the numbers u of the split.
func TestSplitRatioIsThatOfDensities(t *testing.T) {
	values := map[string][]float64{"normal": {1, 2.5, 2.7, 4, 9, 9.3}, "student": {1, 2.5, 2.7, 4, 9, 9.3}, "poisson": {1, 2, 2, 4, 9, 7}}
	for name, options := range map[string]Options{
		"normal": {}, "student": {Family: Student}, "poisson": {Family: Poisson},
	} {
		options.MaxComponents, options.Concentration = 5, 1.7
		p := problemOf(t, options, values[name])
		before := state{[]component{{0.4, 0.05, 0.02, nil}, {0.6, 0.3, 0.05, nil}}, []float64{0.4}}
		one, u := before.components[1], []float64{0.4, 0.5, 0.6}
		left, right := p.family.split(one, u)
		after := state{[]component{before.components[0], left, right}, before.beta}
		require.True(t, after.ordered())
		c := p.newChain(before, nil)
		want := p.logPrior(&after) - p.logPrior(&before) - unitNumbers{}.log(u) + p.family.logJacobian(one, left, right, u)
		require.InDelta(t, want, c.logSplitRatio(one, left, right, u, 2), 1e-10, name)
		require.InDelta(t, p.logLikelihood(&before), c.logLik, 1e-10, name)
	}
}

// The sum of logarithms is precise although logSum multiplies numbers first, even if the product of
// all numbers is outside of the range of float64.
func TestLogSum(t *testing.T) {
	x := []float64{1e-120, 1e-130, 1e-90, 3, 1e250, 1e-310, 7}
	want := -400*math.Ln10 + math.Log(21)
	require.InDelta(t, want, logSum(x), 1e-6) // the number 1e-310 has few digits
	require.True(t, math.IsInf(logSum([]float64{1, 0, 2}), -1))
}

// ordered reports whether the means increase strictly.
func (s *state) ordered() bool {
	for j := 1; j < len(s.components); j++ {
		if !(s.components[j].mean > s.components[j-1].mean) {
			return false
		}
	}
	return true
}
