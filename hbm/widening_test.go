package hbm

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// Draws from the mixture, weighted by the standard normal density over the density of the mixture,
// are standard normal: their weights have mean 1, and tails the right probability. The tolerance is
// four standard errors on eight numbers: a false alarm in 2,000 choices of the seed.
func TestWidenedNoiseHasTheDensityOfTheMixture(t *testing.T) {
	testkit.Slow(t)
	const draws = 200_000
	for _, sizes := range [][]int{{1}, {2, 0, 1}, {0, 5}, {1, 1, 1, 8}} {
		random := stream.Rand(1, "widening")
		b := newBlocks(random, [][]int{sizes}, draws, 1)
		far := make([]float64, draws) // 1 if the last number of a draw exceeds 3
		for draw := range draws {
			for v, d := range sizes {
				for range d {
					x := random.NormFloat64() * b.factors[draw*len(sizes)+v]
					b.squares[draw*len(sizes)+v] += x * x
					far[draw] = 0
					if math.Abs(x) > 3 {
						far[draw] = 1
					}
				}
			}
		}
		var ones, tail moment
		for draw, correction := range b.corrections() {
			weight := math.Exp(-correction)
			require.LessOrEqual(t, weight, 1/widenings[0].share+1e-9, "no weight is larger by more")
			ones.add(weight)
			tail.add(weight * far[draw])
		}
		require.InDelta(t, 1, ones.mean(), 4*ones.se())
		require.InDelta(t, 2*distuv.UnitNormal.CDF(-3), tail.mean(), 4*tail.se())
		require.Less(t, tail.se(), math.Sqrt(2*distuv.UnitNormal.CDF(-3)/draws), "tails are reached more often than by the family alone")
	}
}

// moment is a running mean with its standard error.
type moment struct{ n, sum, squares float64 }

func (m *moment) add(x float64) { m.n, m.sum, m.squares = m.n+1, m.sum+x, m.squares+x*x }
func (m *moment) mean() float64 { return m.sum / m.n }
func (m *moment) se() float64   { return math.Sqrt((m.squares/m.n - m.mean()*m.mean()) / m.n) }

// An empty block stretches nothing.
func TestAnEmptyBlockHasNoCorrection(t *testing.T) {
	require.Equal(t, []float64{0, 0, 0}, newBlocks(stream.Rand(1, "empty"), [][]int{{0, 0}}, 3, 1).corrections())
}

// Quantiles and corrections agree with the mixture's distribution function and density by gonum.
func TestQuantilesOfTheMixture(t *testing.T) {
	q, ones := widenedQuantiles(), 0.0
	for i, z := range q.z {
		ones += math.Exp(-q.correction[i]) / manyQuantiles
		if i%999 != 0 {
			continue
		}
		below, density := 0.0, 0.0
		for _, c := range widenings {
			normal := distuv.Normal{Sigma: stretchOf(1, c.beyond)}
			below, density = below+c.share*normal.CDF(z), density+c.share*normal.Prob(z)
		}
		require.InDelta(t, (float64(i)+0.5)/manyQuantiles, below, 1e-12)
		require.InDelta(t, math.Log(density)-distuv.UnitNormal.LogProb(z), q.correction[i], 1e-9)
	}
	require.InDelta(t, 1, ones, 1e-7, "the integral of the standard normal density")
}

// Means over the stratified inner draws of an outer draw, and over their first half, are unbiased.
// Their errors are smaller than with independent draws, and almost zero for one number. The
// tolerance is four standard errors on nine numbers, a false alarm in 1,700 choices of the seed.
func TestStratifiedDraws(t *testing.T) {
	const outer, inner = 4000, 8
	for name, c := range map[string]struct {
		sizes []int
		share float64 // largest variance, relative to means over independent draws
	}{"one": {[]int{0, 1}, 0.03}, "two variables": {[]int{1, 1}, 0.6}, "three numbers": {[]int{3}, 0.6}} {
		random := stream.Rand(1, "strata")
		b := newBlocks(random, [][]int{c.sizes}, outer, inner)
		first, numbers := slices.IndexFunc(c.sizes, func(d int) bool { return d > 0 }), 0
		far := make([]float64, b.draws) // 1 if the first number of a draw exceeds 1, else 0
		for v, d := range c.sizes {
			numbers += d
			s := newStrata(d, inner)
			for draw := range b.draws {
				for u, z := range s.append(random, nil) {
					if z = b.widen(0, draw, v, z); v == first && u == 0 && z > 1 {
						far[draw] = 1
					}
				}
			}
		}
		weight := b.corrections()
		for draw := range weight {
			weight[draw] = math.Exp(-weight[draw])
		}
		var ones, means, half, beyond moment
		for o := range outer {
			mean, first, above := 0.0, 0.0, 0.0
			for k := range inner {
				w := weight[o*inner+k]
				ones.add(w)
				mean += w / inner
				above += w * far[o*inner+k] / inner
				if k < inner/2 {
					first += w * far[o*inner+k] / (inner / 2)
				}
			}
			means.add(mean)
			half.add(first)
			beyond.add(above)
		}
		tail := 1 - distuv.UnitNormal.CDF(1)
		for _, m := range []moment{half, beyond} {
			require.InDelta(t, tail, m.mean(), 4*m.se(), name)
		}
		require.InDelta(t, 1, means.mean(), 4*means.se()+1e-6, name)
		require.Less(t, means.se()*means.se(), c.share*ones.se()*ones.se(), name)
	}
}

// For each number, one of n draws in succession lies in each of n parts of equal probability, in an
// order of its own. The first half of an order that the function halves makes has every second
// number.
func TestStrata(t *testing.T) {
	random := stream.Rand(2, "strata")
	for _, n := range []int{2, 5, 8} {
		s, orders := newStrata(2, n), map[string]bool{}
		for range 20 {
			parts := [2][]int{}
			for range n {
				for u, z := range s.append(random, nil) {
					parts[u] = append(parts[u], int(distuv.UnitNormal.CDF(z)*float64(n)))
				}
			}
			orders["apart"] = orders["apart"] || !slices.Equal(parts[0], parts[1])
			for _, part := range parts {
				slices.Sort(part)
				for k, at := range part {
					require.Equal(t, k, at)
				}
			}
		}
		require.True(t, orders["apart"])
		starts := map[int]bool{}
		for range 50 {
			order := make([]int, n)
			halves(random, order)
			starts[order[0]] = true
			for k := 1; k < n/2; k++ {
				require.Equal(t, (order[k-1]+2)%n, order[k])
			}
			slices.Sort(order)
			require.Equal(t, 0, order[0])
			require.Equal(t, n-1, order[n-1])
			require.Len(t, slices.Compact(order), n)
		}
		require.Greater(t, len(starts), 1)
	}
}
