package hbm

import (
	"math"
	"math/rand/v2"
	"sync"
)

// manyQuantiles is how many quantiles of the mixture of a single number there are: a mean over
// all of them is the integral to far more digits than draws tell.
const manyQuantiles = 1 << 16

// widenedNumbers are the quantiles z of the mixture of widenings for a block of one number, at (i +
// 1/2) / manyQuantiles, and the logarithm of its density over that of a standard normal number.
type widenedNumbers struct{ z, correction [manyQuantiles]float64 }

// widenedQuantiles computes them once.
var widenedQuantiles = sync.OnceValue(func() *widenedNumbers {
	q, one := &widenedNumbers{}, newBlock([]int{1})
	z := 0.0
	for i := manyQuantiles / 2; i < manyQuantiles; i++ {
		// the distribution function is concave here, so that steps from the left stay there
		for target, step := (float64(i)+0.5)/manyQuantiles, 1.0; step > 1e-13*(1+z); z += step {
			below, density := 0.0, 0.0
			for _, c := range widenings {
				x := z / stretchOf(1, c.beyond)
				below += c.share * math.Erfc(-x/math.Sqrt2) / 2
				density += c.share * math.Exp(-x*x/2) / (stretchOf(1, c.beyond) * math.Sqrt(2*math.Pi))
			}
			step = (target - below) / density
		}
		for _, place := range []struct {
			at   int
			sign float64
		}{{i, 1}, {manyQuantiles - 1 - i, -1}} {
			q.z[place.at], q.correction[place.at] = place.sign*z, one.correction([]float64{z * z})
		}
	}
	return q
})

// halves puts the numbers 0 to n−1 into an order in which the first half has every second one.
func halves(random *rand.Rand, order []int) {
	n := len(order)
	if n%2 == 0 {
		first := random.IntN(2)
		for k := range n / 2 {
			order[k], order[n/2+k] = 2*k+first, 2*k+1-first
		}
		return
	}
	first := random.IntN(n)
	for k := range order {
		order[k] = (2*k + first) % n
	}
}

// strata are standard normal numbers of which each n draws in succession are a Latin hypercube
// (McKay, Beckman and Conover 1979): of each number one draw lies in each n-th part of its
// distribution.
type strata struct {
	n, draw int
	order   [][]int // of each number
}

func newStrata(numbers, n int) *strata {
	s := &strata{n: n}
	for range numbers {
		s.order = append(s.order, make([]int, n))
		for k := range n {
			s.order[len(s.order)-1][k] = k
		}
	}
	return s
}

// append adds the numbers of the next draw to z.
func (s *strata) append(random *rand.Rand, z []float64) []float64 {
	for _, order := range s.order {
		if s.n == 1 {
			z = append(z, random.NormFloat64())
			continue
		}
		if s.draw == 0 {
			random.Shuffle(s.n, func(a, b int) { order[a], order[b] = order[b], order[a] })
		}
		u := (float64(order[s.draw]) + random.Float64()) / float64(s.n)
		z = append(z, math.Sqrt2*math.Erfinv(math.Max(2*u-1, math.Nextafter(-1, 0))))
	}
	s.draw = (s.draw + 1) % s.n
	return z
}
