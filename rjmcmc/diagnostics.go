package rjmcmc

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// Summary describes the posterior of one quantity, with its convergence diagnostics.
type Summary struct {
	Mean, SD float64
	// MCSE is the Monte Carlo standard error of Mean: SD/√n, n the effective number of draws for
	// the mean. For an indicator, MCSE is at least the error for n draws and one more draw of each
	// outcome. If an indicator never changed, its autocorrelation is unknown, and each of the C
	// chains counts as one draw: MCSE is √(p(1−p)/C) with p = ½/(C+1). For any other quantity that
	// never changed, MCSE is 0.
	MCSE float64
	// RHat is the rank-normalised split R-hat, the larger of its bulk and folded forms (Vehtari,
	// Gelman, Simpson, Carpenter and Bürkner 2021). Values above 1.01 mean that the chains have not
	// mixed. RHat is NaN when the quantity never changed or a chain has fewer than four draws. It
	// is +Inf when every half of a chain is constant but not all halves are equal.
	RHat float64
	// ESS is the bulk effective number of draws over all chains; NaN where RHat is NaN.
	ESS float64
}

// fewestDraws is the least number of draws per chain for which RHat and ESS are computed.
const fewestDraws = 4

// Summarise describes a quantity from its draws in equally long chains, [chains][draws]. Without
// draws, all fields are NaN.
func Summarise(chains [][]float64) Summary {
	var s Summary
	s.Mean, s.SD = stat.MeanStdDev(slices.Concat(chains...), nil)
	if len(chains[0]) > 0 && distinct(chains) == 1 {
		s.SD, s.RHat, s.ESS = 0, math.NaN(), math.NaN()
		return s
	}
	if len(chains[0]) < fewestDraws {
		s.MCSE, s.RHat, s.ESS = math.NaN(), math.NaN(), math.NaN()
		return s
	}
	halves := split(chains)
	if distinct(halves) <= 2 { // ranks and distances from the median then change nothing
		s.RHat, s.ESS = plainRHat(halves), effectiveSize(halves)
		s.MCSE = s.SD / math.Sqrt(s.ESS)
		return s
	}
	s.RHat = rHat(halves)
	s.ESS = effectiveSize(rankNormalise(halves))
	s.MCSE = s.SD / math.Sqrt(effectiveSize(halves))
	return s
}

// split halves every chain, dropping the middle draw if the number of draws is odd.
func split(chains [][]float64) [][]float64 {
	halves := make([][]float64, 0, 2*len(chains))
	for _, chain := range chains {
		half := len(chain) / 2
		halves = append(halves, chain[:half], chain[len(chain)-half:])
	}
	return halves
}

// rHat returns the larger of two R-hats: of the values (bulk), and of their distances from the
// median (folded). The chains must have more than two values.
func rHat(chains [][]float64) float64 {
	all := slices.Concat(chains...)
	slices.Sort(all)
	median := (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	folded := apply.To(chains, func(chain []float64) []float64 {
		return apply.To(chain, func(v float64) float64 { return math.Abs(v - median) })
	})
	return max(plainRHat(rankNormalise(chains)), plainRHat(rankNormalise(folded)))
}

// plainRHat returns √(var⁺/W) with var⁺ = (n−1)/n W + B/n, where n is the length of each chain, W
// the mean variance within chains and B/n the variance of the means of chains.
func plainRHat(chains [][]float64) float64 {
	n := float64(len(chains[0]))
	if n < 2 {
		return math.NaN()
	}
	within, between := variances(chains)
	if within == 0 {
		return math.Inf(1)
	}
	return math.Sqrt((n-1)/n + between/within)
}

// variances returns two unbiased variances: the mean variance within chains, and the variance of
// the means of chains.
func variances(chains [][]float64) (within, between float64) {
	means := make([]float64, len(chains))
	for c, chain := range chains {
		var variance float64
		means[c], variance = stat.MeanVariance(chain, nil)
		within += variance / float64(len(chains))
	}
	return within, stat.Variance(means, nil)
}

// effectiveSize returns the number of independent draws whose mean is as precise as the mean of the
// N draws of the chains: N / τ with τ = 1 + 2 Σ ρ_t. The sum of the autocorrelations ρ_t, combined
// over chains, ends where Geyer's initial monotone sequence of pairs does (Vehtari et al. 2021,
// section 3). The result is at most N log10 N.
func effectiveSize(chains [][]float64) float64 {
	n, total := len(chains[0]), float64(len(chains)*len(chains[0]))
	if n < 2 {
		return math.NaN()
	}
	within, between := variances(chains)
	pooled := within*float64(n-1)/float64(n) + between // var⁺
	centred := make([][]float64, len(chains))
	for c, chain := range chains {
		centred[c] = slices.Clone(chain)
		floats.AddConst(-stat.Mean(chain, nil), centred[c])
	}
	rho := func(lag int) float64 {
		var sum float64
		for _, x := range centred {
			for i, v := range x[lag:] {
				sum += v * x[i]
			}
		}
		return 1 - (within-sum/total)/pooled
	}
	// Pairs ρ_2k + ρ_2k+1 of a reversible chain are positive and decreasing. Stop at the first
	// negative pair, and replace each pair by the smallest so far.
	tau, previous := -1.0, math.Inf(1)
	for lag := 0; lag+1 < n; lag += 2 {
		even := 1.0
		if lag > 0 {
			even = rho(lag)
		}
		pair := even + rho(lag+1)
		if pair <= 0 {
			tau += max(0, even) // this lowers the variance of the estimate for antithetic chains
			break
		}
		previous = min(previous, pair)
		tau += 2 * previous
	}
	return total / max(tau, 1/math.Log10(total))
}

// rankNormalise replaces values by the normal quantiles of their ranks over all chains; ties have
// their average rank. Values with at most two distinct ones stay unchanged, since the map would
// be affine and would change no result.
func rankNormalise(chains [][]float64) [][]float64 {
	if distinct(chains) <= 2 {
		return chains
	}
	n, flat := len(chains[0]), rank.Mid(slices.Concat(chains...))
	for i, r := range flat {
		flat[i] = math.Sqrt2 * math.Erfinv(2*(r-0.375)/(float64(len(flat))+0.25)-1)
	}
	return apply.UpTo(len(chains), func(c int) []float64 { return flat[c*n : (c+1)*n] })
}

// distinct returns the number of different values, or 3 if there are more than two.
func distinct(chains [][]float64) int {
	first, count := chains[0][0], 1
	second := first
	for _, chain := range chains {
		for _, v := range chain {
			switch {
			case v == first || v == second:
			case count == 1:
				second, count = v, 2
			default:
				return 3
			}
		}
	}
	return count
}

// R-hat counts as falling with the length n of the chains if R-hat − 1 falls at least as fast as
// n^−fallsAs. For chains that mix, it falls as 1/n. For chains that do not change modes, it is
// constant.
const fallsAs = 0.7

// LengthUntil returns the length of the chains at which R-hat is expected to have fallen to wanted.
// It extrapolates from the R-hats at length n and at an earlier length, and returns +Inf if R-hat
// does not fall.
func LengthUntil(wanted, n, rHat, earlier, earlierRHat float64) float64 {
	power := math.Log((earlierRHat-1)/(rHat-1)) / math.Log(n/earlier)
	if !(power >= fallsAs) {
		return math.Inf(1)
	}
	return n * math.Pow((rHat-1)/(wanted-1), 1/math.Min(power, 1))
}
