package changepoint

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/table"
)

// greenChain is the sampler of Green (1995, section 4). Its state is the heights of the rate and
// the places of changes. Births and deaths of places preserve the mean of the log height over time.
type greenChain struct {
	p       *Problem
	places  []float64 // places of changes, with both ends of the window
	heights []float64
	random  *rand.Rand
	// power is the exponent of the likelihood in the tempered posterior.
	power float64
}

// segment returns the tempered log likelihood of [from, to) at a height, plus the log of the factor
// of this segment in the prior of places.
func (c *greenChain) segment(from, to, height float64) float64 {
	first, _ := slices.BinarySearch(c.p.times, from)
	last, _ := slices.BinarySearch(c.p.times, to)
	return c.power*(float64(last-first)*math.Log(height)-height*(to-from)) + math.Log(to-from)
}

// prior returns the log prior density of a height.
func (c *greenChain) prior(height float64) float64 {
	a, b := c.p.Options.RateShape, c.p.Options.RateExposure
	return a*math.Log(b) - logsum.Gamma(a) + (a-1)*math.Log(height) - b*height
}

// step makes one of four moves: it changes a height or a place, or proposes a birth or a death.
func (c *greenChain) step() {
	k := len(c.heights) - 1
	low, high := c.places[0], c.places[k+1]
	accept := func(log float64) bool { return math.Log(1-c.random.Float64()) < log }
	switch move := c.random.IntN(4); move {
	case 0:
		j := c.random.IntN(k + 1)
		old := c.heights[j]
		h := old * math.Exp(c.random.Float64()-0.5)
		from, to := c.places[j], c.places[j+1]
		// The proposal is uniform in log h, so that the ratio needs the prior per log height.
		if accept(c.segment(from, to, h) - c.segment(from, to, old) + c.prior(h) - c.prior(old) + math.Log(h/old)) {
			c.heights[j] = h
		}
	case 1:
		if k == 0 {
			return
		}
		j := 1 + c.random.IntN(k)
		from, to := c.places[j-1], c.places[j+1]
		place := from + (to-from)*c.random.Float64()
		if accept(c.segment(from, place, c.heights[j-1]) + c.segment(place, to, c.heights[j]) -
			c.segment(from, c.places[j], c.heights[j-1]) - c.segment(c.places[j], to, c.heights[j])) {
			c.places[j] = place
		}
	case 2:
		if k == c.p.Options.MaxChanges {
			return
		}
		place := low + (high-low)*c.random.Float64()
		j := 0
		for c.places[j+1] < place {
			j++
		}
		from, to := c.places[j], c.places[j+1]
		u, h := c.random.Float64(), c.heights[j]
		left, right := split(h, (place-from)/(to-from), u)
		if accept(c.birth(from, place, to, h, left, right, k, high-low)) {
			c.places = slices.Insert(c.places, j+1, place)
			c.heights = slices.Insert(c.heights, j, left)
			c.heights[j+1] = right
		}
	case 3:
		if k == 0 {
			return
		}
		j := c.random.IntN(k) // the heights j and j+1 become one height
		from, place, to := c.places[j], c.places[j+1], c.places[j+2]
		left, right := c.heights[j], c.heights[j+1]
		share := (place - from) / (to - from)
		h := math.Exp(share*math.Log(left) + (1-share)*math.Log(right))
		if accept(-c.birth(from, place, to, h, left, right, k-1, high-low)) {
			c.places = slices.Delete(c.places, j+1, j+2)
			c.heights = slices.Delete(c.heights, j, j+1)
			c.heights[j] = h
		}
	}
}

// split divides a height h into two heights such that share log left + (1−share) log right = log h
// and right/left = (1−u)/u.
func split(h, share, u float64) (left, right float64) {
	ratio := (1 - u) / u
	return h * math.Pow(ratio, share-1), h * math.Pow(ratio, share)
}

// birth returns the log acceptance ratio of a birth from k changes. Its factors are the ratio of
// posteriors, the ratio of proposals (a place in the window against one of k+1 places) and the
// Jacobian (left+right)²/h.
func (c *greenChain) birth(from, place, to, h, left, right float64, k int, window float64) float64 {
	return c.segment(from, place, left) + c.segment(place, to, right) - c.segment(from, to, h) +
		c.prior(left) + c.prior(right) - c.prior(h) +
		math.Log(c.p.Options.MeanChanges/float64(k+1)) + math.Log(float64((2*k+2)*(2*k+3))/(window*window)) +
		math.Log(window/float64(k+1)) + 2*math.Log(left+right) - math.Log(h)
}

