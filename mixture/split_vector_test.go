package mixture

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// lower is the Cholesky factor of a matrix of two columns: its entries 11, 21 and 22.
type lower [3]*Node

func lowerOf(a11, a21, a22 *Node) lower {
	first := Sqrt(a11)
	second := Div(a21, first)
	return lower{first, second, Sqrt(Sub(a22, Square(second)))}
}

// times returns L M Lᵀ divided by the argument over, as entries 11, 21 and 22, for the symmetric M
// with entries m11, m21 and m22.
func (l lower) times(m11, m21, m22, over *Node) []*Node {
	cross := Add(Mul(l[1], m11), Mul(l[2], m21))
	last := Add(Add(Mul(Square(l[1]), m11), MulScalar(Mul(Mul(l[1], l[2]), m21), 2)), Mul(Square(l[2]), m22))
	return []*Node{Div(Mul(Square(l[0]), m11), over), Div(Mul(l[0], cross), over), Div(last, over)}
}

// vectorSplit is the split in two columns as a graph, written from its definition. It maps weight,
// mean, covariance, u₁, a and B to weights, means and covariances.
func vectorSplit(x []*Node) []*Node {
	w, m, s, u, a, b := x[0], x[1:3], x[3:6], x[6], x[7:9], x[9:12]
	rest, one := OneMinus(u), OnesLike(u)
	l := lowerOf(s[0], s[1], s[2])
	apart := []*Node{Mul(l[0], a[0]), Add(Mul(l[1], a[0]), Mul(l[2], a[1]))}
	out := []*Node{Mul(w, u), Mul(w, rest)}
	for i := range m {
		out = append(out, Sub(m[i], Mul(apart[i], Sqrt(Div(rest, u)))))
	}
	for i := range m {
		out = append(out, Add(m[i], Mul(apart[i], Sqrt(Div(u, rest)))))
	}
	within := lowerOf(Sub(s[0], Square(apart[0])), Sub(s[1], Mul(apart[0], apart[1])), Sub(s[2], Square(apart[1])))
	out = append(out, within.times(b[0], b[1], b[2], u)...)
	return append(out, within.times(Sub(one, b[0]), Neg(b[1]), Sub(one, b[2]), rest)...)
}

// numbersOf returns the weight, mean and covariance of a component of two columns as a list.
func numbersOf(c component) []float64 {
	var covariance mat.SymDense
	covariance.SymOuterK(1, c.vector.lower)
	return append([]float64{c.weight}, append(append([]float64(nil), c.vector.mean...), appendLower(nil, &covariance)...)...)
}

// The Jacobian of a split in two columns agrees with automatic differentiation of its definition.
// merge inverts split, and both keep weight, mean and covariance.
func TestSplitOfVectors(t *testing.T) {
	random, f := stream.Rand(4, "splits"), vectors{rows: [][]float64{{0, 0}}}
	for range 5 {
		sd := []float64{0.1 + random.Float64(), 0, 0.1 + random.Float64()}
		one := componentOf([]float64{random.NormFloat64(), random.NormFloat64()}, mat.NewTriDense(2, mat.Lower, []float64{sd[0], 0, random.NormFloat64(), sd[2]}))
		one.weight = 0.1 + 0.8*random.Float64()
		u := f.proposal().draw(random)
		require.False(t, math.IsInf(f.proposal().log(u), 0))
		left, right := f.split(one, u)
		require.Less(t, left.mean, right.mean)
		back, numbers := f.merge(left, right)
		require.InDeltaSlice(t, numbersOf(one), numbersOf(back), 1e-10)
		require.InDeltaSlice(t, u, numbers, 1e-9)
		log, values := autodiff(t, vectorSplit, append(numbersOf(one), u...))
		l, r := numbersOf(left), numbersOf(right)
		want := []float64{l[0], r[0], l[1], l[2], r[1], r[2], l[3], l[4], l[5], r[3], r[4], r[5]}
		require.InDeltaSlice(t, want, values, 1e-9)
		require.InDelta(t, log, f.logJacobian(one, left, right, u), 1e-7)
	}
}

// The density of the numbers of a split integrates to one, over a grid with one column. With two
// columns it agrees with draws: the expectation of 1/density over a box inside the support is the
// volume of the box.
func TestNumbersOfVectorSplits(t *testing.T) {
	testkit.Slow(t)
	const step = 0.02
	total := 0.0
	for u := step / 2; u < 1; u += step {
		for a := step / 2; a < 1; a += step {
			for b := step / 2; b < 1; b += step {
				total += step * step * step * math.Exp(vectorNumbers(1).log([]float64{u, a, b}))
			}
		}
	}
	require.InDelta(t, 1, total, 1e-3)
	const draws = 200_000
	random, d := stream.Rand(6, "numbers"), vectorNumbers(2)
	low, high := []float64{0.3, 0.2, -0.4, 0.3, -0.15, 0.3}, []float64{0.7, 0.6, 0.4, 0.7, 0.15, 0.7}
	mean, square, volume := 0.0, 0.0, 1.0
	for j := range low {
		volume *= high[j] - low[j]
	}
	for range draws {
		u, inside := d.draw(random), true
		for j, x := range u {
			inside = inside && x > low[j] && x < high[j]
		}
		if inside {
			x := math.Exp(-d.log(u))
			mean += x / draws
			square += x * x / draws
		}
	}
	// The bound is 4 standard errors: 1 comparison in 16,000 fails by chance.
	require.InDelta(t, volume, mean, 4*math.Sqrt((square-mean*mean)/draws))
}

