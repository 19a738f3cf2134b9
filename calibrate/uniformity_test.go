package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Uniform ranks leave the band in 5 percent of samples: of 400 between 2.2 and 8 percent, which is
// missed with probability 0.5 percent. Ranks of a posterior whose sd is 30 percent too small leave
// it nearly always.
func TestBandHoldsAndFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	crossed, found := 0, 0
	for range 400 {
		right, narrow := make([]float64, 300), make([]float64, 300)
		for i := range right {
			right[i] = random.Float64()
			narrow[i] = 0.5 * math.Erfc(-random.NormFloat64()/0.7/math.Sqrt2)
		}
		if NewUniformity("right", right).Crossed {
			crossed++
		}
		if NewUniformity("narrow", narrow).Crossed {
			found++
		}
	}
	t.Logf("%d of 400 uniform samples cross the band, %d of 400 narrow ones", crossed, found)
	require.InDelta(t, 20, crossed, 11.5)
	require.Greater(t, found, 390)
}

// Events as frequent as stated stay in their bands; events of an overconfident method do not.
func TestReliability(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var right, sure []Event
	for range 2000 {
		p := random.Float64()
		happened := random.Float64() < p
		right = append(right, Event{Probability: Number(p), True: happened})
		odds := math.Pow(p/(1-p), 2)
		sure = append(sure, Event{Probability: Number(odds / (1 + odds)), True: happened})
	}
	r := NewReliability("right", right)
	require.False(t, r.Crossed)
	require.InDelta(t, r.Noise, r.ExpectedError, 2*r.Noise)
	require.True(t, NewReliability("sure", sure).Crossed)
}

// The band of events with one probability agrees with the binomial distribution.
func TestPoissonBinomial(t *testing.T) {
	low, high, _ := poissonBinomial([]float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 0.05)
	require.Equal(t, 2.0, low)
	require.Equal(t, 8.0, high)
	low, high, distance := poissonBinomial([]float64{0, 1, 1}, 0.05)
	require.Equal(t, []float64{2, 2, 0}, []float64{low, high, distance})
}
