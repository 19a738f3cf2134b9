package calibrate

import (
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/apply"
)

// Uniformity compares ranks of true parameters among posterior draws with the uniform distribution.
type Uniformity struct {
	Kind string `json:"kind"`
	// Count is the number of ranks.
	Count int `json:"count"`
	// Histogram counts the ranks in equal parts of [0, 1].
	Histogram []int `json:"histogram"`
	// Levels are points of [0, 1]. Difference is the empirical distribution function of the ranks
	// at these points, minus the points.
	Levels     []float64 `json:"levels"`
	Difference []float64 `json:"difference"`
	// Lower and Upper are the bounds of Difference at each level. Together they form a band, in
	// which the Difference of a uniform sample stays at all levels with probability [BandLevel].
	Lower []float64 `json:"lower"`
	Upper []float64 `json:"upper"`
	// Crossed reports whether the difference leaves the band.
	Crossed bool `json:"crossed"`
}

// BandLevel is the probability that uniform ranks stay within the band of [Uniformity] at all
// levels.
const BandLevel = 0.95

// bins is the number of bars of a histogram. The band has bandLevels − 1 levels, evenly spaced in
// [0, 1].
const (
	bins       = 20
	bandLevels = 100
	// bandSimulation is the number of simulated samples. With this number the probability of a band
	// has a standard error of 0.4 percentage points.
	bandSimulation = 4000
)

// NewUniformity compares ranks of parameters of one kind with the uniform distribution on [0, 1].
func NewUniformity(kind string, ranks []float64) *Uniformity {
	u := &Uniformity{Kind: kind, Count: len(ranks), Histogram: make([]int, bins)}
	sorted := slices.Sorted(slices.Values(ranks))
	for _, r := range sorted {
		u.Histogram[min(bins-1, int(r*bins))]++
	}
	n := float64(len(ranks))
	lower, upper := band(len(ranks))
	for k := range bandLevels - 1 {
		level := float64(k+1) / bandLevels
		below := sort.Search(len(sorted), func(i int) bool { return sorted[i] > level })
		difference := float64(below)/n - level
		u.Levels, u.Difference = append(u.Levels, level), append(u.Difference, difference)
		u.Lower, u.Upper = append(u.Lower, lower[k]/n-level), append(u.Upper, upper[k]/n-level)
		u.Crossed = u.Crossed || float64(below) < lower[k] || float64(below) > upper[k]
	}
	return u
}

// bands caches the bands by sample size.
var bands sync.Map

// band returns bounds for the counts of a sample of n uniform ranks: lower[k] ≤ #{ranks ≤
// (k+1)/bandLevels} ≤ upper[k] holds for all k at once with probability BandLevel. The bounds are
// binomial intervals whose pointwise level is found by simulation (Säilynoja, Bürkner and Vehtari
// 2022, algorithm 2).
func band(n int) (lower, upper []float64) {
	if known, ok := bands.Load(n); ok {
		pair := known.([2][]float64)
		return pair[0], pair[1]
	}
	random := rand.New(rand.NewPCG(uint64(n), 1)) // a fixed seed, so that the band depends on n only
	points := bandLevels - 1
	// tails[k][c] is the probability of less than c ranks below level k.
	tails := apply.UpTo(points, func(k int) []float64 {
		below := distuv.Binomial{N: float64(n), P: float64(k+1) / bandLevels}
		return apply.UpTo(n+2, func(count int) float64 { return below.CDF(float64(count - 1)) })
	})
	extremes := make([]float64, bandSimulation)
	counts := make([]int, bandLevels)
	for s := range extremes {
		clear(counts)
		for range n {
			counts[random.IntN(bandLevels)]++
		}
		least, below := 1.0, 0
		for k := range points {
			below += counts[k]
			least = min(least, 2*tails[k][below+1], 2*(1-tails[k][below]))
		}
		extremes[s] = least
	}
	slices.Sort(extremes)
	gamma := extremes[int(float64(bandSimulation)*(1-BandLevel))]
	for k := range points {
		low, high := 0, n
		for tails[k][low+1]*2 < gamma {
			low++
		}
		for (1-tails[k][high])*2 < gamma {
			high--
		}
		lower, upper = append(lower, float64(low)), append(upper, float64(high))
	}
	bands.Store(n, [2][]float64{lower, upper})
	return lower, upper
}
