package hbm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/stream"
)

// Draws from the mixture, weighted by the standard normal density over that of the mixture, are
// standard normal: their weights have mean 1, and tails the right probability. Four standard errors
// on eight numbers, a false alarm in 2,000 choices of the seed.
func TestWidenedNoiseHasTheDensityOfTheMixture(t *testing.T) {
	const draws = 200_000
	for _, sizes := range [][]int{{1}, {2, 0, 1}, {0, 5}, {1, 1, 1, 8}} {
		random := stream.Rand(1, "widening")
		b := newBlocks(random, [][]int{sizes}, draws, 1)
		far := make([]float64, draws) // whether the last number of a draw is beyond 3
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

// Nothing is stretched where there is nothing.
func TestAnEmptyBlockHasNoCorrection(t *testing.T) {
	require.Equal(t, []float64{0, 0, 0}, newBlocks(stream.Rand(1, "empty"), [][]int{{0, 0}}, 3, 1).corrections())
}
