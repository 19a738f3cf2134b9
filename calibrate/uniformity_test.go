package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Samples of uniform ranks leave the band with probability 5 percent. Of 400 samples between 2.2
// and 8 percent should leave it; the test fails by chance with probability 0.5 percent. Ranks from
// a posterior whose standard deviation is 30 percent too small leave the band nearly always.
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

// The frequencies of events stay in their bands if the stated probabilities are right, and leave
// them if the probabilities are overconfident.
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

// The band of events that all have the same probability agrees with the binomial distribution.
func TestPoissonBinomial(t *testing.T) {
	low, high, _ := poissonBinomial([]float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 0.05)
	require.Equal(t, 2.0, low)
	require.Equal(t, 8.0, high)
	low, high, distance := poissonBinomial([]float64{0, 1, 1}, 0.05)
	require.Equal(t, []float64{2, 2, 0}, []float64{low, high, distance})
}
