package colocate

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// weigh returns a posterior over the subsets of predictors that have a positive probability. It is
// the same in all blocks of draws.
func weigh(predictors int, probability func(subset uint) float64) (list []weightedModel) {
	for subset := range uint(1) << predictors {
		m, weight := weightedModel{}, probability(subset)
		if weight == 0 {
			continue
		}
		for j := range predictors {
			if subset>>j&1 == 1 {
				m.members = append(m.members, j)
			}
		}
		for block := range m.draws {
			m.draws[block] = weight
		}
		list = append(list, m)
	}
	return list
}

// The probabilities equal sums over all pairs of subsets A and B, with the joint prior by
// definition: given A and the size of B, the probability of B is proportional to r^k for k shared
// predictors.
func TestHypothesesAreSumsOverPairs(t *testing.T) {
	const predictors, prior = 5, 0.3
	random := rand.New(rand.NewPCG(1, 2))
	a, b := make([]float64, 1<<predictors), make([]float64, 1<<predictors)
	for m := range a {
		a[m], b[m] = random.ExpFloat64(), random.ExpFloat64()
	}
	// r / (r + 4) = prior
	r := prior * (predictors - 1) / (1 - prior)
	var want [hypotheses]float64
	both, whole := make([]float64, predictors), 0.0
	for m := range a {
		for n := range b {
			norm, ways := 0.0, 0.0
			for other := range b {
				if bits.OnesCount(uint(other)) == bits.OnesCount(uint(n)) {
					norm += math.Pow(r, float64(bits.OnesCount(uint(m&other))))
					ways++
				}
			}
			mass := a[m] * b[n] * math.Pow(r, float64(bits.OnesCount(uint(m&n)))) / (norm / ways)
			h := 0 // neither trait has predictors
			switch {
			case m&n != 0:
				h = 4
			case m != 0 && n != 0:
				h = 3
			case m != 0:
				h = 1
			case n != 0:
				h = 2
			}
			want[h] += mass
			whole += mass
			for j := range both {
				if m&n>>j&1 == 1 {
					both[j] += mass
				}
			}
		}
	}
	modelsA := weigh(predictors, func(m uint) float64 { return a[m] })
	modelsB := weigh(predictors, func(m uint) float64 { return b[m] })
	p := newPairs(modelsA, modelsB, predictors)
	got, se := p.estimate(oddsOf(prior, predictors), [2]float64{1, 1})
	for h := range want {
		require.InDelta(t, want[h]/whole, got[h], 1e-12)
		require.InDelta(t, 1.0/usedDraws, se[h], 1e-12) // all blocks are equal
	}
	for j, share := range p.sharing(modelsA, modelsB, oddsOf(prior, predictors)) {
		require.InDelta(t, both[j]/whole, share, 1e-12)
	}
}

// If all models of one predictor are equally probable in both runs, the probability of a shared
// predictor must be the requested prior probability, and 1/p if the odds are 1.
func TestPriorOfOnePredictorEach(t *testing.T) {
	const predictors = 8
	single := weigh(predictors, func(m uint) float64 {
		if bits.OnesCount(m) == 1 {
			return 1
		}
		return 0
	})
	p := newPairs(single, single, predictors)
	for _, prior := range []float64{0.01, 1.0 / predictors, 0.9} {
		got, _ := p.estimate(oddsOf(prior, predictors), [2]float64{1, 1})
		require.InDelta(t, prior, got[shared], 1e-12)
		require.InDelta(t, 1-prior, got[distinct], 1e-12)
	}
	require.InDelta(t, 1, oddsOf(1.0/predictors, predictors), 1e-12)
}

// True models are drawn from the joint prior with one or two predictors each, and signals from
// normal distributions around them. Each run weights all models by its signals. Stated
// probabilities of shared predictors must be frequencies: their sum is within four standard errors
// of the number of true cases, which fails by chance in one of 16,000 runs.
func TestSharedProbabilityIsCalibrated(t *testing.T) {
	const predictors, tables, prior, signal = 6, 300, 0.4, 1.5
	random := rand.New(rand.NewPCG(3, 4))
	r := oddsOf(prior, predictors)
	draw := func(odds func(subset uint) float64) uint { // draws a subset of one or two predictors
		size := 1 + random.IntN(2)
		var list []uint
		var upTo []float64
		sum := 0.0
		for m := range uint(1) << predictors {
			if bits.OnesCount(m) == size {
				sum += odds(m)
				list, upTo = append(list, m), append(upTo, sum)
			}
		}
		u := random.Float64() * sum
		for k := range list {
			if u < upTo[k] {
				return list[k]
			}
		}
		return list[len(list)-1]
	}
	posterior := func(truth uint) []weightedModel {
		z := make([]float64, predictors)
		for j := range z {
			z[j] = random.NormFloat64() + signal*float64(truth>>j&1)
		}
		return weigh(predictors, func(m uint) float64 {
			size := bits.OnesCount(m)
			if size != 1 && size != 2 {
				return 0
			}
			log := 0.0
			for j, v := range z {
				if m>>j&1 == 1 {
					log += signal*v - signal*signal/2
				}
			}
			return math.Exp(log) / map[int]float64{1: 6, 2: 15}[size]
		})
	}
	excess, variance := 0.0, 0.0
	for range tables {
		a := draw(func(uint) float64 { return 1 })
		b := draw(func(m uint) float64 { return math.Pow(r, float64(bits.OnesCount(m&a))) })
		p, _ := newPairs(posterior(a), posterior(b), predictors).estimate(r, [2]float64{1, 1})
		variance += p[shared] * (1 - p[shared])
		excess -= p[shared]
		if a&b != 0 {
			excess++
		}
	}
	require.Less(t, math.Abs(excess), 4*math.Sqrt(variance))
	require.Greater(t, variance, 25.0) // the probabilities are not all near 0 or 1
}

// Standard errors match the differences between independent sets of draws: over 200 sets, the mean
// of squared errors agrees with the squared standard errors to within four standard errors of the
// mean (40 %), which fails by chance in one of 16,000 runs.
func TestStandardErrorsOfShared(t *testing.T) {
	const predictors, draws, sets = 4, 1000, 200
	random := rand.New(rand.NewPCG(5, 6))
	shareA, shareB := []float64{0.5, 0.3, 0.1, 0.1}, []float64{0.2, 0.2, 0.3, 0.3}
	exact := func(share []float64) []weightedModel {
		return weigh(predictors, func(m uint) float64 {
			if bits.OnesCount(m) != 1 {
				return 0
			}
			return share[bits.TrailingZeros(m)]
		})
	}
	drawn := func(share []float64) []weightedModel {
		list := make([]weightedModel, predictors)
		for j := range list {
			list[j].members = []int{j}
		}
		for i := range draws {
			u, j := random.Float64(), 0
			for ; j+1 < predictors && u >= share[j]; j++ {
				u -= share[j]
			}
			list[j].draws[i*blocks/draws]++
		}
		return list
	}
	odds := oddsOf(0.5, predictors)
	want, _ := newPairs(exact(shareA), exact(shareB), predictors).estimate(odds, [2]float64{1, 1})
	squares, stated := 0.0, 0.0
	for range sets {
		got, se := newPairs(drawn(shareA), drawn(shareB), predictors).estimate(odds, [2]float64{1, 1})
		squares += (got[shared] - want[shared]) * (got[shared] - want[shared])
		stated += se[shared] * se[shared]
	}
	require.InDelta(t, 1, squares/stated, 0.4)
}