// TestSplitsKeepThePosterior checks for every family that splits and merges leave the joint
// distribution of mixtures and data, and of clusters and data, unchanged (Geweke 2004). A mixture
// and its data are drawn from the prior, and a few moves given the data follow. The distribution of
// the mixture must still be the prior. The test compares 36 means to 4.5 standard errors each, and
// fails for one seed in 4,000 by chance.
func TestSplitsKeepThePosterior(t *testing.T) {
	testkit.Slow(t)
	const draws, n, most = 20_000, 5, 3
	values := []float64{-1, 0, 0.5, 2, 3}
	for name, p := range map[string]*Problem{
		"normal":       problemOf(t, Options{MaxComponents: most, Concentration: 1.5}, values),
		"poisson":      problemOf(t, Options{MaxComponents: most, Family: Poisson, RateExposure: 0.5}, []float64{0, 1, 2, 5, 3}),
		"multivariate": several(t, Options{MaxComponents: most, Concentration: 1.5}, values, []float64{1, 0, 4, 2, -3}),
	} {
		random := stream.Rand(8, name)
		differences := map[string][]float64{}
		note := func(move string, before, after []component, beta []float64) {
			for sign, list := range map[float64][]component{-1: before, 1: after} {
				numbers := []float64{float64(len(list)), 0, 0, 0}
				for _, c := range list {
					numbers[1] += math.Tanh(c.mean)
					if c.vector != nil {
						numbers[2] += math.Atan(c.vector.log)
						numbers[3] += vectors{}.correlation(0, 1, c) * math.Tanh(c.vector.mean[1]-c.mean)
					} else if c.variance > 0 {
						numbers[2] += math.Atan(math.Log(c.variance))
						numbers[3] += math.Tanh(c.mean) * math.Atan(math.Log(c.variance/beta[0]))
					}
				}
				for k, x := range numbers {
					key := move + string(rune('0'+k))
					if sign < 0 {
						x = -x
					}
					differences[key] = append(differences[key], x)
				}
			}
		}
		row := make([]float64, len(p.columns))
		for range draws {
			k := 1 + random.IntN(most)
			s := state{beta: p.family.startHyper()}
			for j := range s.beta {
				s.beta[j] = 0.02 * (0.5 + random.Float64())
			}
			total := 0.0
			for range k {
				c := p.family.draw(s.beta, random)
				c.weight = stream.Gamma(p.Options.Concentration, random)
				total += c.weight
				s.components = append(s.components, c)
			}
			for j := range s.components {
				s.components[j].weight /= total
			}
			s.sort()
			componentOf := make([]int, n) // the component of each row
			for i := range componentOf {
				u := random.Float64() - s.components[0].weight
				for componentOf[i] = 0; u > 0 && componentOf[i]+1 < k; u -= s.components[componentOf[i]].weight {
					componentOf[i]++
				}
				p.family.simulate(s.components[componentOf[i]], row, random)
				switch f := p.family.(type) {
				case normals:
					f.y[i] = row[0]
				case counts:
					f.y[i], f.logFactorial[i] = row[0], logsum.Gamma(row[0]+1)
				case vectors:
					copy(f.rows[i], row)
				}
			}
			before := s.clone()
			c := p.newChain(s, random)
			for range 3 {
				c.splitOrMerge()
			}
			note("mixtures", before.components, c.state.components, s.beta)
			clusters := p.newPartition(rank.UpTo(p.Rows()), 1, random)
			clusters.beta, clusters.counts, clusters.clusters, clusters.density = before.beta, nil, nil, nil
			number := map[int]int{}
			for i, j := range componentOf {
				at, known := number[j]
				if !known {
					at = len(number)
					number[j] = at
					clusters.counts, clusters.clusters = append(clusters.counts, 0), append(clusters.clusters, before.components[j])
				}
				clusters.counts[at]++
				clusters.cluster[i] = at
			}
			old := append([]component(nil), clusters.clusters...)
			for range 3 {
				clusters.splitOrMerge()
			}
			note("clusters", old, clusters.clusters, before.beta)
		}
		for move, list := range differences {
			mean, square := 0.0, 0.0
			for d := 0; d < len(list); d += 2 {
				x := list[d] + list[d+1]
				mean += x / draws
				square += x * x / draws
			}
			require.LessOrEqual(t, math.Abs(mean), 4.5*math.Sqrt(square/draws), "%s: %s", name, move)
		}
	}
}