// The Jacobian of a split agrees with finite differences.
func TestJacobianOfTheSplit(t *testing.T) {
	const h, share, u, d = 1.7, 0.3, 0.62, 1e-6
	l0, r0 := split(h-d, share, u)
	l1, r1 := split(h+d, share, u)
	l2, r2 := split(h, share, u-d)
	l3, r3 := split(h, share, u+d)
	numeric := math.Abs((l1-l0)*(r3-r2)-(l3-l2)*(r1-r0)) / (4 * d * d)
	left, right := split(h, share, u)
	require.InDelta(t, square(left+right)/h, numeric, 1e-6)
}

// The exact posterior of the coal data agrees with a tempered reversible-jump sampler written
// separately for this test: p(k | data) and rates agree to within 0.01. The exact posterior also
// agrees with the recursion on counts by year. The most probable first change is around 1890.
func TestCoalAgreesWithReversibleJump(t *testing.T) {
	testkit.Long(t)
	p := coal(t)
	post, err := p.Posterior(gocontext.Background())
	require.NoError(t, err)
	first := post.describe(post.Place(floats.MaxIdx(post.Probabilities), 1))
	require.InDelta(t, 1890, float64(first.Mode), 2)

	yearly := make([]float64, 112)
	for _, date := range p.times {
		yearly[int(date)-1851]++
	}
	years := make([]float64, len(yearly))
	for i := range years {
		years[i] = 1851 + float64(i)
	}
	data, err := table.New("yearly", table.Numbers("year", years), table.Numbers("events", yearly))
	require.NoError(t, err)
	counts, err := NewProblem(data, Options{Time: "year", Value: "events", Kind: Rate, Places: Spaced, RateExposure: p.Options.RateExposure})
	require.NoError(t, err)
	byYear, err := counts.Posterior(gocontext.Background())
	require.NoError(t, err)
	t.Logf("p(k) by moments %.4f\np(k) by years   %.4f", post.Probabilities[:9], byYear.Probabilities[:9])
	require.Less(t, floats.Distance(post.Probabilities, byYear.Probabilities, math.Inf(1)), 0.01)
	testkit.Slow(t)

	const chains, rungs, rounds, within = 4, 3, 25_000, 10
	moments := []float64{1860.5, 1885.5, 1900.5, 1935.5, 1955.5}
	shares := make([][]float64, chains)
	rates := make([][]float64, chains)
	counted := make([][]float64, chains) // the number of changes of each chain after each round
	err = parallel.Do(chains, func(c int) error {
		random := stream.Rand(uint64(c), "green")
		ladder := make([]*greenChain, rungs)
		for r := range ladder {
			ladder[r] = &greenChain{p: p, places: []float64{1851, 1963}, heights: []float64{1.7}, random: random, power: math.Pow(0.7, float64(r))}
		}
		shares[c], rates[c] = make([]float64, len(post.Probabilities)), make([]float64, len(moments))
		for round := range rounds {
			for _, chain := range ladder {
				for range within {
					chain.step()
				}
			}
			r := random.IntN(rungs - 1)
			a, b := ladder[r], ladder[r+1]
			if math.Log(1-random.Float64()) < (a.power-b.power)*(b.logLikelihood()-a.logLikelihood()) {
				a.places, b.places, a.heights, b.heights = b.places, a.places, b.heights, a.heights
			}
			if round >= rounds/10 {
				k := len(ladder[0].heights) - 1
				shares[c][k] += 1 / (0.9 * rounds)
				counted[c] = append(counted[c], float64(k))
				for m, moment := range moments {
					j, _ := slices.BinarySearch(ladder[0].places, moment)
					rates[c][m] += ladder[0].heights[j-1] / (0.9 * rounds)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Less(t, rjmcmc.Summarise(counted).RHat, 1.01)
	mean := make([]float64, len(post.Probabilities))
	for _, share := range shares {
		for k := range mean {
			mean[k] += share[k] / chains
		}
	}
	t.Logf("p(k) by chains  %.4f", mean[:9])
	require.Less(t, floats.Distance(post.Probabilities, mean, math.Inf(1)), 0.01)

	// A mean over these exact draws has a standard error of about 0.002.
	draws := post.sample(40_000, stream.Rand(1, "draws"))
	for m, moment := range moments {
		exact, chain := 0.0, 0.0
		for _, d := range draws {
			j := 0
			for j < len(d.places) && post.moments.times[d.places[j]] < moment {
				j++
			}
			exact += d.levels[j].mean / float64(len(draws))
		}
		for _, rate := range rates {
			chain += rate[m] / chains
		}
		t.Logf("rate at %g: exact %.4f, chains %.4f", moment, exact, chain)
		require.InDelta(t, exact, chain, 0.01)
	}
}

// logLikelihood returns the log likelihood of the state, not tempered.
func (c *greenChain) logLikelihood() float64 {
	total := 0.0
	for j, h := range c.heights {
		from, to := c.places[j], c.places[j+1]
		total += (c.segment(from, to, h) - math.Log(to-from)) / c.power
	}
	return total
}
